package client

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/seed94657493/warren/client/internal/require"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/digestmd5"
	"github.com/seed94657493/warren/proto/paths"
)

func TestCheckPath(t *testing.T) {
	for _, path := range []string{
		"/", "/a", "/a/b", "/...", "/.a", "/a.", "/..a", "/a b", "/\u00a0", "/\u2028", "/\ufeff",
		"/\uffef", "/\u00e9/\u4e16",
	} {
		require.NoError(t, checkPath(path, false), "%q", path)
	}
	for _, path := range []string{"", "a", "a/b", "//", "/a/", "/a//b", "/.", "/..", "/a/./b", "/a/..", "/\x00",
		"/a\x1f", "/\x7f", "/\u0085", "/\ue000", "/\uf8ff", "/\ufff0", "/\uffff", "/\U0001f600", "/a\xff", "/\xc3("} {
		require.ErrorIs(t, checkPath(path, false), ErrBadArguments, "%q", path)
	}
	for _, path := range []string{"/", "/a/", "/a/..", "/."} {
		require.NoError(t, checkPath(path, true), "%q", path)
	}
	require.ErrorIs(t, checkPath("/a//b", true), ErrBadArguments)
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = checkPath("/some/path/of/a/znode", false) }))
}

func TestChroot(t *testing.T) {
	for _, c := range []struct{ chroot, path, full string }{
		{"", "/", "/"}, {"", "/a", "/a"}, {"/r", "/", "/r"}, {"/r", "/a/b", "/r/a/b"},
	} {
		require.Equal(t, c.full, joinChroot(c.chroot, c.path))
		require.Equal(t, c.path, stripChroot(c.chroot, c.full))
		require.Equal(t, proto.AppendString(nil, c.full), appendPath(nil, c.chroot, c.path))
	}
	require.Equal(t, []string{"/a", "/"}, belowChroot("/r", []string{"/r/a", "/rest", "/r", "/x"}))
	require.Equal(t, "/rest", stripChroot("/r", "/rest"))
	require.Equal(t, "/", paths.ParentOf("/a"))
	require.Equal(t, "/", paths.ParentOf("/"))
	require.Equal(t, "/a", paths.ParentOf("/a/b"))
}

func TestParseConnect(t *testing.T) {
	for _, c := range []struct {
		in, names, chroot string
	}{
		{"a", "a:2181", ""},
		{"a:1,b", "a:1 b:2181", ""},
		{" a:1 , b:2 ,", "a:1 b:2", ""},
		{"a:1,b:2/x/y", "a:1 b:2", "/x/y"},
		{"a/", "a:2181", ""},
		{"[::1]:5,[fe80::1]", "[::1]:5 [fe80::1]:2181", ""},
		{"::1,fe80::1%eth0,[fe80::1%eth0]:5", "[::1]:2181 [fe80::1%eth0]:2181 [fe80::1%eth0]:5", ""},
		{"dns-srv://_zk._tcp.example.com", "_zk._tcp.example.com", ""},
		{"dns-srv://zk.example.com./app/x", "zk.example.com.", "/app/x"},
		{"dns-srv://zk/", "zk", ""},
	} {
		to, err := parseConnect(c.in)
		require.NoError(t, err, c.in)
		require.Equal(t, c.names, strings.Join(to.servers, " ")+to.service, c.in)
		require.Equal(t, c.chroot, to.chroot)
	}
	for _, in := range []string{"", ",", "/x", "a:1/x/", "a:1//x", ":1", "a:1:2", "a:",
		"dns-srv://", "dns-srv:///x", "dns-srv://a:1", "dns-srv://a,b", "dns-srv://a/x/", "DNS-SRV://a"} {
		require.Error(t, require.Err(parseConnect(in)), in)
	}
	require.Error(t, require.Err(New("")))
	require.ErrorContains(t, require.Err(New("a", WithMaxOutstanding(0))), "outstanding")
}

