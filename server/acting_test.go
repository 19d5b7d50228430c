package server

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/host"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal/vfs"
	"github.com/seed94657493/warren/zab"
)

// configured reads a zoo.cfg for a standalone server with its data in memory.
func configured(t testing.TB, lines ...string) *config.Config {
	t.Helper()
	text := "dataDir=/data\nclientPort=0\nclientPortAddress=127.0.0.1\npreAllocSize=0\ntickTime=200\n" +
		"4lw.commands.whitelist=*\nadmin.serverAddress=127.0.0.1\nadmin.serverPort=0\nwarren.diskWatermarkBytes=0\n" +
		strings.Join(lines, "\n") + "\n"
	cfg, _ := must.Do2(config.Parse(strings.NewReader(text), "zoo.cfg"))(t)
	return cfg
}

// ask sends a request with a body of one byte to the admin server and returns the status and the body of the answer.
func ask(t *testing.T, s *Server, method, path string, header http.Header) (int, string) {
	t.Helper()
	return send(t, s, method, path, header, strings.NewReader("x"))
}

// send is ask with another body.
func send(t *testing.T, s *Server, method, path string, header http.Header, body io.Reader) (int, string) {
	t.Helper()
	r := must.Do(http.NewRequest(method, "http://"+s.AdminAddr().String()+path, body))(t)
	r.Header = header
	client := http.Client{Timeout: hangGuard, Transport: &http.Transport{DisableKeepAlives: true}}
	resp := must.Do(client.Do(r))(t)
	defer resp.Body.Close()
	return resp.StatusCode, string(must.ReadAll(t, resp.Body))
}

// Without the scheme digest no client authenticates with it, and no ACL may name it.
func TestDigestSchemeIsSwitchedOff(t *testing.T) {
	for text, there := range map[string]bool{"true": true, "false": false} {
		_, c := serveOne(t, configured(t, "DigestAuthenticationProvider.enabled="+text))
		rep := c.MustDo(t, wire.Create("/a", nil, wire.ACL(31, "digest", "a:b"), proto.ModePersistent))
		if there {
			require.NoError(t, rep.Err())
		} else {
			require.ErrorIs(t, rep.Err(), proto.ErrInvalidACL)
		}
		rep, err := c.Do(wire.Auth("digest", []byte("a:b")))
		if there {
			require.NoError(t, err)
			require.NoError(t, rep.Err())
			continue
		}
		if err == nil {
			require.ErrorIs(t, rep.Err(), proto.ErrAuthFailed)
		}
		require.NoError(t, c.WaitClosed())
	}
}

// An ACL of letAnySaslUserDoX allows every client that has logged in by SASL, and no other.
func TestAnyUserOfSASL(t *testing.T) {
	for _, any := range []string{"", "all"} {
		cfg := saslConfig()
		cfg.SASL.AnyUser = any
		s := serveSASL(t, cfg, nil)
		c := dialWire(t, s, wire.Options{})
		rep := c.MustDo(t, wire.Create("/a", []byte("x"), wire.ACL(31, "sasl", "all"), proto.ModePersistent))
		require.NoError(t, rep.Err())
		require.ErrorIs(t, must.Err2(c.GetData("/a", false)), proto.ErrNoAuth)
		login(t, c, "bob", "bobsecret")
		_, _, err := c.GetData("/a", false)
		if any == "" {
			require.ErrorIs(t, err, proto.ErrNoAuth)
		} else {
			require.NoError(t, err)
		}
	}
}

// With the scheme ip the admin server believes a proxy only if it is configured to.
func TestForwardedAddress(t *testing.T) {
	for text, status := range map[string]int{"false": http.StatusForbidden, "true": http.StatusOK} {
		s := serveMem(t, configured(t, "IPAuthenticationProvider.usexforwardedfor="+text,
			"admin.rateLimiterIntervalInMS=0"), nil)
		c := dialWire(t, s, wire.Options{})
		require.NoError(t, c.MustDo(t, wire.SetACL("/", wire.ACL(31, "ip", "192.0.2.7"), -1)).Err())
		got, body := ask(t, s, http.MethodGet, "/commands/snapshot?streaming=false",
			http.Header{"Authorization": {"ip"}, "X-Forwarded-For": {"192.0.2.7, 10.0.0.1"}})
		require.Equal(t, status, got, body)
	}
}

