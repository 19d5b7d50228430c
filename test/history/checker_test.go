package history

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// judgeTimeout bounds porcupine.
const judgeTimeout = 60 * time.Second

// judge runs every checker.
func judge(h *History) []string {
	return append(judgeStreams(h), CheckRegisters(h, judgeTimeout)...)
}

// judgeStreams runs the checkers that do not search.
func judgeStreams(h *History) []string {
	var all []string
	all = append(all, CheckSessions(h)...)
	all = append(all, CheckWatches(h)...)
	return append(all, CheckEphemerals(h)...)
}

// script writes a history by hand: one connection after the other, each item an arrival. Time
// goes on by one for every arrival, so operations do not overlap unless a test says so.
type script struct {
	h    History
	now  int64
	sent int
}

func (s *script) connection(client int) {
	s.h.Connections = append(s.h.Connections, &Connection{Client: client, Session: proto.SessionID(100 + client)})
	s.sent = 0
}

func (s *script) current() *Connection { return s.h.Connections[len(s.h.Connections)-1] }

func (s *script) add(o Operation) *Operation {
	o.Client, o.Sent, o.Call, o.Return = s.current().Client, s.sent, s.now, s.now+1
	s.sent, s.now = s.sent+1, s.now+2
	s.current().Items = append(s.current().Items, Item{Operation: &o})
	return &o
}

func (s *script) event(t proto.EventType, path string, z proto.Zxid) {
	s.current().Items = append(s.current().Items, Item{Event: &Event{t, path, z}})
}

func create(path string, z proto.Zxid) Operation {
	return Operation{Op: proto.OpCreate, Path: path, Zxid: z, Version: -1}
}

func ephemeral(path string, z proto.Zxid) Operation {
	o := create(path, z)
	o.Mode = proto.ModeEphemeral
	return o
}

func set(path, data string, version int32, z proto.Zxid) Operation {
	return Operation{Op: proto.OpSetData, Path: path, Data: data, Version: version, Zxid: z,
		Stat: proto.Stat{Mzxid: z, Version: version + 1}}
}

func remove(path string, z proto.Zxid) Operation {
	return Operation{Op: proto.OpDelete, Path: path, Zxid: z, Version: -1}
}

// get is a read at z of a znode created at c, written at m.
func get(path, data string, version int32, c, m, z proto.Zxid) Operation {
	return Operation{Op: proto.OpGetData, Path: path, Data: data, Zxid: z,
		Stat: proto.Stat{Czxid: c, Mzxid: m, Version: version}}
}

func missing(path string, z proto.Zxid) Operation {
	return Operation{Op: proto.OpExists, Path: path, Err: proto.ErrNoNode, Zxid: z}
}

func watched(o Operation) Operation { o.Watch = true; return o }
func synced(o Operation) Operation  { o.Synced = true; return o }

// good is a correct history with something of everything.
func good() *script {
	s := &script{}
	s.connection(1)
	s.add(create("/r", 1))
	s.add(watched(get("/r", "", 0, 1, 1, 1)))
	s.event(proto.EventNodeDataChanged, "/r", 2)
	s.add(set("/r", "a", 0, 2))
	s.add(synced(get("/r", "a", 1, 1, 2, 2)))
	s.add(watched(missing("/e", 2)))
	s.event(proto.EventNodeCreated, "/e", 3)
	s.add(ephemeral("/e", 3))
	e := get("/e", "", 0, 3, 3, 3)
	e.Stat.EphemeralOwner = 101
	s.add(watched(e))
	s.add(watched(Operation{Op: proto.OpGetChildren, Path: "/", Zxid: 3}))
	s.event(proto.EventNodeChildrenChanged, "/", 4)
	s.add(create("/s", 4))
	s.event(proto.EventNodeDeleted, "/e", 5)
	s.add(Operation{Op: proto.OpCloseSession, Zxid: 5})
	s.connection(2)
	s.add(missing("/e", 5))
	s.add(remove("/s", 6))
	bad := set("/r", "x", 7, 7)
	bad.Err = proto.ErrBadVersion
	s.add(bad)
	return s
}

