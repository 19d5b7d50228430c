package serve

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree/watch"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// watched is a path in one of the lists of a setWatches.
type watched struct {
	kind watch.Kind
	path string
}

// arrive feeds a body to an arrival in pieces of n bytes, and returns the result.
func arrive(op proto.OpCode, body []byte, piece int) (a *arrival, found []watched) {
	a = newArrival(&request{op: op}, len(body))
	in := &input{}
	for !a.over() {
		if path, ok := a.next(in, 1<<20); ok {
			found = append(found, watched{a.kind, string(path)})
			continue
		}
		if a.over() {
			break
		}
		n := min(piece, len(body))
		if n == 0 {
			panic("an arrival waits for more than there is")
		}
		in.buf = append(slices.Clone(in.bytes()), body[:n]...)
		in.r, in.w, body = 0, len(in.buf), body[n:]
	}
	return a, found
}

// decodeWatches returns what the decoders of the records find in a body.
func decodeWatches(op proto.OpCode, body []byte) (relative proto.Zxid, found []watched, ok bool) {
	var req proto.SetWatches2
	var lists [][]proto.Text
	var err error
	if op == proto.OpSetWatches2 {
		err = req.ReadFrom(body)
		lists = [][]proto.Text{req.DataWatches, req.ExistWatches, req.ChildWatches, req.PersistentWatches,
			req.PersistentRecursiveWatches}
	} else {
		var old proto.SetWatches
		err = old.ReadFrom(body)
		req.RelativeZxid = old.RelativeZxid
		lists = [][]proto.Text{old.DataWatches, old.ExistWatches, old.ChildWatches}
	}
	for i, kind := range watchLists(op) {
		if err != nil || lists[i] == nil {
			return 0, nil, false
		}
		for _, path := range lists[i] {
			if path == nil {
				return 0, nil, false
			}
			found = append(found, watched{kind, string(path)})
		}
	}
	return req.RelativeZxid, found, true
}

// FuzzArrival feeds a body in pieces, and finds the same as the decoders of the records find in the whole body.
func FuzzArrival(f *testing.F) {
	f.Add([]byte{}, 1, false)
	f.Add(wire.SetWatches(7, []string{"/a", ""}, []string{"/bcd"}, nil).Body, 1, false)
	f.Add(wire.SetWatches2(7, nil, []string{"/a"}, nil, []string{"/p", "/q"}, []string{"/"}).Body, 3, true)
	f.Add(wire.SetWatches(7, []string{"/a"}, nil, nil).Body, 5, true)
	f.Add(append(make([]byte, 8), 0xff, 0xff, 0xff, 0xff), 2, false)
	f.Add(append(make([]byte, 8), 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0, 0, 0, 0), 9, false)
	f.Fuzz(func(t *testing.T, body []byte, piece int, two bool) {
		if len(body) >= 1<<20 {
			return // a path may be too long
		}
		op := proto.OpSetWatches
		if two {
			op = proto.OpSetWatches2
		}
		relative, want, ok := decodeWatches(op, body)
		a, got := arrive(op, body, max(1, piece))
		require.Equal(t, !ok, a.malformed)
		if ok {
			require.Equal(t, relative, a.relative)
			require.Equal(t, want, got)
			require.Equal(t, len(want), a.wanted)
		}
	})
}

func TestPathsThatNobodyCouldWatchAreMalformed(t *testing.T) {
	body := wire.SetWatches(0, []string{"/a", string(make([]byte, 1<<20+1))}, nil, nil).Body
	a, found := arrive(proto.OpSetWatches, body, 100)
	require.True(t, a.malformed)
	require.Equal(t, []watched{{watch.Data, "/a"}}, found)
}

// A list of watches takes no more memory than the buffer of a socket, however long it is.
func TestLongSetWatchesTakeNoMemory(t *testing.T) {
	s := newFront()
	client, nc := wire.Pair(t)
	r := newReader(newConn(s, nc))
	r.c.Session.Store(&sessions.Session{ID: 1})
	var paths []string
	for i := range 20_000 {
		paths = append(paths, fmt.Sprintf("/%0100d", i))
	}
	req := wire.SetWatches(0, nil, paths, nil)
	b := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 1), uint32(req.Op))
	b = wire.AppendFrame(nil, append(b, req.Body...))
	go func() { _, _ = client.Write(b[:len(b)-1]) }()
	for s.CountWatches() < len(paths) { // all of them, before the end of the frame
		require.NoError(t, r.fill())
		require.LessOrEqual(t, len(r.in.buf), inputBuffer)
		require.True(t, r.process())
	}
	require.NotNil(t, r.arriving)
	must.Do(client.Write(b[len(b)-1:]))(t)
	for r.arriving != nil {
		require.NoError(t, r.fill())
		require.True(t, r.process())
	}
	s.watchers.removeAll(r.c)
	require.Zero(t, s.CountWatches())
	require.Equal(t, []*Conn{nil, nil}, s.watchers.slots)
	require.Len(t, s.watchers.free, 1, "its place is free for another connection")
}
