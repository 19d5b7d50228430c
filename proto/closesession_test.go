package proto

import (
	"testing"

	"github.com/seed94657493/warren/proto/internal/require"
)

func TestListOfClosedSession(t *testing.T) {
	list := func(paths ...string) []byte {
		v := CloseSessionTxn{Paths2Delete: []Text{}}
		for _, p := range paths {
			v.Paths2Delete = append(v.Paths2Delete, Text(p))
		}
		return v.AppendTo(nil)
	}
	summed := func(b []byte) []byte {
		return (&TxnDigest{Version: DigestVersion, TreeDigest: 0x1b0f4a9cd}).AppendTo(b)
	}
	for _, c := range []struct {
		name  string
		body  []byte
		paths []string // nil: no list
		rest  int
	}{
		{"nothing", nil, nil, 0},
		{"a digest", summed(nil), nil, TxnDigestSize},
		{"a list", list("/e"), []string{"/e"}, 0},
		{"a list of twelve bytes", list("/abc"), []string{"/abc"}, 0},
		{"a list and a digest", summed(list("/e", "/f")), []string{"/e", "/f"}, TxnDigestSize},
		{"an empty list", list(), []string{}, 0},
		{"an empty list and a digest", summed(list()), []string{}, TxnDigestSize},
		{"an empty list and a digest, taken for a digest", summed(list())[:TxnDigestSize], []string{},
			TxnDigestSize - 4},
		{"a list of one path, taken for a digest", summed(list("/locks/1"))[:TxnDigestSize], nil, 0},
		{"a list of two paths, taken for a digest", summed(list("/locks/1", "/locks/2"))[:TxnDigestSize], nil, 0},
		{"a list of three paths, taken for a digest",
			summed(list("/locks/1", "/locks/2", "/locks/3"))[:TxnDigestSize], nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var v CloseSessionTxn
			r := NewReader(c.body)
			require.Equal(t, c.paths != nil, v.DecodeList(&r))
			require.NoError(t, r.Err())
			require.Equal(t, c.rest, r.Len())
			require.Len(t, v.Paths2Delete, len(c.paths))
			for i, p := range v.Paths2Delete {
				require.Equal(t, c.paths[i], p.String())
			}
		})
	}
	for name, body := range map[string][]byte{
		"torn": list("/locks/1")[:11], "torn later": summed(list("/locks/1", "/locks/2"))[:18],
	} {
		var v CloseSessionTxn
		r := NewReader(body)
		v.DecodeList(&r)
		require.Error(t, r.Err(), name)
	}
}
