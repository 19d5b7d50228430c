package proto

import (
	"testing"

	"github.com/seed94657493/warren/proto/internal/require"
)

func seedGolden(f *testing.F, files ...string) {
	for _, file := range files {
		for _, line := range readGolden(f, file, 2) {
			f.Add(line.bytes[4:])
		}
	}
}

func FuzzConnectRequest(f *testing.F) {
	seedGolden(f, "client-handshake", "client-reconnect")
	fuzzRecord(f, func() fuzzable { return new(ConnectRequest) })
}

func FuzzConnectResponse(f *testing.F) {
	seedGolden(f, "client-handshake", "client-reconnect")
	fuzzRecord(f, func() fuzzable { return new(ConnectResponse) })
}

func FuzzOutcomes(f *testing.F) {
	f.Add((&OutcomesRequest{After: 1 << 32, Xids: []int32{1, 2}}).AppendTo(nil))
	found := OutcomesResponse{Outcomes: []Outcome{{Xid: 1, Zxid: 9, Body: []byte("/a")}, {Xid: 2, Err: ErrNoNode}}}
	f.Add(found.AppendTo(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		var asked OutcomesRequest
		if asked.ReadFrom(b) == nil {
			require.Equal(t, b[:12+4*len(asked.Xids)], asked.AppendTo(nil))
		}
		var found OutcomesResponse
		if found.ReadFrom(b) == nil {
			again := found.AppendTo(nil)
			require.Equal(t, b[:len(again)], again)
		}
	})
}

// multiBody returns an empty record of what may follow a header in a multi or its reply, or nil.
func multiBody(op OpCode, isReply bool) record {
	if isReply {
		switch op {
		case OpCreate:
			return new(CreateResponse)
		case OpCreate2:
			return new(Create2Response)
		case OpSetData:
			return new(StatResponse)
		case OpGetData:
			return new(GetDataResponse)
		case OpGetChildren:
			return new(GetChildrenResponse)
		case OpError:
			return new(ErrorResponse)
		}
		return nil
	}
	switch op {
	case OpCreate, OpCreate2, OpCreateContainer:
		return new(CreateRequest)
	case OpCreateTTL:
		return new(CreateTTLRequest)
	case OpDelete:
		return new(DeleteRequest)
	case OpSetData:
		return new(SetDataRequest)
	case OpCheck:
		return new(CheckVersionRequest)
	case OpGetData, OpGetChildren:
		return new(PathWatchRequest)
	}
	return nil
}

// walkMulti decodes a multi and returns its elements; ok is false if it is malformed.
func walkMulti(b []byte, isReply bool) (elements []record, ok bool) {
	m := NewMultiReader(b)
	for {
		h, more := m.Next()
		if !more {
			return elements, m.R.Err() == nil
		}
		elements = append(elements, &h)
		if body := multiBody(h.Type, isReply); body != nil {
			body.Decode(&m.R)
			elements = append(elements, body)
		}
		if m.R.Err() != nil {
			return nil, false
		}
	}
}

// FuzzMulti walks requests and replies and checks that what was accepted encodes to a multi with
// the same elements, and that a walk takes no more steps than there are headers.
func FuzzMulti(f *testing.F) {
	for _, line := range readGolden(f, "client-multi", 2) {
		header := 4 + RequestHeaderSize
		isReply := line.label[len(line.label)-1] == 'S'
		if isReply {
			header = 4 + ReplyHeaderSize
		}
		f.Add(line.bytes[header:], isReply)
	}
	f.Add(AppendMultiEnd(nil), false)
	f.Add(AppendMultiEnd(AppendMultiError(AppendMultiResult(nil, OpDelete), ErrNoNode)), true)
	f.Fuzz(func(t *testing.T, in []byte, isReply bool) {
		elements, ok := walkMulti(in, isReply)
		if len(elements) > 2*len(in)/9+2 {
			t.Fatalf("%d elements of %d bytes", len(elements), len(in))
		}
		if !ok {
			return
		}
		var once []byte
		for _, e := range elements {
			once = e.AppendTo(once)
		}
		once = AppendMultiEnd(once)
		again, ok := walkMulti(once, isReply)
		if !ok || len(again) != len(elements) {
			t.Fatalf("re-decoding: %v, %d elements, want %d", ok, len(again), len(elements))
		}
		var twice []byte
		for _, e := range again {
			twice = e.AppendTo(twice)
		}
		if twice = AppendMultiEnd(twice); string(once) != string(twice) {
			t.Fatalf("encoding is not stable:\n%x\n%x", once, twice)
		}
	})
}
