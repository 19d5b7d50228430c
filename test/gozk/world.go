package gozk

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/relay"
)

// patience bounds every step of a scenario.
const patience = time.Minute

// World is where a scenario happens.
type World struct {
	Addr  string       // the server
	Proxy *relay.Relay // the way to it whose connections can be cut
	Root  string       // an existing znode of this run alone

	mu    sync.Mutex
	lines []string
}

// Say adds a line to what was seen. The run's own names in it are replaced.
func (w *World) Say(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	for _, name := range [][2]string{{w.Root, "ROOT"}, {w.Addr, "SERVER"}, {w.Proxy.Addr(), "PROXY"}} {
		line = strings.ReplaceAll(line, name[0], name[1])
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, line)
}

// Seen returns what was said.
func (w *World) Seen() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.lines...)
}

// Within receives from a channel, or reports false after a long time; open tells whether the channel was.
func Within[T any](ch <-chan T) (v T, open, inTime bool) {
	select {
	case v, open = <-ch:
		return v, open, true
	case <-time.After(patience):
		return v, false, false
	}
}

// Expire ends a session behind the back of its client, which must not be connected.
func (w *World) Expire(session int64) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	id := proto.SessionID(session)
	thief, err := client.Dial(ctx, w.Addr,
		client.WithResume(client.Resume{SessionID: id, Password: proto.SessionPassword(id)}))
	if err == nil {
		err = thief.Close()
	}
	if err != nil {
		w.Say("the session cannot be ended: %v", err)
	}
}
