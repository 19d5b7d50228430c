package damage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/cmd/warren/doctor"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
)

const (
	servers = 3
	damaged = 3 // the server that an election between equals prefers
	phases  = 4 // a snapshot ends each but the last; one more is written in the next epoch
	znodes  = 100
	patient = time.Minute
)

// bench is an ensemble, and copies of its data directories to begin each case with.
type bench struct {
	e       *embed.Ensemble
	root    string // the directories of the running ensemble
	base    string // as they were when all writes were acknowledged
	earlier string // as they were a phase before
	snaps   []string
	logs    []string
	digest  int64
	last    proto.Zxid
}

// server is the folder of a server below one of the roots.
func server(root string, id int) string { return filepath.Join(root, fmt.Sprintf("server-%d", id)) }

// version2 is where the files of a server are.
func version2(root string, id int) string { return filepath.Join(server(root, id), "version-2") }

// newBench makes an ensemble with several snapshots, log files and epochs.
func newBench(t *testing.T) *bench {
	t.Helper()
	dir := t.TempDir()
	b := &bench{root: filepath.Join(dir, "live"), base: filepath.Join(dir, "base"),
		earlier: filepath.Join(dir, "earlier")}
	logger := zap.NewNop()
	if *flagLog {
		logger, _ = zap.NewDevelopment()
	}
	b.e = embed.Start(t, embed.Options{Servers: servers, Log: logger, Dir: b.root, TickTime: 50 * time.Millisecond,
		Configure: func(_ int, c *config.Config) {
			c.SnapSizeLimitKB, c.PreAllocSizeKB, c.Autopurge.PurgeInterval = 64, 64, 0
		}})
	// One session: what it logs at its end is the last txn.
	c := must.Do(client.Dial(b.ctx(t), b.e.ConnectString()))(t)
	for phase := range phases - 1 {
		b.write(t, c, phase)
		b.snapshot(t, c, phase)
	}
	b.write(t, c, phases-1)
	b.stop()
	b.copy(t, b.earlier)
	b.start(t)
	b.write(t, c, phases)
	require.NoError(t, c.Close())
	require.NoError(t, b.e.WaitEqual(b.ctx(t)))
	st := b.e.Server(damaged).Status()
	b.digest = st.Digest
	b.stop()
	b.copy(t, b.base)
	b.look(t)
	return b
}

func (b *bench) ctx(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patient)
	t.Cleanup(cancel)
	return ctx
}

// write creates znodes.
func (b *bench) write(t *testing.T, c *client.Client, phase int) {
	t.Helper()
	ctx := b.ctx(t)
	dir := fmt.Sprintf("/phase-%d", phase)
	require.NoError(t, client.Retry(ctx, func(ctx context.Context) error {
		_, err := c.Create(ctx, dir, nil, client.Persistent)
		return err
	}))
	var txn client.Txn
	for i := range znodes {
		txn.Create(fmt.Sprintf("%s/n%d", dir, i), []byte{byte(phase), byte(i)}, client.Persistent)
		if i%10 == 9 {
			must.Do(c.Commit(ctx, &txn))(t)
			txn = client.Txn{}
		}
	}
}

// snapshot creates a large znode, after which every server writes a snapshot, which is exact.
func (b *bench) snapshot(t *testing.T, c *client.Client, phase int) {
	t.Helper()
	must.Do(c.Create(b.ctx(t), fmt.Sprintf("/large-%d", phase), make([]byte, 80<<10), client.Persistent))(t)
	for id := 1; id <= servers; id++ {
		require.Eventually(t, func() bool { return len(b.snapshots(t, b.root, id)) == phase+2 }, patient,
			5*time.Millisecond, "server %d writes a snapshot", id)
	}
}

// snapshots are the names of the snapshots of a server, the oldest first.
func (b *bench) snapshots(t *testing.T, root string, id int) (names []string) {
	all := must.Do(snapshot.List(vfs.OS(), version2(root, id)))(t)
	for _, m := range slices.Backward(all) {
		names = append(names, m.Name)
	}
	return names
}

func (b *bench) stop() {
	var wg sync.WaitGroup
	for id := 1; id <= servers; id++ {
		wg.Go(func() { b.e.Kill(id) })
	}
	wg.Wait()
}

func (b *bench) start(t *testing.T) {
	t.Helper()
	for id := 1; id <= servers; id++ {
		require.NoError(t, b.e.Start(id))
	}
	require.NoError(t, b.e.WaitServing(b.ctx(t)))
}

// copy copies the directories of the ensemble that is down.
func (b *bench) copy(t *testing.T, to string) { require.NoError(t, os.CopyFS(to, os.DirFS(b.root))) }