func TestHostsAreResolvedAnewEachTime(t *testing.T) {
	lookups := map[string]int{} // one at a time, and pick waits for each
	h := newHosts([]string{"a:1", "b:2", "10.0.0.1:3"},
		newNames(t.Context(), func(_ context.Context, host string) ([]string, error) {
			lookups[host]++
			if host == "b" && lookups[host] == 1 {
				return nil, errors.New("no such host")
			}
			return []string{host + "-x", host + "-y"}, nil
		}), time.Minute)
	for pass := range 2 {
		got := map[endpoint]bool{}
		failed := 0
		for isLast := false; !isLast; {
			var e endpoint
			var err error
			e, isLast, err = h.pick(t.Context())
			if err != nil {
				failed++
				continue
			}
			got[e] = true
		}
		want := map[endpoint]bool{{addr: "a-x:1", host: "a"}: true, {addr: "a-y:1", host: "a"}: true,
			{addr: "10.0.0.1:3", host: "10.0.0.1"}: true}
		if pass == 1 {
			want[endpoint{addr: "b-x:2", host: "b"}], want[endpoint{addr: "b-y:2", host: "b"}] = true, true
		}
		require.Equal(t, want, got)
		require.Equal(t, 1-pass, failed)
	}
	require.Equal(t, map[string]int{"a": 2, "b": 2}, lookups)
}

func TestFrames(t *testing.T) {
	var stream []byte
	var want [][]byte
	for _, n := range []int{0, 1, 5, inputBytes - 4, inputBytes, 3 * inputBytes, 7, 2 << 20, 9} {
		frame := bytes.Repeat([]byte{byte(n)}, n)
		want = append(want, frame)
		stream = proto.AppendBuffer(stream, frame)
	}
	for name, src := range map[string]io.Reader{
		"whole":   bytes.NewReader(stream),
		"halves":  iotest.HalfReader(bytes.NewReader(stream)),
		"withEOF": iotest.DataErrReader(bytes.NewReader(stream)),
	} {
		f := newFrames(src, 4<<20)
		for i := range want {
			got, err := f.next()
			require.NoError(t, err, name)
			require.True(t, bytes.Equal(want[i], got), "%s: frame %d", name, i)
		}
		require.ErrorIs(t, require.Err(f.next()), io.EOF, name)
	}
	f := newFrames(bytes.NewReader([]byte{0, 0, 1, 0, 1}), 1<<20)
	require.ErrorIs(t, require.Err(f.next()), io.ErrUnexpectedEOF)
	for _, hostile := range []string{"7fffffff", "ffffffff", "00100001"} {
		b, _ := hex.DecodeString(hostile)
		f := newFrames(bytes.NewReader(b), 1<<20)
		require.ErrorIs(t, require.Err(f.next()), ErrProtocol)
	}
	// The length of a frame that does not come costs no memory.
	f = newFrames(bytes.NewReader([]byte{3, 0, 0, 0}), 64<<20)
	require.ErrorIs(t, require.Err(f.next()), io.ErrUnexpectedEOF)
	require.LessOrEqual(t, len(f.buf), inputBytes)
}

func TestRingKeepsOrder(t *testing.T) {
	r := seeded(t)
	var q ring
	in, out := int32(0), int32(0)
	for range 10000 {
		if r.IntN(2) == 0 {
			in++
			q.push(&call{xid: in})
		} else if cl := q.pop(); cl != nil {
			out++
			require.Equal(t, out, cl.xid)
		} else {
			require.Equal(t, in, out)
		}
		require.EqualValues(t, in-out, q.n)
	}
}

// An exchange begins with an empty token and ends when the server has proved that it knows the password. Package
// digestmd5 tests the tokens. A password that ISO 8859-1 can write is hashed in it, as servers do.
func TestDigestMD5(t *testing.T) {
	for _, password := range []string{"bobsecret", "pässword", "秘密"} {
		for _, known := range []string{password, "other"} {
			server := digestmd5.NewServer(digestmd5.ClientRealm,
				func(user string) (string, bool) { return known, user == "bob" }, "nonce")
			x := DigestMD5("bob", password)("host")
			var challenge []byte
			for step, isLast := 0, false; !isLast; step++ {
				require.Less(t, step, 3)
				token, last, err := x.Next(challenge)
				require.NoError(t, err)
				require.Equal(t, step == 0, token != nil && len(token) == 0)
				if isLast = last; isLast {
					require.True(t, token == nil)
					break
				}
				if challenge, err = server.Step(token); known != password && step == 1 {
					require.ErrorIs(t, err, digestmd5.ErrAuth)
					break
				}
				require.NoError(t, err)
			}
			require.Equal(t, known == password, server.Done())
		}
	}
	liar := DigestMD5("bob", "bobsecret")("host")
	_, _, _ = liar.Next(nil)
	require.Do2(liar.Next([]byte(`nonce="n",algorithm=md5-sess`)))(t)
	require.Error(t, require.Err2(liar.Next([]byte("rspauth=da86919f214d86dd35224ea179331f9f"))))
}

