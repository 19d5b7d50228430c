package backup

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/rebuild"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs a server on dir until it is stopped. It takes a snapshot at the latest every 20 x 10 txns and purges
// nothing.
func serve(t testing.TB, dir string) *server.Server {
	t.Helper()
	cfg := config.Default()
	cfg.DataDir, cfg.DataLogDir = dir, dir
	cfg.ClientPort, cfg.ClientPortAddress = 0, "127.0.0.1"
	cfg.PreAllocSizeKB, cfg.SnapCount = 64, 10
	cfg.Autopurge.PurgeInterval = 0
	cfg.DiskWatermark.Bytes = 0
	cfg.MaxClientCnxns, cfg.MaxSessionTimeout = 0, time.Hour
	cfg.Admin.Enabled = false
	s := server.New(cfg, server.Options{Version: "3.9.4-0, built on 01/01/2026 00:00 UTC"})
	require.NoError(t, s.Start())
	return s
}

func source(dir string) Source {
	v := filepath.Join(dir, "version-2")
	return Source{FS: vfs.OS(), SnapDir: v, LogDir: v}
}

func destination(dir string) Destination {
	v := filepath.Join(dir, "version-2")
	return Destination{FS: vfs.OS(), SnapDir: v, LogDir: v}
}

// load writes with a few sessions until it is told to end. Sessions end and begin, so that ephemerals come and go.
type load struct {
	stop chan struct{}
	wg   sync.WaitGroup
	txns atomic.Int64
}

func startLoad(t testing.TB, addr string, seed uint64) *load {
	t.Helper()
	t.Logf("seed %d", seed)
	l := &load{stop: make(chan struct{})}
	for w := range 4 {
		l.wg.Go(func() { l.write(t, addr, w, rand.New(rand.NewPCG(seed, uint64(w)))) })
	}
	return l
}

func (l *load) write(t testing.TB, addr string, worker int, rng *rand.Rand) {
	for {
		c, err := wire.Dial(addr, wire.Options{TimeoutMs: 60_000})
		if err != nil {
			t.Errorf("dial: %v", err)
			return
		}
		for range 50 + rng.IntN(200) {
			select {
			case <-l.stop:
				c.Close()
				return
			default:
			}
			path := fmt.Sprintf("/%d-%d", worker, rng.IntN(60))
			data := bytes.Repeat([]byte{byte(rng.Uint32())}, rng.IntN(200))
			var req wire.Request
			switch rng.IntN(6) {
			case 0, 1:
				req = wire.Create(path, data, wire.OpenACL, proto.ModePersistent)
			case 2:
				req = wire.Create(path+"-e", data, wire.OpenACL, proto.ModeEphemeral)
			case 3:
				req = wire.Delete(path, -1)
			case 4:
				req = wire.SetACL(path, wire.ACL(1+rng.Int32N(31), "world", "anyone"), -1)
			default:
				req = wire.SetData(path, data, -1)
			}
			if err := c.Send(req).Wait(); err != nil {
				t.Errorf("%s: %v", path, err)
				c.Close()
				return
			}
			l.txns.Add(1)
		}
		if rng.IntN(2) == 0 {
			_ = c.Send(wire.CloseSession()).Wait() // the server ends the connection
		}
		c.Close()
	}
}

// until waits for so many more requests.
func (l *load) until(t testing.TB, more int64) {
	t.Helper()
	want := l.txns.Load() + more
	require.Eventually(t, func() bool { return l.txns.Load() >= want }, time.Minute, time.Millisecond)
}

func (l *load) end() {
	close(l.stop)
	l.wg.Wait()
}

// dump prints everything that a state holds, sorted.
func dump(t testing.TB, s *datatree.State) []string {
	t.Helper()
	var body bytes.Buffer
	w := s.NewWalker()
	defer w.Close()
	require.NoError(t, snapshot.WriteStream(&body, walkerSource{w}))
	d := &dumpSink{acls: map[int64]string{-1: "open"}}
	require.NoError(t, snapshot.ReadStream(&body, d))
	slices.Sort(d.lines)
	return d.lines
}

type dumpSink struct {
	lines []string
	acls  map[int64]string
}

func (d *dumpSink) Session(id proto.SessionID, timeoutMs int32) error {
	d.lines = append(d.lines, fmt.Sprint("session ", id, timeoutMs))
	return nil
}

func (d *dumpSink) ACL(key int64, list []proto.ACL) error {
	d.acls[key] = fmt.Sprintf("%q", list)
	return nil
}

func (d *dumpSink) Node(path, data []byte, aclKey int64, st *proto.StatPersisted) error {
	if string(path) == datatree.ConfigPath {
		return nil // a server that joins an ensemble may get it in a snapshot; no txn has it
	}
	d.lines = append(d.lines, fmt.Sprintf("%s %q %t %s %+v", path, data, data == nil, d.acls[aclKey], *st))
	return nil
}

// oracle replays the whole log of a stopped server from the first txn, and hands over the state after each.
func oracle(t testing.TB, dir string, fn func(s *datatree.State, h proto.TxnHeader)) {
	t.Helper()
	state := datatree.NewState(datatree.Config{})
	v := filepath.Join(dir, "version-2")
	names := must.Do(wal.Names(vfs.OS(), v))(t)
	for _, name := range names {
		_, err := wal.Scan(vfs.OS(), filepath.Join(v, name), func(r *wal.Record) error {
			_, applied := must.Do2(state.Apply(r.Payload, nil, nil, false))(t)
			require.False(t, applied.DigestMismatch)
			fn(state, applied.Header)
			return nil
		})
		require.NoError(t, err)
	}
}

