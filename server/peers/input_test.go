package peers

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
)

// pieces gives a stream in pieces of random length, as a socket does.
type pieces struct {
	b    []byte
	rand *rand.Rand
	most int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.b) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), 1+p.rand.IntN(p.most))], p.b)
	p.b = p.b[n:]
	return n, nil
}

func newTestInput(r io.Reader) *input {
	return &input{r: r, size: 2 * readMin, max: 64 << 10, limit: 300_000}
}

// randomPackets returns packets of all shapes, and their bytes.
func randomPackets(r *rand.Rand, n int) (packets []Packet, stream []byte) {
	for i := range n {
		p := Packet{Type: proto.PacketCommit, Zxid: proto.Zxid(i)}
		switch r.IntN(8) {
		case 0, 1, 2, 3:
			size := r.IntN(300)
			if r.IntN(20) == 0 {
				size = r.IntN(40_000)
			}
			p.Type = proto.PacketProposal
			p.Data = make([]byte, size)
			for j := range p.Data {
				p.Data[j] = byte(r.Uint32())
			}
			p.Data = append((&proto.TxnHeader{Zxid: p.Zxid}).AppendTo(nil), p.Data...)
		case 4:
			p.Type, p.Data = proto.PacketPing, []byte{}
		case 5:
			p.Type, p.Data = proto.PacketRequest, make([]byte, 16+r.IntN(100))
			p.Authinfo = appendIdentities(nil, make([]proto.ID, r.IntN(5)))
		}
		packets = append(packets, p)
		stream = p.AppendTo(stream)
	}
	return packets, stream
}

// However the stream is cut, the same packets come out, and none of them ever changes.
func TestInputIsCutAnywhere(t *testing.T) {
	seed := rand.Uint64()
	fmt.Printf("SEED=%d\n", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for round := range 12 {
		want, stream := randomPackets(r, 1+r.IntN(100))
		in := newTestInput(&pieces{stream, r, []int{3, 100, 5000, 1 << 20}[round%4]})
		var got []Packet
		batch := make([]Packet, 0, 1+r.IntN(64))
		for {
			b, err := in.next(batch[:0])
			got = append(got, b...)
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
			require.NotEmpty(t, b)
		}
		require.Equal(t, want, got, "seed %d round %d", seed, round)
		require.EqualValues(t, len(stream), in.bytes)
	}
}

// What follows SNAP is read by another reader, and then packets go on.
func TestInputWithABody(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	body := bytes.Repeat([]byte("state "), 20_000)
	want, before := randomPackets(r, 50)
	after, rest := randomPackets(r, 50)
	stream := appendPlain(before, proto.PacketSnap, 9)
	stream = append(stream, body...)
	stream = append(appendSignature(stream), rest...)
	in := newTestInput(&pieces{stream, r, 3000})
	var got []Packet
	for len(got) < len(want)+1 {
		b := must.Do(in.next(make([]Packet, 0, 64)))(t)
		got = append(got, b...)
	}
	require.Equal(t, append(want, Packet{Type: proto.PacketSnap, Zxid: 9}), got)
	read := make([]byte, len(body))
	must.Do(io.ReadFull(in, read))(t)
	require.Equal(t, body, read)
	require.NoError(t, in.checkSignature())
	for got = nil; len(got) < len(after); {
		b := must.Do(in.next(make([]Packet, 0, 64)))(t)
		got = append(got, b...)
	}
	require.Equal(t, after, got)
}

func TestSignature(t *testing.T) {
	require.Equal(t, unhex(t, "0000000a 42656e57617348657265"), appendSignature(nil),
		"captured: quorum-protocol 16 vector 17")
	for text, want := range map[string]string{
		"0000000a 42656e57617348657266":    "instead of its signature",
		"0000000b 42656e57617348657265":    "instead of its signature",
		"0000000a 42656e576173486572":      "before its signature",
		"":                                 "before its signature",
		"0000000a 42656e57617348657265 1f": "",
	} {
		err := newTestInput(bytes.NewReader(unhex(t, text))).checkSignature()
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, want)
	}
}

// A length that lies costs what has arrived, not what it claims.
func TestInputGrowsWithWhatArrives(t *testing.T) {
	head := proto.AppendInt32(appendHead(nil, proto.PacketRequest, -1), 64<<20)
	stream := append(head, make([]byte, 100_000)...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	in := newTestInput(bytes.NewReader(stream))
	in.limit = 64 << 20
	_, err := in.next(make([]Packet, 0, 1))
	runtime.ReadMemStats(&after)
	require.ErrorIs(t, err, io.EOF)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(700_000))
}

// endless gives the same bytes again and again.
type endless struct {
	b  []byte
	at int
}

func (e *endless) Read(b []byte) (n int, err error) {
	for n < len(b) {
		m := copy(b[n:], e.b[e.at:])
		n, e.at = n+m, (e.at+m)%len(e.b)
	}
	return n, nil
}

// Packets without data cost nothing, txns their own bytes.
func TestInputAllocations(t *testing.T) {
	acks := newTestInput(&endless{b: appendPlain(nil, proto.PacketAck, 7)})
	batch := make([]Packet, 0, 64)
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = acks.next(batch[:0]) }))

	txn := Packet{Type: proto.PacketProposal, Zxid: 1,
		Data: append((&proto.TxnHeader{Zxid: 1}).AppendTo(nil), make([]byte, 200)...)}
	one := txn.AppendTo(nil)
	txns := newTestInput(&endless{b: one})
	const runs = 300
	got := 0
	allocations := testing.AllocsPerRun(runs, func() {
		b, _ := txns.next(batch[:0])
		got += len(b)
	})
	perPacket := allocations * runs / float64(got)
	require.Less(t, perPacket, 0.01, "one chunk serves hundreds of packets")
}

func BenchmarkInput(b *testing.B) {
	txn := Packet{Type: proto.PacketProposal, Zxid: 1,
		Data: append((&proto.TxnHeader{Zxid: 1}).AppendTo(nil), make([]byte, 150)...)}
	one := txn.AppendTo(nil)
	in := &input{r: &endless{b: one}, size: 16 << 10, max: 1 << 20, limit: 1 << 20}
	batch := make([]Packet, 0, 512)
	b.ReportAllocs()
	b.SetBytes(int64(len(one)))
	for n := 0; n < b.N; {
		got, err := in.next(batch[:0])
		if err != nil {
			b.Fatal(err)
		}
		n += len(got)
	}
}

// However bytes are cut, the outcome is the same.
func FuzzInput(f *testing.F) {
	_, stream := randomPackets(rand.New(rand.NewPCG(1, 2)), 20)
	f.Add(stream[:min(len(stream), 2000)], uint64(1))
	f.Fuzz(func(t *testing.T, b []byte, seed uint64) {
		run := func(r io.Reader) (packets []Packet, text string) {
			in := newTestInput(r)
			in.limit = 5000
			for {
				batch, err := in.next(make([]Packet, 0, 3))
				packets = append(packets, batch...)
				if err != nil {
					return packets, err.Error()
				}
			}
		}
		want, wantErr := run(bytes.NewReader(b))
		got, gotErr := run(&pieces{b, rand.New(rand.NewPCG(seed, 0)), 1 + int(seed%50)})
		require.Equal(t, want, got)
		require.Equal(t, wantErr, gotErr)
	})
}