func TestGoodHistory(t *testing.T) {
	require.Empty(t, judge(&good().h))
}

// TestBadHistories: each history breaks one promise, and the judge says which.
func TestBadHistories(t *testing.T) {
	for _, v := range []struct {
		name   string
		breach string
		write  func(*script)
	}{
		{"lost write", "not linearizable", func(s *script) {
			s.add(create("/r", 1))
			s.add(set("/r", "a", 0, 2))
			s.connection(2)
			s.add(synced(get("/r", "", 0, 1, 1, 9)))
		}},
		{"two winners of one version", "not linearizable", func(s *script) {
			s.add(create("/r", 1))
			s.add(set("/r", "a", 0, 2))
			s.add(set("/r", "b", 0, 3))
		}},
		{"create of what is there", "not linearizable", func(s *script) {
			s.add(create("/r", 1))
			s.add(create("/r", 2))
		}},
		{"wrong data", "not linearizable", func(s *script) {
			s.add(create("/r", 1))
			s.add(synced(get("/r", "ghost", 0, 1, 1, 1)))
		}},
		{"zxid goes back", "the client has seen", func(s *script) {
			s.add(create("/r", 5))
			s.connection(1)
			s.add(missing("/x", 4))
		}},
		{"own write invisible", "has seen or made", func(s *script) {
			s.add(create("/r", 1))
			s.add(set("/r", "a", 0, 2))
			s.add(get("/r", "", 0, 1, 1, 2))
		}},
		{"stale read", "misses", func(s *script) {
			s.add(create("/r", 1))
			s.add(set("/r", "a", 0, 2))
			s.connection(2)
			s.add(get("/r", "", 0, 1, 1, 3))
		}},
		{"read of a deleted znode", "shows the write", func(s *script) {
			s.add(create("/r", 1))
			s.add(remove("/r", 2))
			s.connection(2)
			s.add(get("/r", "", 0, 1, 1, 3))
		}},
		{"read of the future", "which is later", func(s *script) {
			s.add(get("/r", "", 0, 1, 7, 3))
		}},
		{"replies out of order", "is answered after", func(s *script) {
			s.add(missing("/r", 1)).Sent = 3
			s.add(missing("/r", 1)).Sent = 2
		}},
		{"event after the reply", "but no event", func(s *script) {
			s.add(create("/r", 1))
			s.add(watched(get("/r", "", 0, 1, 1, 1)))
			s.add(set("/r", "a", 0, 2))
			s.event(proto.EventNodeDataChanged, "/r", 2)
		}},
		{"event lost", "but no event", func(s *script) {
			s.add(create("/r", 1))
			s.add(watched(get("/r", "", 0, 1, 1, 1)))
			s.add(remove("/r", 2))
		}},
		{"child event lost", "but no event", func(s *script) {
			s.add(watched(Operation{Op: proto.OpGetChildren, Path: "/", Zxid: 1}))
			s.add(create("/r", 2))
		}},
		{"one-shot fires twice", "without a watch that waits", func(s *script) {
			s.add(create("/r", 1))
			s.add(watched(get("/r", "", 0, 1, 1, 1)))
			s.event(proto.EventNodeDataChanged, "/r", 2)
			s.add(set("/r", "a", 0, 2))
			s.event(proto.EventNodeDataChanged, "/r", 3)
			s.add(set("/r", "b", 1, 3))
		}},
		{"event of nothing", "but no such write", func(s *script) {
			s.add(create("/r", 1))
			s.add(watched(get("/r", "", 0, 1, 1, 1)))
			s.event(proto.EventNodeDataChanged, "/r", 2)
		}},
		{"event of another type", "but no such write", func(s *script) {
			s.add(create("/r", 1))
			s.add(watched(get("/r", "", 0, 1, 1, 1)))
			s.event(proto.EventNodeDeleted, "/r", 2)
			s.add(set("/r", "a", 0, 2))
		}},
		{"ephemeral outlives its session", "which ended", func(s *script) {
			s.add(ephemeral("/e", 1))
			s.add(Operation{Op: proto.OpCloseSession, Zxid: 2})
			s.connection(2)
			e := get("/e", "", 0, 1, 1, 3)
			e.Stat.EphemeralOwner = 101
			s.add(e)
		}},
		{"ephemeral gone before its session", "is gone", func(s *script) {
			s.add(ephemeral("/e", 1))
			s.connection(2)
			s.add(missing("/e", 3))
		}},
		{"ephemeral of somebody else", "owner is", func(s *script) {
			s.add(ephemeral("/e", 1))
			e := get("/e", "", 0, 1, 1, 3)
			e.Stat.EphemeralOwner = 7
			s.add(e)
		}},
		{"ephemeral replaced", "in place of", func(s *script) {
			s.add(ephemeral("/e", 1))
			s.connection(2)
			s.add(get("/e", "", 0, 2, 2, 3))
		}},
	} {
		t.Run(v.name, func(t *testing.T) {
			s := &script{}
			s.connection(1)
			v.write(s)
			breaches := strings.Join(judge(&s.h), "\n")
			require.Contains(t, breaches, v.breach)
		})
	}
}