func TestAdminSettings(t *testing.T) {
	s := serveMem(t, configured(t, "admin.commandURL=/zk", "admin.idleTimeout=50", "admin.restore.enabled=false",
		"admin.snapshot.enabled=false", "DigestAuthenticationProvider.superDigest=super:D/InIHSb7yEEbrWz8b9l71RjZJU="),
		nil)
	status, body := ask(t, s, http.MethodGet, "/zk/ruok", nil)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, `"error" : null`)
	status, _ = ask(t, s, http.MethodGet, "/commands/ruok", nil)
	require.Equal(t, http.StatusNotFound, status)
	status, _ = ask(t, s, http.MethodGet, "/zk/snapshot", http.Header{"Authorization": {"digest super:test"}})
	require.Equal(t, http.StatusServiceUnavailable, status)
	status, _ = ask(t, s, http.MethodPost, "/zk/restore", http.Header{"Authorization": {"digest super:test"}})
	require.Equal(t, http.StatusServiceUnavailable, status)

	nc := must.Dial(t, s.AdminAddr().String())
	require.NoError(t, nc.SetDeadline(time.Now().Add(hangGuard/2))) // by default it would stay for all of it
	must.Do(io.WriteString(nc, "GET /zk/ruok HTTP/1.1\r\nHost: a\r\n\r\n"))(t)
	require.NoError(t, must.Err(io.ReadAll(nc)), "the idle connection is not closed")
}

// The metrics of the process and of the runtime are there unless exportJvmInfo is false.
func TestRuntimeMetricsAreSwitchedOff(t *testing.T) {
	for text, there := range map[string]bool{"true": true, "false": false} {
		s := serveMem(t, configured(t, "metricsProvider.exportJvmInfo="+text), nil)
		_, body := ask(t, s, http.MethodGet, "/metrics", nil)
		require.Contains(t, body, "\nznode_count ")
		for _, name := range []string{"go_goroutines", "process_open_fds", "jvm_threads_current",
			`jvm_memory_pool_bytes_used{pool="heap"}`} {
			require.Equal(t, there, strings.Contains(body, "\n"+name+" "), "%s: %s", text, name)
		}
	}
}

// snapRetainCount is the number of snapshots that stay.
func TestKeptSnapshots(t *testing.T) {
	for text, want := range map[string]int{"3": 3, "5": 5} {
		s, c := serveOne(t, configured(t, "autopurge.snapRetainCount="+text, "autopurge.purgeInterval=0"))
		for range 7 {
			c.MustSetData(t, "/", nil, -1)
			d := s.disk.Snapshotter.Order(t.Context())
			require.NoError(t, d.Err)
			require.NoError(t, d.File.Close())
		}
		require.GreaterOrEqual(t, files(t, s, "snapshot."), 7)
		s.disk.Snapshotter.Purge()
		require.Equal(t, want, files(t, s, "snapshot."))
	}
}

// Without digests neither a txn nor a snapshot has one, and there is nothing to list.
func TestDigestsAreSwitchedOff(t *testing.T) {
	for text, there := range map[string]bool{"true": true, "false": false} {
		s, c := serveOne(t, configured(t, "digest.enabled="+text))
		before := s.disk.WAL.Size()
		c.MustSetData(t, "/", []byte("x"), -1)
		size := s.disk.WAL.Size() - before
		for range 130 {
			c.MustSetData(t, "/", []byte("x"), -1)
		}
		// Framing, header, path, data, version.
		const plain = 13 + proto.TxnHeaderSize + 4 + len("/") + 4 + len("x") + 4
		if there {
			require.EqualValues(t, plain+proto.TxnDigestSize, size)
			require.Regexp(t, `^80: -?\d+\n$`, word(t, s, "hash"))
		} else {
			require.EqualValues(t, plain, size)
			require.Empty(t, word(t, s, "hash"))
		}
	}
}

