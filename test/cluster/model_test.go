package cluster

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/wire"
)

// znode is what the model knows of a child of its root.
type znode struct {
	data      string
	version   int32
	ephemeral bool
}

// model is the subtree that one session alone writes, so that every answer is known beforehand.
type model struct {
	root    string
	nodes   map[string]znode // by name
	creates int32            // of children, ever: the next sequence number
	deletes int32
	closed  bool // the session has ended
}

func (m *model) clone() *model {
	c := *m
	c.nodes = maps.Clone(m.nodes)
	return &c
}

// step is one operation of the model.
type step struct {
	op      proto.OpCode
	name    string // child; with a suffix to come if mode is sequential
	data    string
	mode    proto.CreateMode
	version int32
	parts   []step // of a multi
}

// request is the step as it is sent.
func (m *model) request(s step) wire.Request {
	path := m.root + "/" + s.name
	switch s.op {
	case proto.OpCreate:
		return wire.Create(path, []byte(s.data), wire.OpenACL, s.mode)
	case proto.OpDelete:
		return wire.Delete(path, s.version)
	case proto.OpSetData:
		return wire.SetData(path, []byte(s.data), s.version)
	case proto.OpCloseSession:
		return wire.CloseSession()
	}
	var ops []wire.Request
	for _, p := range s.parts {
		ops = append(ops, m.request(p))
	}
	return wire.Multi(ops...)
}

// apply does the step and returns the answer that the server must give.
func (m *model) apply(s step) string {
	switch s.op {
	case proto.OpCloseSession:
		m.closed = true
		for name, n := range m.nodes {
			if n.ephemeral {
				delete(m.nodes, name)
				m.deletes++
			}
		}
		return "OK"
	case proto.OpMulti:
		return m.applyMulti(s.parts)
	}
	code, text := m.applyOne(s)
	if code != proto.OK {
		return code.Name()
	}
	return "OK" + text
}

func (m *model) applyOne(s step) (proto.ErrCode, string) {
	n, found := m.nodes[s.name]
	switch s.op {
	case proto.OpCreate:
		name := s.name
		if s.mode.IsSequential() {
			name += fmt.Sprintf("%010d", m.creates)
			_, found = m.nodes[name]
		}
		if found {
			return proto.ErrNodeExists, ""
		}
		m.nodes[name] = znode{data: s.data, ephemeral: s.mode.IsEphemeral()}
		m.creates++
		return proto.OK, " " + m.root + "/" + name
	case proto.OpSetData:
		switch {
		case !found:
			return proto.ErrNoNode, ""
		case s.version != -1 && s.version != n.version:
			return proto.ErrBadVersion, ""
		}
		n.data, n.version = s.data, n.version+1
		m.nodes[s.name] = n
		return proto.OK, fmt.Sprintf(" version %d", n.version)
	}
	switch {
	case !found:
		return proto.ErrNoNode, ""
	case s.version != -1 && s.version != n.version:
		return proto.ErrBadVersion, ""
	}
	delete(m.nodes, s.name)
	m.deletes++
	return proto.OK, ""
}

// applyMulti does all parts or none. A failed one answers 0, its code, and -2 after it.
func (m *model) applyMulti(parts []step) string {
	trial := m.clone()
	var texts []string
	for i, p := range parts {
		code, text := trial.applyOne(p)
		if code == proto.OK {
			texts = append(texts, "OK"+text)
			continue
		}
		texts = nil
		for j := range parts {
			switch {
			case j < i:
				texts = append(texts, "OK")
			case j == i:
				texts = append(texts, code.Name())
			default:
				texts = append(texts, proto.ErrRuntimeInconsistency.Name())
			}
		}
		return strings.Join(texts, ", ")
	}
	*m = *trial
	return strings.Join(texts, ", ")
}

// answer renders a reply as apply does.
func answer(r *wire.Reply) string {
	if r.Header.Err != proto.OK {
		return r.Header.Err.Name()
	}
	slots, ok := r.Value.([]wire.Slot)
	if !ok {
		return "OK" + valueText(r.Value)
	}
	var texts []string
	for _, s := range slots {
		if s.Err != proto.OK {
			texts = append(texts, s.Err.Name())
		} else {
			texts = append(texts, "OK"+valueText(s.Value))
		}
	}
	return strings.Join(texts, ", ")
}

func valueText(v any) string {
	switch v := v.(type) {
	case *proto.CreateResponse:
		return " " + v.Path.String()
	case *proto.StatResponse:
		return fmt.Sprintf(" version %d", v.Stat.Version)
	}
	return ""
}

// String renders the subtree; read renders the server's in the same way.
func (m *model) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s cversion %d\n", m.root, m.creates+m.deletes)
	for _, name := range slices.Sorted(maps.Keys(m.nodes)) {
		n := m.nodes[name]
		fmt.Fprintf(&b, "%s %q version %d ephemeral %v\n", name, n.data, n.version, n.ephemeral)
	}
	return b.String()
}

// read renders what the server has below root. Ephemerals must belong to owner.
func read(conn *wire.Conn, root string, owner proto.SessionID) (string, error) {
	children, stat, err := conn.Children2(root, false)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s cversion %d\n", root, stat.Cversion)
	slices.Sort(children)
	for _, name := range children {
		data, stat, err := conn.GetData(root+"/"+name, false)
		if err != nil {
			return "", fmt.Errorf("%s/%s: %w", root, name, err)
		}
		if o := stat.EphemeralOwner; o != 0 && o != owner {
			return "", fmt.Errorf("%s/%s belongs to session %v, not %v", root, name, o, owner)
		}
		fmt.Fprintf(&b, "%s %q version %d ephemeral %v\n", name, data, stat.Version, stat.EphemeralOwner != 0)
	}
	return b.String(), nil
}

// randomStep draws a step that mostly succeeds on m. Every datum is unique.
func randomStep(r *rand.Rand, m *model, serial int) step {
	s := step{name: fmt.Sprintf("k%d", r.IntN(8)), data: fmt.Sprintf("%s-%d", m.root, serial), version: -1}
	if r.IntN(3) > 0 {
		s.version = m.nodes[s.name].version
	}
	switch r.IntN(12) {
	case 0, 1:
		s.op = proto.OpCreate
		s.mode = proto.CreateMode(r.IntN(2))
	case 2:
		s.op, s.name = proto.OpCreate, "n-"
		s.mode = proto.ModePersistentSequential + proto.CreateMode(r.IntN(2))
	case 3:
		s.op = proto.OpDelete
	case 4:
		// Sequence znodes are deleted again, or there would be more and more of them.
		s.op = proto.OpDelete
		if names := slices.Sorted(maps.Keys(m.nodes)); len(names) > 0 {
			s.name = names[r.IntN(len(names))]
			s.version = -1
		}
	case 5, 6:
		s.op = proto.OpMulti
		for i := range 1 + r.IntN(4) {
			part := randomStep(r, m, serial)
			for part.op == proto.OpMulti {
				part = randomStep(r, m, serial)
			}
			part.data += fmt.Sprintf(".%d", i)
			s.parts = append(s.parts, part)
		}
	default:
		s.op = proto.OpSetData
	}
	return s
}