// ended is the dump of a state as it is restored: without sessions, from a first txn of the next epoch on.
func ended(t testing.TB, s *datatree.State, last proto.Zxid) []string {
	t.Helper()
	var body bytes.Buffer
	w := s.NewWalker()
	defer w.Close()
	require.NoError(t, snapshot.WriteStream(&body, walkerSource{w}))
	l := datatree.NewLoader(datatree.Config{})
	require.NoError(t, snapshot.ReadStream(&body, l))
	again := must.Do(l.Done(s.LastZxid()))(t)
	again.EndSessions(proto.MakeZxid(last.Epoch()+1, 1))
	return dump(t, again)
}

// restoredState restores into a fresh directory and loads what was written.
func restoredState(t testing.TB, b *Backup, target Target) (*datatree.State, Restored) {
	t.Helper()
	dir := t.TempDir()
	r := must.Do(b.Restore(destination(dir), target))(t)
	l := datatree.NewLoader(datatree.Config{})
	trailer := must.Do(snapshot.Load(vfs.OS(), filepath.Join(dir, "version-2", r.File), l))(t)
	s := must.Do(l.Done(r.First))(t)
	require.Equal(t, r.First, trailer.LastZxid)
	require.Equal(t, s.Digest(), trailer.Digest)
	require.Zero(t, s.NumSessions())
	require.Zero(t, s.NumEphemerals())
	return s, r
}

// TestBackupUnderLoad takes a chain of backups while clients write, and restores moments of it: each is the tree that
// the server's own log gives at that zxid.
func TestBackupUnderLoad(t *testing.T) {
	dir, backupDir := t.TempDir(), t.TempDir()
	const seed = 20261121
	srv := serve(t, dir)
	l := startLoad(t, srv.Addr().String(), seed)
	var ends []proto.Zxid
	for i := range 4 {
		l.until(t, 250)
		b := opened(t, vfs.OS(), backupDir)
		out, err := b.Add(source(dir), Options{Full: i == 2})
		require.NoError(t, err, "run %d", i)
		require.Empty(t, out.Warnings)
		ends = append(ends, out.Last)
	}
	l.end()
	srv.Stop()

	b := opened(t, vfs.OS(), backupDir)
	verdict := b.Verify()
	require.Empty(t, verdict.Problems)
	require.Len(t, verdict.Ranges, 2)
	for _, r := range verdict.Ranges {
		require.Equal(t, ends[len(ends)-1], r.To)
		require.Positive(t, r.Compared)
	}
	first := verdict.Ranges[0].From
	rng := rand.New(rand.NewPCG(seed, 99))
	wanted := map[proto.Zxid]bool{first: true}
	for _, end := range ends {
		wanted[end] = true
	}
	for range 3 {
		wanted[first+proto.Zxid(rng.Int64N(int64(ends[len(ends)-1]-first)))] = true
	}
	var lastTime int64
	dumps, digests, times := map[proto.Zxid][]string{}, map[proto.Zxid]int64{}, map[proto.Zxid]int64{}
	oracle(t, dir, func(s *datatree.State, h proto.TxnHeader) {
		if wanted[h.Zxid] {
			dumps[h.Zxid], digests[h.Zxid] = ended(t, s, ends[len(ends)-1]), s.Digest()
		}
		times[h.Zxid], lastTime = h.Time, h.Time
	})
	require.Len(t, dumps, len(wanted))
	for z := range wanted {
		s, r := restoredState(t, b, Target{Zxid: z})
		require.Equal(t, digests[z], r.Digest, "%v", z)
		require.Equal(t, strings.Join(dumps[z], "\n"), strings.Join(dump(t, s), "\n"), "%v", z)
	}

	// By time: the last txn that was made no later.
	at := times[ends[2]]
	_, r := restoredState(t, b, Target{TimeMs: at})
	require.Equal(t, at, times[r.Zxid])
	require.Greater(t, times[r.Zxid+1], at)
	_, r = restoredState(t, b, Target{TimeMs: lastTime + 1000})
	require.Equal(t, ends[len(ends)-1], r.Zxid)
	require.ErrorIs(t, must.Err(b.Restore(destination(t.TempDir()), Target{TimeMs: 1})), rebuild.ErrNoTarget)
	require.ErrorIs(t, must.Err(b.Restore(destination(t.TempDir()), Target{Zxid: 1 << 40})), rebuild.ErrNoTarget)

	// A server runs on what was restored. Its history is another one, and goes on behind the old one in the same
	// backup.
	restored := t.TempDir()
	must.Do(b.Restore(destination(restored), Target{Zxid: ends[1]}))(t)
	require.ErrorIs(t, must.Err(b.Restore(destination(restored), Target{})), ErrNotEmpty)
	srv = serve(t, restored)
	c := wire.Open(t, srv.Addr().String(), wire.Options{TimeoutMs: 60_000})
	for i := range 5 {
		req := wire.Create(fmt.Sprintf("/after-%d", i), nil, wire.OpenACL, proto.ModePersistent)
		require.NoError(t, c.Send(req).Wait())
	}
	c.Close()
	srv.Stop()
	out := must.Do(b.Add(source(restored), Options{}))(t)
	require.Len(t, out.Warnings, 1)
	require.Equal(t, ends[len(ends)-1].Epoch()+1, out.Last.Epoch())
	require.Empty(t, b.Verify().Problems)
	for _, z := range []proto.Zxid{ends[1], ends[len(ends)-1], out.Last} {
		_, r = restoredState(t, b, Target{Zxid: z})
		require.Equal(t, out.Last.Epoch()+1, r.First.Epoch())
	}
}