// Containers are deleted when they have lost their last child, or have never had one for too long, and not faster
// than maxPerMinute.
func TestContainerSettings(t *testing.T) {
	count := func(c *wire.Conn) int {
		children := c.MustChildren(t, "/", false)
		return len(children) - 1
	}
	serve := func(lines ...string) *wire.Conn {
		c := dialWire(t, serveMem(t, configured(t, append(lines, "znode.container.checkIntervalMs=10")...), nil),
			wire.Options{})
		for _, path := range []string{"/a", "/b", "/c"} {
			must.Do2(c.CreateContainer(path, nil))(t)
		}
		return c
	}
	use := func(c *wire.Conn) {
		for _, path := range []string{"/a/1", "/b/1"} {
			c.MustCreate(t, path, nil, proto.ModePersistent)
			require.NoError(t, c.Delete(path, -1))
		}
	}
	c := serve("znode.container.maxNeverUsedIntervalMs=20")
	eventually(t, func() bool { return count(c) == 0 }, "containers without children stay")

	c = serve("znode.container.maxNeverUsedIntervalMs=0", "znode.container.maxPerMinute=60000")
	use(c)
	eventually(t, func() bool { return count(c) == 1 }, "only the one that was never used stays")

	c = serve("znode.container.maxPerMinute=1")
	use(c)
	eventually(t, func() bool { return count(c) == 2 }, "none goes")
	for began := time.Now(); time.Since(began) < 200*time.Millisecond; {
		require.Equal(t, 2, count(c), "the next one goes in a minute")
	}
}

// Requests that waited too long before they reached the log are answered ThrottledOp and have no effect. Without a
// limit they wait.
func TestRequestsThatWaitedTooLong(t *testing.T) {
	for text, limited := range map[string]bool{"0": false, "5": true} {
		s, c := serveOne(t, configured(t, "throttled_op_wait_time="+text))
		other := dialWire(t, s, wire.Options{})
		s.Store.Mu.Lock() // nothing is prepared
		call := c.Send(wire.SetData("/", nil, -1))
		late := other.Send(wire.Sync("/")) // the reader of the first connection may be preparing its request itself
		eventually(t, func() bool { return s.InProcess.Load() > 1 }, "the requests do not arrive")
		began := s.Clock.Now()
		eventually(t, func() bool { return s.Clock.Now()-began > int64(20*time.Millisecond) }, "time does not pass")
		s.Store.Mu.Unlock()
		require.NoError(t, call.Wait())
		require.NoError(t, late.Wait())
		stat := c.MustExists(t, "/", false)
		if limited {
			require.ErrorIs(t, call.Reply.Err(), proto.ErrThrottledOp)
			require.ErrorIs(t, late.Reply.Err(), proto.ErrThrottledOp, "a sync as well, as with ZooKeeper")
			require.Zero(t, stat.Version)
		} else {
			require.NoError(t, call.Reply.Err())
			require.EqualValues(t, 1, stat.Version)
		}
	}
}

// Only forceSync=no switches the sync off.
func TestSyncIsSwitchedOff(t *testing.T) {
	for text, synced := range map[string]bool{"yes": true, "no": false, "false": true} {
		fs := vfs.NewMem()
		s := running(t, configured(t, "forceSync="+text), Options{FS: fs})
		c := dialWire(t, s, wire.Options{})
		var mu sync.Mutex
		syncs := 0
		fs.Hook(func(op vfs.Op) error {
			if op.Kind == vfs.OpSync {
				mu.Lock()
				defer mu.Unlock()
				syncs++
			}
			return nil
		})
		for range 5 {
			c.MustSetData(t, "/", nil, -1)
		}
		mu.Lock()
		require.Equal(t, synced, syncs >= 5, "%s: %d", text, syncs)
		require.Equal(t, synced, syncs > 0, "%s: %d", text, syncs)
		mu.Unlock()
		fs.Hook(nil)
	}
}