// look finds the files of the server that will be damaged.
func (b *bench) look(t *testing.T) {
	var err error
	b.snaps = b.snapshots(t, b.base, damaged)
	b.logs = must.Do(wal.Names(vfs.OS(), version2(b.base, damaged)))(t)
	require.Len(t, b.snaps, phases)
	t.Logf("snapshots %v, logs %v", b.snaps, b.logs)
	_, err = wal.Verify(wal.Options{FS: vfs.OS(), Dir: version2(b.base, damaged)}, 1, func(r *wal.Record) error {
		b.last = r.Zxid
		return nil
	})
	require.NoError(t, err)
}

// restore puts the base in place of the directories.
func (b *bench) restore(t *testing.T) {
	require.NoError(t, os.RemoveAll(b.root))
	require.NoError(t, os.CopyFS(b.root, os.DirFS(b.base)))
}

// run damages the files of a server and starts all servers. It returns what became of the damaged one.
func (b *bench) run(t *testing.T, c *damage) string {
	t.Helper()
	b.restore(t)
	c.do(t, b, version2(b.root, damaged))
	before := b.names(t)
	critical := b.critical(t)
	defer b.stop()
	var wg sync.WaitGroup
	failed := make([]error, servers+1)
	for id := 1; id <= servers; id++ {
		wg.Go(func() { failed[id] = b.e.Start(id) })
	}
	wg.Wait()
	require.NoError(t, failed[1], "a server that was not damaged")
	require.NoError(t, failed[2], "a server that was not damaged")
	ids := []int{1, 2}
	outcome := "serves"
	if err := failed[damaged]; err != nil {
		outcome = "refuses: " + b.reason(err)
	} else {
		ids = append(ids, damaged)
	}
	require.NoError(t, b.e.WaitServing(b.ctx(t), 1, 2))
	b.judge(t, ids)
	b.writes(t)
	b.judge(t, ids)
	if aside := b.changed(t, before); aside != "" {
		outcome += ", with " + aside
	}
	require.Equal(t, failed[damaged] != nil, critical != "", "%s; warren doctor finds %q", outcome, critical)
	return outcome
}

// critical is the first critical finding of warren doctor about the damaged directory, "" if there is none.
func (b *bench) critical(t *testing.T) string {
	dir := filepath.Dir(version2(b.root, damaged))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "myid"), []byte(strconv.Itoa(damaged)), 0o600))
	look := doctor.Directory{FS: vfs.OS(), DataDir: dir, LogDir: dir, Member: true}
	for _, f := range look.Check() {
		if f.Severity == doctor.Critical {
			return f.Check + ": " + f.What
		}
	}
	return ""
}

// reason is why a server refuses to start, without the advice to operators.
func (b *bench) reason(err error) string {
	text := strings.ReplaceAll(err.Error(), version2(b.root, damaged)+"/", "")
	for _, advice := range []string{";", ": if ", ", and what it held", "\n"} {
		text, _, _ = strings.Cut(text, advice)
	}
	_, text, _ = strings.Cut(text, "version-2: ")
	return b.words(text)
}

// judge waits until servers are equal, and compares their tree with the one that was acknowledged.
func (b *bench) judge(t *testing.T, ids []int) {
	t.Helper()
	require.NoError(t, b.e.WaitEqual(b.ctx(t), ids...))
	for _, id := range ids {
		require.Equal(t, b.digest, b.e.Server(id).Status().Digest, "server %d shows another tree", id)
	}
}

// writes changes something that leaves the digest as it is: a txn that fails is logged.
func (b *bench) writes(t *testing.T) {
	t.Helper()
	ctx := b.ctx(t)
	c, err := client.Dial(ctx, b.e.ConnectString(1, 2))
	require.NoError(t, err)
	defer c.Close()
	for again := true; again; { // the damaged server may come late, and the leader change
		_, err = c.Create(ctx, "/phase-0", nil, client.Persistent)
		again = errors.Is(err, client.ErrConnectionLoss)
	}
	require.ErrorIs(t, err, client.ErrNodeExists)
}

// names are the files of the damaged server.
func (b *bench) names(t *testing.T) map[string]bool {
	entries := must.ReadDir(t, version2(b.root, damaged))
	all := map[string]bool{}
	for _, e := range entries {
		all[e.Name()] = true
	}
	return all
}

// changed says what was put aside.
func (b *bench) changed(t *testing.T, before map[string]bool) string {
	now := b.names(t)
	var words []string
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if !before[name] && (strings.HasPrefix(name, "aside.") || strings.HasSuffix(name, ".damaged")) {
			words = append(words, b.words(name))
		}
	}
	return strings.Join(words, ", ")
}