// Requests as the bytes that a reference server was sent. Source: client-protocol 16.4, 16.5 and 16.7.
func TestGoldenRequests(t *testing.T) {
	multi := new(Txn).Check("/v1", 1).Create("/v1/m", nil, Persistent).Set("/v1/m", []byte("1"), 0).Delete("/v1/m", 1)
	c := &Client{}
	mcall := require.Do(c.txnCall(multi))(t)
	for _, g := range []struct {
		xid  int32
		cl   *call
		want string
	}{
		{10, &call{request: request{op: proto.OpSetData, path: "/v1", data: []byte("hello")}},
			"0000001c 0000000a 00000005 00000003 2f7631 00000005 68656c6c6f 00000000"},
		{15, &call{request: request{op: proto.OpSetACL, path: "/v1", acl: OpenACL(), version: -1}},
			"0000002e 0000000f 00000007 00000003 2f7631 00000001 0000001f 00000005 776f726c64 00000006 616e796f6e65 ffffffff"},
		{0x19, &call{request: request{op: proto.OpAddWatch, path: "/v1", version: 1}},
			"00000013 00000019 0000006a 00000003 2f7631 00000001"},
		{0x1a, &call{request: request{op: proto.OpCheckWatches, path: "/v1", version: 3}},
			"00000013 0000001a 00000011 00000003 2f7631 00000003"},
		{0x1b, &call{request: request{op: proto.OpRemoveWatches, chroot: "/v1", path: "/", version: 3}},
			"00000013 0000001b 00000012 00000003 2f7631 00000003"},
		{0x1e, &call{request: request{op: proto.OpCloseSession}}, "00000008 0000001e fffffff5"},
		// V28 with create2 (0f) instead of create (01).
		{0x13, mcall,
			`0000008b 00000013 0000000e 0000000d 00 ffffffff 00000003 2f7631 00000001 0000000f 00 ffffffff 00000005 2f76312f6d
			ffffffff 00000001 0000001f 00000005 776f726c64 00000006 616e796f6e65 00000000 00000005 00 ffffffff 00000005 2f76312f6d 00000001 31
			00000000 00000002 00 ffffffff 00000005 2f76312f6d 00000001 ffffffff 01 ffffffff`},
	} {
		cfg := defaultConfig()
		cn := newConn(nil, frames{}, "test", time.Now(), time.Second, &cfg)
		cn.xid = g.xid - 1
		require.NoError(t, cn.add(g.cl))
		want := require.Do(hex.DecodeString(strings.Join(strings.Fields(g.want), "")))(t)
		require.Equal(t, hex.EncodeToString(want), hex.EncodeToString(cn.out), "%v", g.cl.op)
	}
}

func TestNames(t *testing.T) {
	for n := range EventType(5) {
		require.NotEqual(t, "", n.String())
	}
	for s := Connecting; s <= Closed; s++ {
		require.NotContains(t, s.String(), "(")
	}
	require.Equal(t, "state(99)", State(99).String())
	require.Equal(t, "WatchLost /a (client: closed)", Event{Type: WatchLost, Path: "/a", Err: ErrClosed}.String())
	require.Equal(t, "NodeDeleted /a 0x5", Event{Type: NodeDeleted, Path: "/a", Zxid: 5}.String())
}

// The order of servers differs between clients, so that they do not all come to one.
func TestServersAreShuffled(t *testing.T) {
	firsts := map[string]int{}
	for range 300 {
		to := require.Do(parseConnect("a:1,b:2,c:3/app"))(t)
		require.Equal(t, "/app", to.chroot)
		firsts[newHosts(to.servers, nil, 0).servers[0]]++
	}
	require.Len(t, firsts, 3)
	for name, n := range firsts {
		require.Greater(t, n, 30, name)
	}
}