// A leader reads at most as much of its log for a DIFF as snapshotSizeFactor allows. A follower always tells what
// its log has.
func TestShareOfTheLogForADiff(t *testing.T) {
	fs, store := vfs.NewMem(), meta.NewMem(1)
	s := started(t, configured(t), Options{FS: fs, Meta: store})
	c := dialWire(t, s, wire.Options{})
	for range 9 {
		c.MustSetData(t, "/", make([]byte, 100_000), -1)
	}
	s.Stop()
	locates := func(state zab.State, lines ...string) bool {
		again := New(configured(t, lines...), Options{FS: fs, Meta: store.Again()})
		require.NoError(t, again.recover())
		defer again.release()
		again.member = host.New(again.Env, again.disk, again.front, host.Network{})
		again.member.View.Store(&host.RoleView{Status: zab.Status{State: state}})
		at, _, ok := again.member.History().Locate(3)
		require.True(t, !ok || at == 3)
		return ok
	}
	const share = 900_000.0 / host.ReplayLeast
	for _, v := range []struct {
		lines string
		want  bool
	}{
		{"", true},
		{fmt.Sprint("snapshotSizeFactor=", 2*share), true},
		{fmt.Sprint("snapshotSizeFactor=", share/2), false},
		{"snapshotSizeFactor=-1", false},
	} {
		require.Equal(t, v.want, locates(zab.Leading, v.lines), v.lines)
		require.True(t, locates(zab.Following, v.lines), v.lines)
	}
}

// The settings say what a server does if its directories lack something.
func TestDirectoriesThatLackSomething(t *testing.T) {
	start := func(fs *vfs.Mem, lines ...string) error {
		s := New(configured(t, lines...), Options{FS: fs, Meta: meta.NewMem(1)})
		err := s.Start()
		if err == nil {
			s.Stop()
		}
		return err
	}
	withLog := func() *vfs.Mem {
		fs := vfs.NewMem()
		s := started(t, configured(t), Options{FS: fs})
		dialWire(t, s, wire.Options{}).MustSetData(t, "/", nil, -1)
		s.Stop()
		names := must.Do(fs.List("/data/version-2"))(t)
		for _, name := range names {
			if strings.HasPrefix(name, "snapshot.") {
				require.NoError(t, fs.Remove("/data/version-2/"+name))
			}
		}
		return fs
	}
	require.ErrorContains(t, start(vfs.NewMem(), "datadir.autocreate=false"),
		"/data/version-2: is missing, and datadir.autocreate is false")
	there := vfs.NewMem()
	require.NoError(t, there.MkdirAll("/data/version-2"))
	require.NoError(t, start(there, "datadir.autocreate=false"))

	require.ErrorContains(t, start(vfs.NewMem(), "db.autocreate=false"), "db.autocreate is false")
	marked := vfs.NewMem()
	require.NoError(t, marked.MkdirAll("/data/version-2"))
	require.NoError(t, vfs.WriteFile(marked, "/data/initialize", nil))
	require.NoError(t, start(marked, "db.autocreate=false"))

	require.ErrorContains(t, start(withLog()), "snapshot.trust.empty=true")
	require.NoError(t, start(withLog(), "snapshot.trust.empty=true"))
}

// With skipACL no client is refused.
func TestACLsAreSkipped(t *testing.T) {
	for text, want := range map[string]error{"no": proto.ErrNoAuth, "yes": nil} {
		c := dialWire(t, serveMem(t, configured(t, "skipACL="+text), nil), wire.Options{})
		rep := c.MustDo(t, wire.Create("/a", nil, wire.ACL(proto.PermRead, "digest", "a:b"), proto.ModePersistent))
		require.NoError(t, rep.Err())
		_, _, err := c.GetData("/a", false)
		require.Equal(t, want, err)
		_, err = c.SetData("/a", nil, -1)
		require.Equal(t, want, err)
		_, err = c.Create("/a/b", nil, proto.ModePersistent)
		require.Equal(t, want, err)
	}
}

// Snapshots are compressed as configured, and read whatever their compression is.
func TestSnapshotsAreCompressed(t *testing.T) {
	fs, store := vfs.NewMem(), meta.NewMem(1)
	for i, method := range []string{"", "gz", "snappy", ""} {
		s := started(t, configured(t, "snapshot.compression.method="+method), Options{FS: fs, Meta: store.Again()})
		c := dialWire(t, s, wire.Options{})
		require.EqualValues(t, i, c.MustExists(t, "/", false).Version, "the state of the snapshot before")
		c.MustSetData(t, "/", nil, -1)
		d := s.disk.Snapshotter.Order(t.Context())
		require.NoError(t, d.Err)
		require.NoError(t, d.File.Close())
		name := fmt.Sprintf("snapshot.%x", uint64(d.Meta.Zxid))
		if method != "" {
			name += "." + method
		}
		require.Equal(t, 1, files(t, s, name))
		s.Stop()
	}
}
