package history

import (
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/seed94657493/warren/proto"
)

// register is the state of one znode.
type register struct {
	exists  bool
	version int32
	data    string
}

// registerModel is a znode with conditional writes. Input and output of an operation are the Operation itself. An
// unknown operation takes effect with whatever answer it would have had; one that had none is linearized after
// everything else, where no operation sees it.
var registerModel = porcupine.Model{
	Init: func() any { return register{} },
	Step: func(state, input, _ any) (bool, any) {
		s, o := state.(register), input.(*Operation)
		next, fits := s.answer(o)
		return fits || !o.Known(), next
	},
	DescribeOperation: func(input, _ any) string { return input.(*Operation).String() },
}

// step returns the state after o and the code it must have.
func (s register) step(o *Operation) (register, proto.ErrCode) {
	if o.Op == proto.OpCreate {
		if s.exists {
			return s, proto.ErrNodeExists
		}
		return register{exists: true, data: o.Data}, proto.OK
	}
	switch {
	case !s.exists:
		return s, proto.ErrNoNode
	case o.IsRead():
		return s, proto.OK
	case o.Version != -1 && o.Version != s.version:
		return s, proto.ErrBadVersion
	case o.Op == proto.OpDelete:
		return register{}, proto.OK
	}
	return register{exists: true, version: s.version + 1, data: o.Data}, proto.OK
}

// answer returns the state after o, and whether the answer of o fits the state s before it.
func (s register) answer(o *Operation) (register, bool) {
	next, code := s.step(o)
	return next, code == o.Err && (code != proto.OK || s.matches(next, o))
}

// matches compares what a successful answer shows with the states before and after it.
func (s register) matches(next register, o *Operation) bool {
	switch o.Op {
	case proto.OpGetData:
		return o.Stat.Version == s.version && o.Data == s.data
	case proto.OpExists:
		return o.Stat.Version == s.version
	case proto.OpSetData:
		return o.Stat.Version == next.version
	}
	return true
}

// CheckRegisters judges every path by itself. Reads count only behind a sync: others may be old. What the zxids do not
// prove is searched for an order by porcupine, whose time and memory grow exponentially with the writes that had no
// answer. It stops after timeout, which is a breach of its own.
func CheckRegisters(h *History, timeout time.Duration) []string {
	ephemeral := ephemeralPaths(h)
	paths, values := map[string][]*Operation{}, map[string][]*Operation{}
	for _, o := range h.Operations() {
		if ephemeral[o.Path] {
			continue // it ends with its session too, which is no operation on the path
		}
		if o.Op == proto.OpGetData && o.OK() {
			values[o.Path] = append(values[o.Path], o)
		}
		// A server without room on its disk refuses writes before they are anything: reads show it if they took
		// effect.
		if o.IsWrite() && o.Err == proto.ErrNotReadOnly && o.Known() {
			continue
		}
		if o.IsWrite() || o.IsRead() && o.Synced && o.Known() {
			paths[o.Path] = append(paths[o.Path], o)
		}
	}
	deadline := time.Now().Add(timeout)
	var breaches []string
	for path, ops := range paths {
		unproven := prove(ops, values[path])
		if unproven == nil {
			continue
		}
		var list []porcupine.Operation
		for _, o := range ops {
			list = append(list,
				porcupine.Operation{ClientId: o.Client, Input: o, Call: o.Call, Output: o, Return: o.Return})
		}
		switch porcupine.CheckOperationsTimeout(registerModel, list, max(time.Millisecond, time.Until(deadline))) {
		case porcupine.Illegal:
			breaches = append(breaches, fmt.Sprintf("%s: %d operations are not linearizable: in the order of their "+
				"zxids, %v", path, len(ops), unproven))
		case porcupine.Unknown:
			breaches = append(breaches, fmt.Sprintf("%s: not decided within %v: in the order of the zxids, %v", path,
				timeout, unproven))
		}
	}
	return breaches
}

// ephemeralPaths returns the paths that were ever created as an ephemeral.
func ephemeralPaths(h *History) map[string]bool {
	paths := map[string]bool{}
	note := func(o *Operation) {
		if o.Op == proto.OpCreate && o.Mode.IsEphemeral() {
			paths[o.Path] = true
		}
	}
	for _, c := range h.Connections {
		for _, item := range c.Items {
			if item.Operation != nil {
				note(item.Operation)
			}
		}
		for _, o := range c.Unknown {
			note(o)
		}
	}
	return paths
}
