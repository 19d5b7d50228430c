package client_test

import (
	"context"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/test/must"
)

// connectionsOf asks a server how many clients are connected.
func connectionsOf(t *testing.T, addr string) int {
	t.Helper()
	nc := must.Do(net.Dial("tcp", addr))(t)
	defer nc.Close()
	must.Do(nc.Write([]byte("srvr")))(t)
	buf := make([]byte, 4096)
	n := 0
	for {
		k, err := nc.Read(buf[n:])
		if n += k; err != nil {
			break
		}
	}
	for line := range strings.Lines(string(buf[:n])) {
		if count, ok := strings.CutPrefix(strings.TrimSpace(line), "Connections: "); ok {
			return must.Atoi(t, count)
		}
	}
	t.Fatalf("no connections in %q", buf[:n])
	return 0
}

// openFiles counts the files of this process, or returns 0 where it cannot.
func openFiles() int {
	list, _ := os.ReadDir("/proc/self/fd")
	return len(list)
}

// Clients come and go in every way there is, and leave no connection, file or goroutine (see TestMain).
func TestClientsLeaveNothing(t *testing.T) {
	ctx := within(t, time.Minute)
	dead, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and never says a word
	require.NoError(t, err)
	defer dead.Close()
	connections, files := connectionsOf(t, embedded), openFiles()
	var all sync.WaitGroup
	for i := range 60 {
		all.Go(func() {
			switch i % 4 {
			case 0: // closed
				c, err := client.Dial(ctx, embedded)
				if err != nil {
					t.Error(err)
					return
				}
				_, _, _, _ = c.ChildrenW(ctx, "/")
				_ = c.Close()
			case 1: // taken over by another, with watches
				c, err := client.Dial(ctx, embedded)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = c.Watch(ctx, "/", client.WatchSubtree)
				other, err := client.Dial(ctx, embedded, client.WithResume(c.Detach()))
				if err != nil {
					t.Error(err)
					return
				}
				_ = other.Close()
			case 2: // no server
				short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
				defer cancel()
				if _, err := client.Dial(short, "127.0.0.1:1"); err == nil {
					t.Error("connected to nobody")
				}
			case 3: // a server that says nothing, closed while it is greeted
				c, err := client.New(dead.Addr().String(), client.WithConnectTimeout(time.Hour))
				if err != nil {
					t.Error(err)
					return
				}
				_ = c.Close()
			}
		})
	}
	all.Wait()
	require.Eventually(t, func() bool { return connectionsOf(t, embedded) <= connections }, 10*time.Second,
		5*time.Millisecond)
	require.Eventually(t, func() bool { return openFiles() <= files+30 }, time.Minute, 5*time.Millisecond,
		"the listener keeps what nobody accepts")
}