// TestUnknownOutcome: a write without an answer may have happened or not, and an ephemeral whose
// session may have ended may be gone.
func TestUnknownOutcome(t *testing.T) {
	for _, seen := range []bool{false, true} {
		s := &script{}
		s.connection(1)
		s.add(create("/r", 1))
		s.add(ephemeral("/e", 2))
		lost := set("/r", "lost", 0, 0)
		lost.Call, lost.Return, lost.Client = s.now, Infinity, 1
		end := Operation{Op: proto.OpCloseSession, Client: 1, Return: Infinity}
		s.current().Unknown = []*Operation{&lost, &end}
		s.connection(2)
		if seen {
			s.add(synced(get("/r", "lost", 1, 1, 3, 4)))
			s.add(missing("/e", 4))
		} else {
			s.add(synced(get("/r", "", 0, 1, 1, 2)))
			e := get("/e", "", 0, 2, 2, 2)
			e.Stat.EphemeralOwner = 101
			s.add(e)
		}
		require.Empty(t, judge(&s.h), "seen %v", seen)
	}
}

// TestUnknownDelete: an ephemeral that an unanswered delete may have ended is not missed when its
// session closes, and an expired session's may be gone.
func TestUnknownDelete(t *testing.T) {
	s := &script{}
	s.connection(1)
	s.add(ephemeral("/e", 1))
	gone := remove("/e", 0)
	gone.Call, gone.Return, gone.Client = s.now, Infinity, 1
	s.current().Unknown = []*Operation{&gone}
	s.connection(1)
	s.add(watched(missing("/e", 3)))
	s.add(Operation{Op: proto.OpCloseSession, Zxid: 4})
	require.Empty(t, judge(&s.h))

	s = &script{}
	s.connection(1)
	s.add(ephemeral("/e", 1))
	s.connection(2)
	s.add(missing("/e", 3))
	require.NotEmpty(t, CheckEphemerals(&s.h))
	require.Empty(t, CheckEphemerals(&s.h, 101))
}

