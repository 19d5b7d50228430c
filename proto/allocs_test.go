package proto

import (
	"testing"

	"github.com/seed94657493/warren/proto/internal/require"
)

// hotRecords are what a server decodes or encodes for nearly every request.
func hotRecords() map[string]fuzzable {
	m := map[string]fuzzable{
		"RequestHeader": new(RequestHeader), "ReplyHeader": new(ReplyHeader),
		"PathWatchRequest": new(PathWatchRequest), "PathRequest": new(PathRequest),
		"CreateRequest": new(CreateRequest), "CreateTTLRequest": new(CreateTTLRequest),
		"DeleteRequest": new(DeleteRequest), "SetDataRequest": new(SetDataRequest),
		"SetACLRequest": new(SetACLRequest), "CheckVersionRequest": new(CheckVersionRequest),
		"MultiHeader": new(MultiHeader), "WatcherEvent": new(WatcherEvent),
		"CreateResponse": new(CreateResponse), "Create2Response": new(Create2Response),
		"StatResponse": new(StatResponse), "GetDataResponse": new(GetDataResponse),
		"GetChildrenResponse": new(GetChildrenResponse), "GetChildren2Response": new(GetChildren2Response),
		"TxnHeader": new(TxnHeader), "TxnDigest": new(TxnDigest), "CreateTxn": new(CreateTxn),
		"DeleteTxn": new(DeleteTxn), "SetDataTxn": new(SetDataTxn), "MultiTxn": new(MultiTxn),
		"QuorumPacket": new(QuorumPacket), "CloseSessionTxn": new(CloseSessionTxn),
		"ConnectRequest": new(ConnectRequest), "ConnectResponse": new(ConnectResponse),
	}
	for _, v := range m {
		sample(v)
	}
	return m
}

// TestHotRecordsDoNotAllocate: decoding into a record that is kept, and encoding into a buffer
// with room, allocate nothing.
func TestHotRecordsDoNotAllocate(t *testing.T) {
	for name, v := range hotRecords() {
		in := v.AppendTo(nil)
		require.NoError(t, v.ReadFrom(in))
		require.Zero(t, testing.AllocsPerRun(100, func() {
			if v.ReadFrom(in) != nil {
				panic("undecodable")
			}
		}), "decoding %s", name)
		buf := make([]byte, 0, len(in))
		require.Zero(t, testing.AllocsPerRun(100, func() { buf = v.AppendTo(buf[:0]) }), "encoding %s", name)
		require.Equal(t, in, buf, name)
	}
}

func TestMultiWalkDoesNotAllocate(t *testing.T) {
	var in []byte
	for range 10 {
		in = AppendMultiOp(in, OpSetData)
		in = (&SetDataRequest{Path: Text("/a"), Data: []byte("x")}).AppendTo(in)
	}
	in = AppendMultiEnd(in)
	var rec SetDataRequest
	require.Zero(t, testing.AllocsPerRun(100, func() {
		m := NewMultiReader(in)
		for {
			if _, ok := m.Next(); !ok {
				break
			}
			rec.Decode(&m.R)
		}
	}))
}

func BenchmarkDecode(b *testing.B) {
	for _, name := range []string{"PathWatchRequest", "CreateRequest", "SetDataRequest", "QuorumPacket"} {
		v := hotRecords()[name]
		in := v.AppendTo(nil)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := v.ReadFrom(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, name := range []string{"GetDataResponse", "CreateTxn", "QuorumPacket"} {
		v := hotRecords()[name]
		buf := v.AppendTo(nil)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				buf = v.AppendTo(buf[:0])
			}
		})
	}
}
