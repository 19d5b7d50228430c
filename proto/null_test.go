package proto

import (
	"testing"

	"github.com/seed94657493/warren/proto/internal/require"
)

var null = []byte{0xff, 0xff, 0xff, 0xff}

// TestNullIsNotEmpty encodes and decodes null and empty values of every kind that has both. The
// receiver holds something else before, as a reused record does.
func TestNullIsNotEmpty(t *testing.T) {
	stale := func() []byte { return []byte("stale") }
	tests := []struct {
		name        string
		null, empty record
		dirty       func() record
		get         func(record) (isNil bool, n int)
	}{
		{"ustring", &PathRequest{}, &PathRequest{Path: Text{}},
			func() record { return &PathRequest{Path: stale()} },
			func(r record) (bool, int) { v := r.(*PathRequest).Path; return v == nil, len(v) }},
		{"buffer", &GetSASLRequest{}, &GetSASLRequest{Token: []byte{}},
			func() record { return &GetSASLRequest{Token: stale()} },
			func(r record) (bool, int) { v := r.(*GetSASLRequest).Token; return v == nil, len(v) }},
		{"vector of ustring", &GetChildrenResponse{}, &GetChildrenResponse{Children: []Text{}},
			func() record { return &GetChildrenResponse{Children: []Text{stale(), stale()}} },
			func(r record) (bool, int) { v := r.(*GetChildrenResponse).Children; return v == nil, len(v) }},
		{"vector of records", &WhoAmIResponse{}, &WhoAmIResponse{ClientInfo: []ClientInfo{}},
			func() record { return &WhoAmIResponse{ClientInfo: make([]ClientInfo, 3)} },
			func(r record) (bool, int) { v := r.(*WhoAmIResponse).ClientInfo; return v == nil, len(v) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, null, tt.null.AppendTo(nil))
			require.Equal(t, make([]byte, 4), tt.empty.AppendTo(nil))
			for _, wantNil := range []bool{true, false} {
				in := make([]byte, 4)
				if wantNil {
					in = null
				}
				r := NewReader(in)
				v := tt.dirty()
				v.Decode(&r)
				require.NoError(t, r.Err())
				isNil, n := tt.get(v)
				require.Equal(t, wantNil, isNil)
				require.Zero(t, n)
				require.Equal(t, in, v.AppendTo(nil))
			}
		})
	}
}

// TestNegativeCounts: a vector of any negative count but -1 is empty, a string or buffer of one
// is an error. Source: client-protocol 1.1.
func TestNegativeCounts(t *testing.T) {
	for _, in := range [][]byte{{0xff, 0xff, 0xff, 0xfe}, {0x80, 0, 0, 0}} {
		var v GetChildrenResponse
		require.NoError(t, v.ReadFrom(in))
		require.False(t, v.Children == nil)
		require.Empty(t, v.Children)
		require.ErrorIs(t, new(PathRequest).ReadFrom(in), ErrLength)
		require.ErrorIs(t, new(GetSASLRequest).ReadFrom(in), ErrLength)
	}
}

func TestBoolIsAnyNonZeroByte(t *testing.T) {
	for b, want := range map[byte]bool{0: false, 1: true, 2: true, 0xff: true} {
		var v PathWatchRequest
		require.NoError(t, v.ReadFrom([]byte{0, 0, 0, 0, b}))
		require.Equal(t, want, v.Watch, "%#x", b)
	}
}

func TestTrailingBytesAreIgnored(t *testing.T) {
	in := append((&DeleteRequest{Path: Text("/a"), Version: 7}).AppendTo(nil), "more"...)
	var v DeleteRequest
	require.NoError(t, v.ReadFrom(in))
	require.Equal(t, DeleteRequest{Path: Text("/a"), Version: 7}, v)
}

// TestDecodedBytesAreBounded: appending to a decoded value must not write over its neighbour.
func TestDecodedBytesAreBounded(t *testing.T) {
	in := (&SetDataRequest{Path: Text("/a"), Data: []byte("xy"), Version: 1}).AppendTo(nil)
	before := string(in)
	var v SetDataRequest
	require.NoError(t, v.ReadFrom(in))
	_ = append(v.Path, "zzzz"...)
	_ = append(v.Data, "zzzz"...)
	require.Equal(t, before, string(in))
}

func TestReaderErrorSticks(t *testing.T) {
	r := NewReader([]byte{0, 0, 0, 9, 'a', 'b', 'c'})
	require.True(t, r.Text() == nil)
	require.ErrorIs(t, r.Err(), ErrLength)
	require.Zero(t, r.Int32())
	require.Zero(t, r.Int64())
	require.False(t, r.Bool())
	require.True(t, r.Buffer() == nil)
	require.Zero(t, r.Count(1))
	require.ErrorIs(t, r.Err(), ErrLength, "the first failure stays")
	require.Zero(t, r.Len())
}