// mutations are changes that make any history that offers a place for them wrong. Each returns
// false if it found no place.
var mutations = map[string]func(*rand.Rand, *History) bool{
	"drop an event": func(r *rand.Rand, h *History) bool {
		return change(r, h, func(c *Connection, i int) bool {
			// A later reply must tell that the event was due, and its write must be known.
			e := c.Items[i].Event
			if e == nil || !hasWrite(h, e.Zxid) || !slices.ContainsFunc(c.Items[i:], func(item Item) bool {
				return item.Operation != nil && item.Operation.Zxid >= e.Zxid
			}) {
				return false
			}
			c.Items = append(c.Items[:i:i], c.Items[i+1:]...)
			return true
		})
	},
	"repeat an event": func(r *rand.Rand, h *History) bool {
		return change(r, h, func(c *Connection, i int) bool {
			if c.Items[i].Event == nil {
				return false
			}
			c.Items = append(c.Items[:i+1:i+1], c.Items[i:]...)
			return true
		})
	},
	"event after its reply": func(r *rand.Rand, h *History) bool {
		return change(r, h, func(c *Connection, i int) bool {
			if i+1 >= len(c.Items) || c.Items[i].Event == nil || c.Items[i+1].Operation == nil ||
				c.Items[i+1].Operation.Zxid < c.Items[i].Event.Zxid || !hasWrite(h, c.Items[i].Event.Zxid) {
				return false
			}
			c.Items[i], c.Items[i+1] = c.Items[i+1], c.Items[i]
			return true
		})
	},
	"reply out of order": func(r *rand.Rand, h *History) bool {
		return change(r, h, func(c *Connection, i int) bool {
			if i+1 >= len(c.Items) || c.Items[i].Operation == nil || c.Items[i+1].Operation == nil {
				return false
			}
			c.Items[i], c.Items[i+1] = c.Items[i+1], c.Items[i]
			return true
		})
	},
	"older zxid": func(r *rand.Rand, h *History) bool {
		return change(r, h, func(c *Connection, i int) bool {
			if i == 0 || c.Items[i].Operation == nil || c.Items[i].Operation.Zxid < 2 {
				return false
			}
			c.Items[i].Operation.Zxid = -1
			return true
		})
	},
	"older read": func(r *rand.Rand, h *History) bool {
		writes := acknowledged(h)
		return change(r, h, func(c *Connection, i int) bool {
			o := c.Items[i].Operation
			if o == nil || !o.IsRead() || !o.OK() || len(writes[o.Path]) == 0 || writes[o.Path][0].Zxid > o.Zxid {
				return false
			}
			o.Stat.Mzxid = writes[o.Path][0].Zxid - 1
			return true
		})
	},
	"wrong version of a write": func(r *rand.Rand, h *History) bool {
		return change(r, h, func(c *Connection, i int) bool {
			o := c.Items[i].Operation
			if o == nil || o.Op != proto.OpSetData || !o.OK() {
				return false
			}
			o.Stat.Version += 1000
			return true
		})
	},
	"ephemeral gone": func(r *rand.Rand, h *History) bool {
		certain := map[proto.Zxid]bool{} // by create: no operation of unknown outcome may have ended it
		for _, l := range lifetimes(h, nil) {
			certain[l.create.Zxid] = !l.maybe
		}
		return change(r, h, func(c *Connection, i int) bool {
			o := c.Items[i].Operation
			if o == nil || !o.IsRead() || !o.OK() || o.Stat.EphemeralOwner == 0 || !certain[o.Stat.Czxid] {
				return false
			}
			o.Err, o.Stat = proto.ErrNoNode, proto.Stat{}
			return true
		})
	},
}

// hasWrite reports whether an acknowledged write or end of a session has the zxid.
func hasWrite(h *History, z proto.Zxid) bool {
	return slices.ContainsFunc(h.Operations(), func(o *Operation) bool {
		return o.OK() && o.Zxid == z && (o.IsWrite() || o.Op == proto.OpCloseSession)
	})
}

// change tries the places of a history from a random one on.
func change(r *rand.Rand, h *History, at func(*Connection, int) bool) bool {
	n := len(h.Connections)
	for first, k := r.IntN(n), 0; k < n; k++ {
		c := h.Connections[(first+k)%n]
		if len(c.Items) == 0 {
			continue
		}
		for start, j := r.IntN(len(c.Items)), 0; j < len(c.Items); j++ {
			if at(c, (start+j)%len(c.Items)) {
				return true
			}
		}
	}
	return false
}

// TestMutations: every mutation of the good history is noticed.
func TestMutations(t *testing.T) {
	for name, mutate := range mutations {
		for seed := range uint64(20) {
			h := good().h
			require.True(t, mutate(rand.New(rand.NewPCG(seed, 0)), &h), "%s: no place", name)
			require.NotEmpty(t, judge(&h), "%s, seed %d", name, seed)
		}
	}
}
