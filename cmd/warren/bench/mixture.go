package bench

import (
	"math/rand/v2"

	"github.com/seed94657493/warren/proto"
)

// mixture makes the requests of one lane: kinds drawn from a mix, shared znodes drawn evenly. It
// lives as long as its lane, because it remembers what the lane created.
type mixture struct {
	tree   *tree
	choose chooser
	size   Size
	random *rand.PCG
	data   []byte // random bytes, data of every size is its front
	own    int    // if not negative: the only shared znode this lane uses
	home   []byte // parent of what this lane creates
	// Created and not deleted are the names [oldest, newest).
	oldest, newest int
	path           []byte // scratch
}

// nameWidth is the number of digits of the names a lane creates.
const nameWidth = 9

func newMixture(t *tree, c chooser, size Size, seed uint64, lane int) *mixture {
	m := &mixture{tree: t, choose: c, size: size, random: rand.NewPCG(seed, uint64(lane)), own: -1, home: t.home(lane)}
	m.data = make([]byte, size.Max)
	for i := range m.data {
		m.data[i] = byte(m.random.Uint64())
	}
	return m
}

// next implements requester.
func (m *mixture) next(b []byte, xid int32) ([]byte, Kind, bool) {
	r := m.random.Uint64()
	kind := m.choose.choose(r)
	if kind == Delete && m.oldest == m.newest {
		kind = Create
	}
	r >>= 16
	shared := m.own
	if shared < 0 {
		shared = int(r % uint64(m.tree.n))
	}
	switch kind {
	case Get:
		b = appendPathWatch(appendHeader(b, xid, proto.OpGetData), m.tree.path(shared), false)
	case Watch:
		b = appendPathWatch(appendHeader(b, xid, proto.OpGetData), m.tree.path(shared), true)
	case Set:
		b = appendSet(appendHeader(b, xid, proto.OpSetData), m.tree.path(shared), m.value())
	case Create:
		b = appendCreate(appendHeader(b, xid, proto.OpCreate), m.name(m.newest), m.value(), proto.ModePersistent)
		m.newest++
	case Ephemeral:
		m.path = append(append(m.path[:0], m.home...), "/e-"...)
		b = appendCreate(appendHeader(b, xid, proto.OpCreate), m.path, m.value(), proto.ModeEphemeralSequential)
	case CreateSeq:
		m.path = append(append(m.path[:0], m.home...), "/s-"...)
		b = appendCreate(appendHeader(b, xid, proto.OpCreate), m.path, m.value(), proto.ModePersistentSequential)
	case Exists:
		b = appendPathWatch(appendHeader(b, xid, proto.OpExists), m.tree.path(shared), false)
	case Children:
		b = appendPathWatch(appendHeader(b, xid, proto.OpGetChildren2), m.tree.dir(shared/perDir), false)
	case Delete:
		b = appendDelete(appendHeader(b, xid, proto.OpDelete), m.name(m.oldest))
		m.oldest++
	case Multi:
		b = appendHeader(b, xid, proto.OpMulti)
		name := append(append(m.path[:0], m.home...), "/m"...)
		m.path = name
		b = appendCreate(proto.AppendMultiOp(b, proto.OpCreate), name, m.value(), proto.ModePersistent)
		b = appendSet(proto.AppendMultiOp(b, proto.OpSetData), m.tree.path(shared), m.value())
		b = appendDelete(proto.AppendMultiOp(b, proto.OpDelete), name)
		b = proto.AppendMultiEnd(b)
	case Sync:
		b = proto.AppendBuffer(appendHeader(b, xid, proto.OpSync), m.tree.path(shared))
	}
	return b, kind, true
}

// value returns data of a drawn size.
func (m *mixture) value() []byte {
	if m.size.Min == m.size.Max {
		return m.data
	}
	return m.data[:m.size.pick(m.random.Uint64())]
}

// name returns the path of the nth znode this lane creates.
func (m *mixture) name(n int) []byte {
	m.path = append(append(m.path[:0], m.home...), "/n"...)
	m.path = appendDigits(m.path, n, nameWidth)
	return m.path
}

// creates reports whether a mix needs the lanes' own parents.
func (m Mix) creates() bool {
	return m[Create]+m[CreateSeq]+m[Ephemeral]+m[Delete]+m[Multi] > 0
}
