package backup

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal/vfs"
)

// fakeAdmin gives one snapshot as ZooKeeper's admin server does.
func fakeAdmin(t *testing.T, status int, zxid string, size int, body []byte) Remote {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/commands/snapshot" || r.Header.Get("Authorization") != "digest super:pw" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header()["last_zxid"] = []string{zxid}
		w.Header()["snapshot_size"] = []string{fmt.Sprint(size)}
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}))
	t.Cleanup(s.Close)
	t.Cleanup(s.Client().CloseIdleConnections)
	return Remote{URL: s.URL + "/commands", Authorization: "digest super:pw", Client: s.Client()}
}

func TestRemote(t *testing.T) {
	body := must.ReadFile(t, fixtures+"02-snapshot-and-log/version-2/snapshot.34")
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	must.Do(z.Write(body))(t)
	require.NoError(t, z.Close())
	for _, sent := range [][]byte{body, packed.Bytes()} {
		mem := vfs.NewMem()
		b := opened(t, mem, "/b")
		remote := fakeAdmin(t, 200, "0x34", len(sent), sent)
		out := must.Do(b.AddRemote(t.Context(), remote))(t)
		require.Empty(t, out.Warnings)
		require.Len(t, out.Added, 1)
		out = must.Do(b.AddRemote(t.Context(), remote))(t)
		require.Empty(t, out.Added, "it is there")
		r := must.Do(b.Restore(Destination{FS: mem, SnapDir: "/r", LogDir: "/r"}, Target{}))(t)
		require.Equal(t, proto.Zxid(0x34), r.Zxid)

		// The log of the data directory continues it.
		other, _ := memFixture(t, "02-snapshot-and-log")
		put(t, mem, "/s/log.35", get(t, other, "/s/log.35"))
		out = must.Do(b.Add(Source{FS: mem, SnapDir: "/s", LogDir: "/s"}, Options{}))(t)
		require.Equal(t, proto.Zxid(0x3e), out.Last)
		require.Empty(t, b.Verify().Problems)
	}

	for name, tt := range map[string]struct {
		remote Remote
		says   string
	}{
		"limit":      {fakeAdmin(t, 429, "", 0, nil), "rateLimiterIntervalInMS"},
		"off":        {fakeAdmin(t, 503, "", 0, nil), "admin.snapshot.enabled"},
		"failed":     {fakeAdmin(t, 500, "", 0, nil), "serializeLastProcessedZxid"},
		"forbidden":  {fakeAdmin(t, 403, "", 0, nil), "every permission"},
		"strange":    {fakeAdmin(t, 418, "", 0, []byte("a teapot\n")), "a teapot"},
		"no zxid":    {fakeAdmin(t, 200, "x", len(body), body), "last_zxid"},
		"cut":        {fakeAdmin(t, 200, "0x34", len(body), body[:300]), "corrupt"},
		"wrong size": {fakeAdmin(t, 200, "0x34", len(body)+1, body), "received"},
		"who":        {Remote{URL: fakeAdmin(t, 200, "", 0, nil).URL}, "give credentials"},
		"nobody":     {Remote{URL: "http://127.0.0.1:1/commands"}, "refused"},
	} {
		mem := vfs.NewMem()
		b := opened(t, mem, "/b")
		require.ErrorContains(t, must.Err(b.AddRemote(t.Context(), tt.remote)), tt.says, name)
		b = opened(t, mem, "/b")
		require.Empty(t, b.Manifest.Entries, name)
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestRemoteServer takes a snapshot of our own server, over HTTP.
func TestRemoteServer(t *testing.T) {
	cfg := config.Default()
	cfg.DataDir = t.TempDir()
	cfg.DataLogDir = cfg.DataDir
	cfg.ClientPort, cfg.Admin.Port = 0, 0
	cfg.PreAllocSizeKB, cfg.DiskWatermark.Bytes = 64, 0
	cfg.SuperDigest = "super:D/InIHSb7yEEbrWz8b9l71RjZJU="
	srv := server.New(cfg, server.Options{})
	require.NoError(t, srv.Start())
	defer srv.Stop()
	c := wire.Open(t, srv.Addr().String(), wire.Options{TimeoutMs: 60_000})
	require.NoError(t, c.Send(wire.Create("/kept", []byte("data"), wire.OpenACL, proto.ModePersistent)).Wait())

	b := opened(t, vfs.OS(), t.TempDir())
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	out := must.Do(b.AddRemote(t.Context(),
		Remote{URL: "http://" + srv.AdminAddr().String() + "/commands", Authorization: "digest super:test",
			Client: client}))(t)
	require.Empty(t, out.Warnings)
	s, r := restoredState(t, b, Target{})
	require.Equal(t, c.LastZxid(), r.Zxid)
	require.NotZero(t, s.Lookup([]byte("/kept")))
}
