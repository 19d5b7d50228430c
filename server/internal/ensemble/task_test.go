package ensemble

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/internal/findings"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/facts"
	"github.com/seed94657493/warren/server/internal/host"
	"github.com/seed94657493/warren/server/internal/serve"
	"github.com/seed94657493/warren/test/must"
)

// tasked is a server that notes which tasks it has carried out, and what came in at its port.
type tasked struct {
	*Facts
	mu      sync.Mutex
	done    []Task
	came    [][]byte // without the word
	address string
}

// newTasked returns a server of an ensemble. Its secrets are a file of warren.sessionSecrets; "" is none.
func newTasked(t testing.TB, id int, secrets string) *tasked {
	cfg := config.Default()
	cfg.SessionSecrets = secrets
	e := env.New(cfg, env.Options{})
	front := serve.New(e, nil)
	require.NoError(t, front.Secure())
	h := host.New(e, nil, front, host.Network{})
	h.ID = proto.ServerID(id)
	s := &tasked{Facts: New(facts.New(e, nil, front, h), nil, front, h)}
	s.Tasks(func(_ context.Context, _ int64, task *Task) *TaskAnswer {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.done = append(s.done, *task)
		return &TaskAnswer{Status: 200, Body: []byte(`"done by ` + task.Name + `"`)}
	})
	ln := must.Listen(t)
	s.address = ln.Addr().String()
	go func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			go s.serveWord(nc)
		}
	}()
	return s
}

// serveWord answers a task as package words does.
func (s *tasked) serveWord(nc net.Conn) {
	defer func() { _ = nc.Close() }()
	head := make([]byte, 14)
	if _, err := io.ReadFull(nc, head); err != nil {
		return
	}
	sealed := make([]byte, binary.BigEndian.Uint16(head[12:]))
	if _, err := io.ReadFull(nc, sealed); err != nil {
		return
	}
	s.mu.Lock()
	s.came = append(s.came, sealed)
	s.mu.Unlock()
	_, _ = nc.Write(s.TaskFrom(int64(binary.BigEndian.Uint64(head[4:])), sealed))
}

// meets lets servers know each other, as asking does.
func meets(all ...*tasked) {
	for _, s := range all {
		var others []findings.Server
		for _, o := range all {
			if o != s {
				others = append(others, findings.Server{ID: int64(o.host.ID), Address: o.address, Tasks: true,
					Instance: 1, Key: o.keeper.key.PublicKey().Bytes()})
			}
		}
		s.keeper.mu.Lock()
		s.keeper.others = others
		s.keeper.mu.Unlock()
	}
}

func (s *tasked) carried() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.done)
}

var order = Task{Name: "drain", Query: "a=b", Body: []byte(`{"rate":5}`), User: "bob",
	IDs: []auth.Identity{auth.NewDigestIdentity("bob", "x")}, Remote: netip.MustParseAddrPort("192.0.2.7:4711")}

func TestTaskIsCarriedOutOnce(t *testing.T) {
	one, two := newTasked(t, 1, ""), newTasked(t, 2, "")
	meets(one, two)
	require.Equal(t, `"done by drain"`, string(must.Do(one.Task(t.Context(), 2, order))(t).Body))
	require.Equal(t, 1, two.carried())
	got := two.done[0]
	got.Ticket = nil
	require.Equal(t, order, got)

	for _, id := range []int64{1, 3, -1} {
		require.ErrorIs(t, must.Err(one.Task(t.Context(), id, order)), ErrNoServer)
	}
	// A server of the ensemble that has not told of itself yet is not a server that does not exist.
	one.Config.Quorum.Members = []config.Member{{ID: 1}, {ID: 2}, {ID: 4}}
	one.Members.Store(&one.Config.Quorum)
	require.ErrorIs(t, must.Err(one.Task(t.Context(), 4, order)), errNotHeard)
	require.ErrorIs(t, must.Err(one.Task(t.Context(), 3, order)), ErrNoServer)

	long := order
	long.Body = make([]byte, taskMax)
	require.ErrorContains(t, must.Err(one.Task(t.Context(), 2, long)), "too long")
	two.Tasks(nil)
	require.Equal(t, 503, must.Do(one.Task(t.Context(), 2, order))(t).Status)
	require.Equal(t, 1, two.carried())
}

// Recorded, altered and forged tasks have no effect.
func TestForgedTasksAreRefused(t *testing.T) {
	one, two, three := newTasked(t, 1, ""), newTasked(t, 2, ""), newTasked(t, 3, "")
	meets(one, two, three)
	must.Do(one.Task(t.Context(), 2, order))(t)
	require.Equal(t, 1, two.carried())
	require.Len(t, two.came, 2, "for a ticket, and with it")
	recorded := slices.Clone(two.came)

	// It is sent again: at once, often, and behind a new ticket.
	for range 3 {
		for _, sealed := range recorded {
			require.NotEmpty(t, two.TaskFrom(1, sealed))
		}
	}
	require.Equal(t, 1, two.carried())

	// It is sent to others, back, or in the name of others.
	require.Equal(t, taskUnread, string(three.TaskFrom(1, recorded[1])))
	require.Equal(t, taskUnread, string(one.TaskFrom(2, recorded[1])))
	require.Equal(t, taskUnread, string(two.TaskFrom(3, recorded[1])))
	require.Nil(t, two.TaskFrom(2, recorded[1]), "of itself")
	require.Nil(t, two.TaskFrom(77, recorded[1]), "of no server")

	// It is changed, cut off, plain, or sealed with a key that the other server has not told.
	for i := range recorded[1] {
		changed := bytes.Clone(recorded[1])
		changed[i] ^= 1
		require.Equal(t, taskUnread, string(two.TaskFrom(1, changed)))
	}
	for n := range len(recorded[1]) {
		require.Equal(t, taskUnread, string(two.TaskFrom(1, recorded[1][:n])))
	}
	plain := must.Do(json.Marshal(order))(t)
	require.Equal(t, taskUnread, string(two.TaskFrom(1, plain)))
	stranger := newTasked(t, 1, "")
	meets(stranger, two)
	meets(one, two, three) // two knows the real one again, the stranger knows two
	require.ErrorContains(t, must.Err(stranger.Task(t.Context(), 2, order)), errNotRead.Error())
	require.Equal(t, 1, two.carried())

	// A ticket of one server is none of another, and made-up tickets are none.
	for _, text := range [][]byte{two.tasks.give(3, time.Now()), make([]byte, ticketSize), []byte("x")} {
		task := order
		task.Ticket = text
		at := one.heard()[2]
		require.Equal(t, 409, must.Do(one.sendTask(t.Context(), &at, &task))(t).Status)
	}
	require.Equal(t, 1, two.carried())
}

