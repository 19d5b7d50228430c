package peers

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
)

// Captured from ZooKeeper 3.8.0. Source: quorum-protocol 16 vectors 1 and 2.
func TestCapturedGreetings(t *testing.T) {
	one := unhex(t, "ffffffffffff0000 0000000000000002 0000000f 3132372e302e302e313a3233303232")
	many := unhex(t,
		"ffffffffffff0001 0000000000000003 0000001f 3132372e302e302e313a32333032337c3132372e302e302e323a3233303433")
	require.Equal(t, one, appendGreeting(nil, 2, []string{"127.0.0.1:23022"}))
	require.Equal(t, many, appendGreeting(nil, 3, []string{"127.0.0.1:23023", "127.0.0.2:23043"}))
	for id, b := range map[proto.ServerID][]byte{2: one, 3: many, 5: unhex(t, "0000000000000005")} {
		r := bytes.NewReader(append(b, "frame"...))
		got, addresses := must.Do2(readGreeting(r))(t)
		require.Equal(t, id, got)
		require.Equal(t,
			map[proto.ServerID][]string{2: {"127.0.0.1:23022"}, 3: {"127.0.0.1:23023", "127.0.0.2:23043"}}[id],
			addresses)
		rest, _ := io.ReadAll(r)
		require.Equal(t, "frame", string(rest), "what follows is not read")
		for n := range b {
			require.ErrorIs(t, must.Err2(readGreeting(bytes.NewReader(b[:n]))), ErrGreeting, n)
		}
	}
	require.Equal(t, "[::1]:3888", string(appendGreeting(nil, 1, []string{"[::1]:3888"})[20:]))
	long := []string{"a:1", strings.Repeat("b", 2048) + ":1"}
	require.Equal(t, appendGreeting(nil, 1, long[:1]), appendGreeting(nil, 1, long), "what does not fit is left out")
}

func TestGreetingBounds(t *testing.T) {
	for words, want := range map[string]string{
		"ffffffffffff0002 0000000000000002 00000001 61": "unknown version -65534",
		"ffffffffffffffff":                              "unknown version -1",
		"ffffffffffff0000 0000000000000002 00000000":    "addresses of 0 bytes from server 2",
		"ffffffffffff0000 0000000000000002 00000801":    "addresses of 2049 bytes",
		"ffffffffffff0000 0000000000000002 ffffffff":    "addresses of -1 bytes",
		"ffffffffffff0000 0000000000000002 00000002 61": "before the end of its addresses",
	} {
		_, _, err := readGreeting(bytes.NewReader(unhex(t, words)))
		require.ErrorIs(t, err, ErrGreeting)
		require.ErrorContains(t, err, want)
	}
}

func FuzzGreeting(f *testing.F) {
	f.Add(appendGreeting(nil, 2, []string{"127.0.0.1:23022"}))
	f.Add(appendGreeting(nil, 3, []string{"a:1", "b:2"}))
	f.Add(make([]byte, 8))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		id, _, err := readGreeting(r)
		if err != nil {
			require.ErrorIs(t, err, ErrGreeting)
			return
		}
		used := len(b) - r.Len()
		require.True(t, used == 8 && id >= 0 || used > 20 && used <= 20+greetingMax)
	})
}
