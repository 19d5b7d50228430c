//go:build interop

package ensemble

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	warren "github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/measured"
	"github.com/seed94657493/warren/test/wire"
)

var deadFlag = flag.Int("ensemble.dead", 60, "dead clients of TestDeadClientsBeside; ZooKeeper has a fifth of them")

// Of TestDeadClientsBeside: a session outlives the leader that has it.
const (
	deadTimeout = 8 * time.Second
	deadEvery   = 5 * time.Second // from one kill to the next
	deadAtOnce  = 20              // clients that die in that time
)

// TestDeadClientsBeside kills the leader every 5 s while clients die, and measures how long after their timeout their
// sessions end, beside ZooKeeper. There each new leader gives every session its whole timeout again.
func TestDeadClientsBeside(t *testing.T) {
	slack := 15 * time.Second
	if *promptFlag {
		slack = time.Second
	}
	run := measured.Begin(t, "clients that die while leaders do", "make kills KILLS=200")
	run.BesideZooKeeper()
	var tables []*figures
	for _, kind := range []cluster.Kind{cluster.Warren, cluster.ZooKeeper} {
		n := *deadFlag
		if kind == cluster.ZooKeeper {
			n = (n + 4) / 5
		}
		d := &deaths{t: t, c: newScene(t, of(kind, 3)...), open: map[string]death{}}
		d.run(n)
		slices.Sort(d.late)
		f := &figures{head: titles[kind]}
		f.add("leaders killed", "%d", d.kills)
		f.add("clients that died", "%d", len(d.late))
		f.add("end of the session after its timeout: median", "%s", shortly(d.late[len(d.late)/2]))
		f.add("99 %", "%s", shortly(d.late[len(d.late)*99/100]))
		f.add("longest", "%s", shortly(d.late[len(d.late)-1]))
		if kind == cluster.Warren {
			require.Less(t, d.late[len(d.late)-1], slack)
		}
		tables = append(tables, f)
	}
	table := measured.Parse(markdown(measured.Deaths, tables))
	table.Rows = append([][]string{{"leader killed every, session timeout", deadPace, deadPace}}, table.Rows...)
	run.Keep(*recordFlag, table)
}

var deadPace = fmt.Sprintf("%v, %v", deadEvery, deadTimeout)

// deaths are clients that die, each with an ephemeral.
type deaths struct {
	t     *testing.T
	c     *chaos
	kills int

	mu   sync.Mutex       // guards what follows
	open map[string]death // by name, of the sessions that have not ended
	late []time.Duration  // of those that have
}

// death is that of one client.
type death struct {
	server     int
	opened, at time.Time
	seen       bool // its ephemeral was seen: one that was not may be too new for the server that is asked
}

// run lets n clients die while leaders do, and waits until their sessions have ended.
func (d *deaths) run(n int) {
	t := d.t
	t.Helper()
	conn := d.c.client(d.c.nodes[0])
	conn.MustCreate(t, "/dead", nil, proto.ModePersistent)
	conn.Close()
	addrs := cluster.Addrs(d.c.nodes)
	observer, err := warren.New(strings.Join(addrs, ","))
	require.NoError(t, err)
	defer observer.Close()
	for died := 0; d.left() > 0 || died < n; {
		d.c.whole()
		leader := d.c.certainLeader()
		next := time.Now().Add(deadEvery)
		var dying sync.WaitGroup
		for range min(deadAtOnce, n-died) {
			name, node := fmt.Sprint(died), d.c.nodes[rand.IntN(len(d.c.nodes))]
			died++
			after := time.Duration(rand.Int64N(int64(deadEvery)))
			dying.Go(func() { time.Sleep(after); d.die(name, node) })
		}
		for time.Now().Before(next) {
			d.look(observer)
			time.Sleep(20 * time.Millisecond)
		}
		dying.Wait()
		if died < n || d.left() > 0 && d.c.nodes[0].Kind() == cluster.Warren {
			d.c.logf("leader %d is killed", leader.ID())
			leader.Kill()
			leader.Launch()
			d.kills++
		}
	}
}

// die connects to a server, makes an ephemeral and goes.
func (d *deaths) die(name string, node *cluster.Node) {
	for attempt := 0; ; attempt++ {
		one := death{server: node.ID(), opened: time.Now()}
		conn, err := wire.Dial(node.Addr(), wire.Options{TimeoutMs: int32(deadTimeout.Milliseconds())})
		if err == nil {
			unique := fmt.Sprintf("%s-%d", name, attempt)
			_, err = conn.Create("/dead/"+unique, nil, proto.ModeEphemeral)
			conn.Close()
			if err == nil {
				one.at = time.Now()
				d.mu.Lock()
				d.open[unique] = one
				d.mu.Unlock()
				return
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (d *deaths) left() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.open)
}

// look notes which sessions have ended.
func (d *deaths) look(observer *warren.Client) {
	ctx, cancel := context.WithTimeout(d.t.Context(), 30*time.Second)
	defer cancel()
	names, _, err := observer.Children(ctx, "/dead")
	if err != nil {
		return // it is asked again
	}
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, one := range d.open {
		switch there := slices.Contains(names, name); {
		case there:
			one.seen = true
			d.open[name] = one
		case one.seen:
			require.GreaterOrEqual(d.t, now.Sub(one.opened), deadTimeout, "a session ends early")
			late := now.Sub(one.at) - deadTimeout
			if late > time.Second {
				d.c.logf("the session of a client of server %d that died at %v ended %v late", one.server,
					one.at.Sub(d.c.began).Round(time.Millisecond), late.Round(time.Millisecond))
			}
			d.late = append(d.late, late)
			delete(d.open, name)
		}
	}
}
