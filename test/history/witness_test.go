package history

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
)

// unanswered takes the answer of the last operation away.
func (s *script) unanswered() {
	c := s.current()
	o := c.Items[len(c.Items)-1].Operation
	c.Items = c.Items[:len(c.Items)-1]
	o.Return, o.Err, o.Zxid, o.Stat = Infinity, proto.OK, 0, proto.Stat{}
	c.Unknown = append(c.Unknown, o)
}

// TestWitness: a write without an answer takes effect at most once, and never before it is sent.
func TestWitness(t *testing.T) {
	unknownSet := func(s *script, data string) {
		s.add(set("/r", data, -1, 0))
		s.unanswered()
	}
	for _, v := range []struct {
		name   string
		write  func(*script)
		proven bool
	}{
		{"needed", func(s *script) {
			unknownSet(s, "u")
			s.add(set("/r", "b", 1, 3))
		}, true},
		{"not needed", func(s *script) {
			unknownSet(s, "u")
			s.add(set("/r", "b", 0, 2))
		}, true},
		{"seen", func(s *script) {
			unknownSet(s, "u")
			unknownSet(s, "v")
			s.add(get("/r", "v", 1, 1, 2, 2))
			s.add(set("/r", "b", 2, 4))
		}, true},
		{"missing", func(s *script) { s.add(set("/r", "b", 1, 3)) }, false},
		{"sent later", func(s *script) {
			s.add(set("/r", "b", 1, 3))
			unknownSet(s, "u")
		}, false},
		{"seen before it was sent", func(s *script) {
			s.add(synced(get("/r", "u", 1, 1, 2, 2)))
			unknownSet(s, "u")
		}, false},
		{"needed twice", func(s *script) {
			unknownSet(s, "u")
			s.add(set("/r", "b", 1, 3))
			s.add(set("/r", "c", 3, 5))
		}, false},
		{"needed twice at once", func(s *script) {
			unknownSet(s, "u")
			s.add(set("/r", "b", 2, 4))
		}, false},
		{"a conditional one is used while it can be", func(s *script) {
			unknownSet(s, "u")
			s.add(set("/r", "v", 0, 0))
			s.unanswered()
			s.add(set("/r", "b", 1, 3))
			s.add(set("/r", "c", 3, 5))
		}, true},
		{"answer with a later zxid than its txn", func(s *script) {
			s.add(set("/r", "a", 0, 2)).Zxid = 9
			s.add(set("/r", "b", 1, 3))
		}, true},
		{"deleted and made again", func(s *script) {
			s.add(remove("/r", 0))
			s.unanswered()
			s.add(create("/r", 0))
			s.unanswered()
			s.add(set("/r", "b", 0, 4))
			s.add(remove("/r", 5))
			s.add(synced(missing("/r", 5)))
		}, true},
	} {
		t.Run(v.name, func(t *testing.T) {
			s := &script{}
			s.connection(1)
			s.add(create("/r", 1))
			v.write(s)
			require.Equal(t, v.proven, prove(s.h.Operations(), reads(s.h.Operations())) == nil)
			require.Equal(t, v.proven, len(CheckRegisters(&s.h, judgeTimeout)) == 0)
		})
	}
}

// reads returns the operations that show a value.
func reads(ops []*Operation) []*Operation {
	return slices.DeleteFunc(slices.Clone(ops), func(o *Operation) bool { return o.Op != proto.OpGetData || !o.OK() })
}

// TestManyUnanswered: unanswered writes whose orders no search could try are no difficulty.
func TestManyUnanswered(t *testing.T) {
	s := &script{}
	s.connection(1)
	s.add(create("/r", 1))
	for i := range 100 {
		s.add(set("/r", fmt.Sprint("u", i), -1, 0))
		s.unanswered()
	}
	for i := range 50 {
		s.add(set("/r", fmt.Sprint(i), int32(2*i+1), proto.Zxid(2*i+3)))
	}
	require.Empty(t, CheckRegisters(&s.h, time.Nanosecond))
}

// TestWitnessIsRight: porcupine finds an order wherever a witness proves one, also in histories that were changed; and
// a witness is found for nearly all that were not.
func TestWitnessIsRight(t *testing.T) {
	const runs = 3000
	refused, judged := 0, map[bool]int{}
	for seed := range uint64(runs) {
		r := rand.New(rand.NewPCG(seed, 0))
		ops := randomRegister(r, 24)
		if prove(ops, reads(ops)) != nil {
			refused++
		}
		for range 1 + r.IntN(2) {
			misstate(r, ops[r.IntN(len(ops))])
		}
		proven := prove(ops, reads(ops)) == nil
		judged[proven]++
		if !proven {
			continue
		}
		var list []porcupine.Operation
		for _, o := range ops {
			list = append(list, porcupine.Operation{Input: o, Call: o.Call, Output: o, Return: o.Return})
		}
		require.True(t, porcupine.CheckOperations(registerModel, list), "seed %d", seed)
	}
	require.Less(t, refused, runs/50)
	require.Greater(t, judged[true], runs/20)
	require.Greater(t, judged[false], runs/20)
}

// randomRegister lets clients work on one znode, whose state is that of an honest server. Some answers are lost, and
// some of those requests too.
func randomRegister(r *rand.Rand, n int) []*Operation {
	var s register
	var ops []*Operation
	var written proto.Zxid
	for i := range n {
		now, z := int64(100*i), proto.Zxid(i+1)
		o := &Operation{Client: i, Call: now - r.Int64N(300), Return: now + 1 + r.Int64N(300), Zxid: z, Version: -1}
		if r.IntN(2) == 0 {
			o.Version = s.version
		}
		switch r.IntN(6) {
		case 0:
			o.Op, o.Data = proto.OpCreate, fmt.Sprint(i)
		case 1:
			o.Op = proto.OpDelete
		case 2, 3:
			o.Op, o.Data = proto.OpSetData, fmt.Sprint(i)
		default:
			o.Op, o.Synced = proto.OpGetData, true
		}
		ops = append(ops, o)
		lost := !o.IsRead() && r.IntN(4) == 0
		if lost {
			o.Return, o.Zxid = Infinity, 0
			if r.IntN(2) == 0 {
				continue
			}
		}
		before := s
		var code proto.ErrCode
		if s, code = s.step(o); s != before {
			written = z
		}
		if lost {
			continue
		}
		if o.Err = code; code == proto.OK {
			o.Stat = proto.Stat{Mzxid: written, Version: s.version}
			if o.IsRead() {
				o.Data = s.data
			}
		}
	}
	return ops
}

// misstate makes an operation say something else.
func misstate(r *rand.Rand, o *Operation) {
	switch r.IntN(5) {
	case 0:
		o.Stat.Version += int32(r.IntN(3) - 1)
	case 1:
		o.Call = min(o.Return-1, o.Call+r.Int64N(400)-200)
	case 2:
		if o.Known() {
			o.Return = max(o.Call+1, o.Return-r.Int64N(400))
		}
	case 3:
		if o.Known() {
			o.Err = []proto.ErrCode{proto.OK, proto.ErrNoNode, proto.ErrBadVersion}[r.IntN(3)]
		}
	case 4:
		o.Zxid = proto.Zxid(max(0, int64(o.Zxid)+r.Int64N(5)-2))
	}
}
