package prepare

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
)

// prepareLoad is a State with 1,000 znodes at depth 2 and a Preparer ahead of it. Payloads go into
// buffers that are used again, as in the server.
type prepareLoad struct {
	l        *pipeline
	sets     [][]byte // setData of 128 bytes, one for each znode
	payloads [][]byte // outstanding
	buffers  [][]byte // for more of them
	req      Request
}

func newPrepareLoad(t testing.TB) *prepareLoad {
	l := newPipeline(t, nil)
	b := &prepareLoad{l: l}
	l.must(proto.OK, proto.OpCreate, create("/bench", 0))
	for i := range 1000 {
		path := fmt.Sprintf("/bench/node-%04d", i)
		l.must(proto.OK, proto.OpCreate, create(path, 0))
		r := proto.SetDataRequest{Path: proto.Text(path), Data: make([]byte, 128), Version: -1}
		b.sets = append(b.sets, r.AppendTo(nil))
	}
	l.applyAll()
	b.req = Request{Session: testSession, Identities: []auth.Identity{ip("127.0.0.1")}}
	return b
}

func (b *prepareLoad) prepare(op proto.OpCode, body []byte) {
	var buffer []byte
	if n := len(b.buffers); n > 0 {
		buffer, b.buffers = b.buffers[n-1], b.buffers[:n-1]
	} else {
		buffer = make([]byte, 0, 1024)
	}
	b.req.Op, b.req.Body = op, body
	b.l.zxid++
	out, _, ok := b.l.p.Prepare(buffer, &b.req, b.l.zxid, b.l.nowMs)
	if !ok {
		b.l.t.Fatal("a request could not be prepared")
	}
	b.payloads = append(b.payloads, out)
}

func (b *prepareLoad) apply() {
	for _, payload := range b.payloads {
		if _, a, err := b.l.s.Apply(payload, nil, nil, false); err != nil || a.DigestMismatch {
			b.l.t.Fatal(a, err)
		}
		b.buffers = append(b.buffers, payload[:0])
	}
	b.payloads = b.payloads[:0]
}

// benchmarkPrepare prepares up to 1,000 requests, so that as many are outstanding, then applies
// them with the timer stopped.
func benchmarkPrepare(b *testing.B, op func(load *prepareLoad, i int) (proto.OpCode, []byte)) {
	load := newPrepareLoad(b)
	round := func(n int) {
		for i := range n {
			load.prepare(op(load, i))
		}
	}
	for range 3 {
		round(1000)
		load.apply()
	}
	b.ReportAllocs()
	b.ResetTimer()
	for done := 0; done < b.N; done += 1000 {
		round(min(1000, b.N-done))
		b.StopTimer()
		load.apply()
		b.StartTimer()
	}
}

// BenchmarkPrepareSetData prepares setData of 128 bytes at depth 2, each on another znode.
func BenchmarkPrepareSetData(b *testing.B) {
	benchmarkPrepare(b, func(load *prepareLoad, i int) (proto.OpCode, []byte) { return proto.OpSetData, load.sets[i] })
}

// BenchmarkPrepareSetDataHot prepares setData of 128 bytes on one znode.
func BenchmarkPrepareSetDataHot(b *testing.B) {
	benchmarkPrepare(b, func(load *prepareLoad, i int) (proto.OpCode, []byte) { return proto.OpSetData, load.sets[0] })
}

// BenchmarkPrepareCreateDelete prepares create and delete of one znode in turn.
func BenchmarkPrepareCreateDelete(b *testing.B) {
	made, gone := create("/bench/new", 0).AppendTo(nil), del("/bench/new", -1).AppendTo(nil)
	benchmarkPrepare(b, func(_ *prepareLoad, i int) (proto.OpCode, []byte) {
		if i%2 == 0 {
			return proto.OpCreate, made
		}
		return proto.OpDelete, gone
	})
}

// BenchmarkPrepareMulti prepares a multi of check, setData, create and delete.
func BenchmarkPrepareMulti(b *testing.B) {
	body := new(multiOf).add(proto.OpCheck, check("/bench", -1)).add(proto.OpSetData, set("/bench", "x", -1)).
		add(proto.OpCreate, create("/bench/new", 0)).add(proto.OpDelete, del("/bench/new", -1)).AppendTo(nil)
	benchmarkPrepare(b, func(*prepareLoad, int) (proto.OpCode, []byte) { return proto.OpMulti, body })
}

// Once it has reached its working size, the Preparer allocates nothing, whatever the request and
// whether it succeeds or not.
func TestPrepareDoesNotAllocate(t *testing.T) {
	load := newPrepareLoad(t)
	listed := create("/bench/listed", 0)
	listed.Acl = []proto.ACL{entry(7, "world", "anyone"), entry(31, "ip", "127.0.0.0/8"), entry(31, "digest", "a:b")}
	type request struct {
		op   proto.OpCode
		body []byte
	}
	requests := []request{
		{proto.OpSetData, load.sets[0]},
		{proto.OpSetData, load.sets[999]},
		{proto.OpCreate, listed.AppendTo(nil)},
		{proto.OpSetACL, setACL("/bench/listed", -1, listed.Acl...).AppendTo(nil)},
		{proto.OpSetData, set("/bench/listed", "x", 77).AppendTo(nil)},
		{proto.OpMulti, new(multiOf).add(proto.OpSetData, set("/bench/listed", "x", -1)).
			add(proto.OpDelete, del("/bench/listed", -1)).
			add(proto.OpCreate, listed).add(proto.OpCheck, check("/none", -1)).AppendTo(nil)},
		{proto.OpMulti, new(multiOf).add(proto.OpCheck, check("/bench", -1)).
			add(proto.OpCreate, create("/bench/m", 0)).
			add(proto.OpDelete, del("/bench/m", -1)).AppendTo(nil)},
		{proto.OpCreate, create("/bench/e", proto.ModeEphemeral).AppendTo(nil)},
		{proto.OpDelete, del("/bench/e", -1).AppendTo(nil)},
		{proto.OpCreate, create("/bench/s-", proto.ModePersistentSequential).AppendTo(nil)},
		{proto.OpDelete, del("/bench/listed", 0).AppendTo(nil)},
		{proto.OpDelete, del("/bench/listed", 0).AppendTo(nil)},
	}
	round := func() {
		for range 100 {
			for _, r := range requests {
				load.prepare(r.op, r.body)
			}
		}
	}
	// As much as the measurement will need, and more.
	for range 3 {
		round()
	}
	load.apply()
	require.Zero(t, testing.AllocsPerRun(1, round))
	load.apply()
}
