package system

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
)

// TestChecksNotice changes what was recorded of a run in which all was well. Each change must be noticed.
func TestChecksNotice(t *testing.T) {
	event := func(w *world) (*connection, int) {
		for _, c := range w.connections {
			for i, it := range c.items[:max(len(c.items)-1, 0)] {
				if it.request == nil && it.zxid > 0 {
					return c, i
				}
			}
		}
		panic("no event")
	}
	reply := func(w *world, wanted func(*item) bool) *item {
		for _, c := range w.connections {
			for _, it := range c.items {
				if it.request != nil && wanted(it) {
					return it
				}
			}
		}
		panic("no reply")
	}
	read := func(it *item) bool { return it.request.op == proto.OpGetData && it.err == proto.OK }
	write := func(it *item) bool { return it.request.op == proto.OpSetData && it.err == proto.OK }
	for name, change := range map[string]func(*world){
		"nothing": func(*world) {},
		"an event is lost": func(w *world) {
			c, i := event(w)
			c.items = slices.Delete(c.items, i, i+1)
		},
		"an event comes twice": func(w *world) {
			c, i := event(w)
			c.items = slices.Insert(c.items, i, c.items[i])
		},
		"an event comes late": func(w *world) {
			c, i := event(w)
			c.items[i], c.items[i+1] = c.items[i+1], c.items[i]
		},
		"an event has another path": func(w *world) {
			c, i := event(w)
			c.items[i].event.Path += "x"
		},
		"a read shows other data":   func(w *world) { it := reply(w, read); it.body = append(it.body, 0) },
		"a read fails":              func(w *world) { reply(w, read).err = proto.ErrNoNode },
		"a write returns otherwise": func(w *world) { it := reply(w, write); it.body[len(it.body)-1]++ },
		"a write was refused":       func(w *world) { reply(w, write).err = proto.ErrBadVersion },
		"a write has another place": func(w *world) { reply(w, write).zxid++ },
		"an acknowledged write is no txn": func(w *world) {
			delete(w.history, reply(w, write).zxid)
		},
		"a write is before what was known": func(w *world) { it := reply(w, write); it.request.floor = it.zxid },
		"two txns change places": func(w *world) {
			zxid := reply(w, write).zxid
			a, b := w.history[zxid], w.history[zxid-1]
			a.payload, b.payload = b.payload, a.payload
		},
		"a server has another digest": func(w *world) { w.history[reply(w, write).zxid].digest++ },
		"a write happens twice": func(w *world) {
			last := w.history[slices.Max(zxids(w))]
			again := *w.history[reply(w, write).zxid]
			again.zxid = last.zxid + 1
			w.history[again.zxid] = &again
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(Options{Seed: 3, Steps: 300, Servers: 1, Clients: 4, Faults: []Fault{Kill}})
			require.NoError(t, w.run())
			change(w)
			err := w.replay().run()
			if name == "nothing" {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			t.Log(err)
		})
	}
}

func zxids(w *world) (all []proto.Zxid) {
	for zxid := range w.history {
		all = append(all, zxid)
	}
	return all
}

// TestEarlyExpiry checks the bound that the lease promises.
func TestEarlyExpiry(t *testing.T) {
	l := lease{least: 200 * time.Millisecond, most: 200 * time.Millisecond}
	s := &session{timeout: time.Second}
	for at := time.Duration(0); at <= 900*time.Millisecond; at += 300 * time.Millisecond {
		s.answers = append(s.answers, answer{sent: at, came: at + 10*time.Millisecond})
	}
	for at, early := range map[time.Duration]bool{
		1000 * time.Millisecond: true, 1350 * time.Millisecond: true, 1450 * time.Millisecond: false,
		600 * time.Millisecond: true,
	} {
		err := l.early(expiry{s, &txn{at: at}})
		require.Equal(t, early, err != nil, "%v: %v", at, err)
	}

	// Leases of sessions with long timeouts are longer.
	l.most = 300 * time.Millisecond
	last := &s.answers[len(s.answers)-1]
	require.Equal(t, 200*time.Millisecond, l.of(s, last))
	require.Error(t, l.early(expiry{s, &txn{at: 1350 * time.Millisecond}}), "the server had a lease")
	last.late = true
	require.Equal(t, 300*time.Millisecond, l.of(s, last))
	require.NoError(t, l.early(expiry{s, &txn{at: 1350 * time.Millisecond}}))
	require.Error(t, l.early(expiry{s, &txn{at: 1250 * time.Millisecond}}))
	require.Error(t, l.early(expiry{s, &txn{at: 500 * time.Millisecond}}))
}
