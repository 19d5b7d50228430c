package system

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
)

// TestEachFeature runs each feature alone.
func TestEachFeature(t *testing.T) {
	for _, feature := range allFeatures {
		t.Run(string(feature), func(t *testing.T) {
			for seed := range uint64(8) {
				w := newWorld(Options{Seed: seed + 1, Steps: 300, Observers: -1, Features: []Feature{feature}})
				require.NoError(t, w.run(), "seed %d", seed+1)
				require.NotZero(t, w.replies)
			}
		})
	}
}

// TestChecksNoticeConfigurations changes what was recorded of a run with reconfigurations in which all was well. Each
// change must be noticed.
func TestChecksNoticeConfigurations(t *testing.T) {
	reconfiguration := func(w *world) *txn {
		for _, zxid := range slices.Sorted(maps.Keys(w.history)) {
			if reconfigured(w.history[zxid].payload) != nil {
				return w.history[zxid]
			}
		}
		panic("no reconfiguration")
	}
	for name, change := range map[string]func(*world){
		"nothing": func(*world) {},
		"a member has another role": func(w *world) {
			q := reconfiguration(w)
			q.payload = bytes.Replace(q.payload, []byte("participant"), []byte("Participant"), 1)
		},
		"a reconfiguration is refused": func(w *world) {
			for _, c := range w.connections {
				for _, it := range c.items {
					if it.request != nil && it.request.op == proto.OpReconfig && it.err == proto.OK {
						it.err, it.body = proto.ErrBadArguments, nil
						return
					}
				}
			}
		},
		"a configuration is read before its txn": func(w *world) {
			for _, c := range w.connections {
				for _, it := range c.items {
					if it.request != nil && it.request.op == proto.OpGetData &&
						it.request.path == datatree.ConfigPath {
						it.body = bytes.Replace(it.body, []byte("version=1"), []byte("version=2"), 1)
						return
					}
				}
			}
		},
		"a disk has a configuration that no txn has made": func(w *world) {
			kept, _ := w.nodes[0].disk.meta.Config()
			kept.Version++
			_ = w.nodes[0].disk.meta.SetConfig(kept)
		},
		"a member missed the last one": func(w *world) { w.members += 1 << 20 },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(Options{Seed: 6, Steps: 300, Servers: 1, Clients: 4, Faults: []Fault{Reset},
				Features: []Feature{Reconfig}})
			require.NoError(t, w.run())
			require.NotZero(t, w.reconfigs)
			change(w)
			err := errors.Join(w.replay().run(), w.configurations())
			if name == "nothing" {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			t.Log(err)
		})
	}
}

// TestChecksNoticeLocalSessions does the same with local sessions and read-only servers.
func TestChecksNoticeLocalSessions(t *testing.T) {
	for name, change := range map[string]func(w *world, r *replay) bool{
		"nothing": func(*world, *replay) bool { return false },
		"a local session goes on elsewhere": func(w *world, r *replay) bool {
			for _, c := range w.connections {
				if s := c.session; r.isLocal(s) && !r.mayBeUpgraded(s.connections) && c != s.connections[0] {
					c.server++
					return true
				}
			}
			return false
		},
		"a read-only server takes a write": func(w *world, _ *replay) bool {
			for _, c := range w.connections {
				for _, it := range c.items {
					if c.readOnly && it.request != nil && it.request.op == proto.OpSetData {
						it.err = proto.OK
						return true
					}
				}
			}
			return false
		},
		"a read-only server shows another state": func(w *world, r *replay) bool {
			for _, c := range w.connections {
				for _, it := range c.items {
					if c.readOnly && it.request != nil && it.request.op == proto.OpGetData &&
						it.err == proto.ErrNoNode && r.applied[it.zxid] {
						it.err = proto.OK
						return true
					}
				}
			}
			return false
		},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(300) {
				w := newWorld(Options{Seed: seed + 1, Steps: 400, Servers: 3, Clients: 6,
					Faults: []Fault{Outage, Partition}, Features: []Feature{Local, ReadOnly}})
				require.NoError(t, w.run(), "seed %d", seed+1)
				r := w.replay()
				require.NoError(t, r.begins())
				if name == "nothing" {
					return
				}
				if change(w, r) {
					err := w.replay().run()
					require.Error(t, err)
					t.Logf("seed %d: %v", seed+1, err)
					return
				}
			}
			require.Fail(t, "no run has what is to be changed")
		})
	}
}