// A ticket is for one server and one task, and soon for none.
func TestTicketsEnd(t *testing.T) {
	two := newTasked(t, 2, "")
	now := time.Now()
	one := two.tasks.give(1, now)
	require.False(t, two.tasks.take(3, one, now))
	require.True(t, two.tasks.take(1, one, now.Add(ticketLife-1)))
	require.False(t, two.tasks.take(1, one, now))
	require.False(t, two.tasks.take(1, two.tasks.give(1, now), now.Add(ticketLife)))
	first := two.tasks.give(1, now)
	for range ticketsMax {
		two.tasks.give(1, now)
	}
	require.False(t, two.tasks.take(1, first, now))
	require.Len(t, two.tasks.tickets[1], ticketsMax)
}

// With warren.sessionSecrets, only a process that knows them is a server.
func TestTasksNeedTheSecrets(t *testing.T) {
	file := func(text string) string {
		name := filepath.Join(t.TempDir(), "secrets")
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	ours, other := file(strings.Repeat("a", 64)+"\n"), file(strings.Repeat("b", 64)+"\n")
	one, two := newTasked(t, 1, ours), newTasked(t, 2, ours)
	meets(one, two)
	must.Do(one.Task(t.Context(), 2, order))(t)
	for _, secrets := range []string{"", other} {
		stranger := newTasked(t, 1, secrets)
		meets(stranger, two)
		require.ErrorContains(t, must.Err(stranger.Task(t.Context(), 2, order)), errNotRead.Error())
	}
	require.Equal(t, 1, two.carried())
}

// Servers that authenticate each other do not take an address for a proof.
func TestTasksOfServersThatAuthenticate(t *testing.T) {
	secret := strings.Repeat("a", 64) + "\n"
	for name, tc := range map[string]struct {
		secrets string
		takes   bool
	}{"none": {}, "public, too": {secret + "zookeeper\n", false}, "secret": {secret, true}} {
		for _, configure := range []func(*config.Config){
			func(c *config.Config) { c.Quorum.SSLQuorum = true },
			func(c *config.Config) { c.Quorum.QuorumAuth.EnableSASL = true },
		} {
			file := ""
			if tc.secrets != "" {
				file = filepath.Join(t.TempDir(), "secrets")
				require.NoError(t, os.WriteFile(file, []byte(tc.secrets), 0o600))
			}
			one, two := newTasked(t, 1, file), newTasked(t, 2, file)
			meets(one, two)
			configure(two.Config)
			answer := must.Do(one.Task(t.Context(), 2, order))(t)
			require.Equal(t, tc.takes, answer.Status == 200, name)
			configure(one.Config)
			_, err := one.Task(t.Context(), 2, order)
			require.Equal(t, tc.takes, err == nil, name)
			require.Equal(t, tc.takes, two.carried() == 2, name)
		}
	}
}

// A server that does too much for others already refuses more, and a slow one is not waited for.
func TestTasksAreBounded(t *testing.T) {
	one, two := newTasked(t, 1, ""), newTasked(t, 2, "")
	meets(one, two)
	for range tasksMax {
		two.tasks.places <- struct{}{}
	}
	require.Equal(t, 503, must.Do(one.Task(t.Context(), 2, order))(t).Status)
	<-two.tasks.places
	release := make(chan struct{})
	two.Tasks(func(context.Context, int64, *Task) *TaskAnswer {
		<-release
		return &TaskAnswer{Status: 200}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	require.ErrorContains(t, must.Err(one.Task(ctx, 2, order)), "may still do what was asked")
	close(release)
}

// Servers that do not know tasks are not sent any, and it is said why.
func TestServersWithoutTasks(t *testing.T) {
	one := newTasked(t, 1, "")
	for why, s := range map[string]findings.Server{
		"connection refused":           {Silent: "connection refused", Address: "a:1", Instance: 1, Tasks: true},
		"its client port is not known": {Instance: 1, Tasks: true},
		"no server of Warren":          {Address: "a:1"},
		"an older version":             {Address: "a:1", Instance: 1},
	} {
		s.ID = 2
		one.keeper.others = []findings.Server{s}
		require.ErrorContains(t, must.Err(one.Task(t.Context(), 2, order)), why)
	}
}

func FuzzTask(f *testing.F) {
	f.Add(int64(1), []byte("{}"))
	one, two := newTasked(f, 1, ""), newTasked(f, 2, "")
	meets(one, two)
	f.Fuzz(func(t *testing.T, id int64, sealed []byte) {
		two.TaskFrom(id, sealed)
		require.Zero(t, two.carried())
	})
}
