package backup

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
)

// traffic writes to an ensemble and outlasts its changes. committed is a zxid that was acknowledged.
type traffic struct {
	stop      context.CancelFunc
	wg        sync.WaitGroup
	committed atomic.Int64
	writes    atomic.Int64
}

func startTraffic(t *testing.T, connect string, seed uint64) *traffic {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &traffic{stop: cancel}
	for worker := range 3 {
		w.wg.Go(func() {
			c, err := client.Dial(ctx, connect)
			if err != nil {
				return
			}
			defer c.Close()
			rng := rand.New(rand.NewPCG(seed, uint64(worker)))
			for ctx.Err() == nil {
				path := fmt.Sprintf("/%d-%d", worker, rng.IntN(50))
				if st, err := c.Set(ctx, path, []byte(fmt.Sprint(rng.Uint64())), -1); err == nil {
					w.committed.Store(max(w.committed.Load(), int64(st.Mzxid)))
					w.writes.Add(1)
				} else {
					_, _ = c.Create(ctx, path, nil, client.Persistent) // it may be there, and a leader may be missing
				}
			}
		})
	}
	return w
}

// until waits for so many more acknowledged writes.
func (w *traffic) until(t *testing.T, more int64) {
	t.Helper()
	want := w.writes.Load() + more
	require.Eventually(t, func() bool { return w.writes.Load() >= want }, time.Minute, time.Millisecond)
}

// TestBackupOfAnEnsemble takes a chain of backups from a follower while clients write and the leader is killed and
// comes back. Every moment of it, by zxid and by time, is the tree that the log of a server gives that was neither
// asked nor killed.
func TestBackupOfAnEnsemble(t *testing.T) {
	const seed = 7
	t.Logf("seed %d", seed)
	dir, backupDir := t.TempDir(), t.TempDir()
	e := embed.Start(t, embed.Options{Servers: 3, Dir: dir, Seed: seed, Configure: func(_ int, c *config.Config) {
		c.SnapCount, c.PreAllocSizeKB, c.Autopurge.PurgeInterval = 200, 64, 0
		c.DiskWatermark.Bytes = 0
	}})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	leader := must.Do(e.Leader(ctx))(t)
	asked, witness := leader%3+1, (leader+1)%3+1
	dataDir := func(id int) string { return filepath.Join(dir, fmt.Sprintf("server-%d", id)) }

	w := startTraffic(t, e.ConnectString(), seed)
	add := func(full bool) proto.Zxid {
		b := opened(t, vfs.OS(), backupDir)
		out := must.Do(b.Add(source(dataDir(asked)), Options{Full: full, Limit: proto.Zxid(w.committed.Load())}))(t)
		require.Empty(t, out.Warnings)
		return out.Last
	}
	var ends []proto.Zxid
	w.until(t, 300)
	ends = append(ends, add(false))
	e.Kill(leader)
	for range 20 { // while there is no leader, and while there is a new one
		ends = append(ends, add(false))
	}
	w.until(t, 300)
	ends = append(ends, add(false))
	require.NoError(t, e.Restart(leader))
	w.until(t, 100)
	ends = append(ends, add(false))
	w.stop()
	w.wg.Wait()
	require.NoError(t, e.WaitEqual(ctx))
	for id := 1; id <= 3; id++ {
		e.Stop(id)
	}
	last := ends[len(ends)-1]
	require.Greater(t, last.Epoch(), ends[0].Epoch(), "the leader has changed")

	b := opened(t, vfs.OS(), backupDir)
	verdict := b.Verify()
	require.Empty(t, verdict.Problems)
	require.Equal(t, last, verdict.Ranges[len(verdict.Ranges)-1].To)
	wanted := map[proto.Zxid]bool{}
	for _, end := range ends {
		wanted[end] = true
	}
	dumps, digests, times := map[proto.Zxid]string{}, map[proto.Zxid]int64{}, map[proto.Zxid]int64{}
	oracle(t, dataDir(witness), func(s *datatree.State, h proto.TxnHeader) {
		times[h.Zxid] = h.Time
		if wanted[h.Zxid] {
			dumps[h.Zxid], digests[h.Zxid] = strings.Join(ended(t, s, last), "\n"), s.Digest()
		}
	})
	require.Len(t, dumps, len(wanted))
	for z := range wanted {
		s, r := restoredState(t, b, Target{Zxid: z})
		require.Equal(t, digests[z], r.Digest, "%v", z)
		require.Equal(t, dumps[z], strings.Join(dump(t, s), "\n"), "%v", z)
	}
	_, r := restoredState(t, b, Target{TimeMs: times[ends[len(ends)-2]]})
	require.LessOrEqual(t, times[r.Zxid], times[ends[len(ends)-2]])
	require.GreaterOrEqual(t, r.Zxid, ends[len(ends)-2])

	// What a fault of the disk has changed is not restored.
	file := filepath.Join(backupDir, verdict.Ranges[0].Snapshot)
	flip(t, file)
	require.ErrorContains(t, must.Err(b.Restore(destination(t.TempDir()), Target{})), verdict.Ranges[0].Snapshot)
}

// flip changes a bit in the middle of a file.
func flip(t *testing.T, file string) {
	t.Helper()
	b := must.ReadFile(t, file)
	b[len(b)/2] ^= 4
	require.NoError(t, os.WriteFile(file, b, 0o644))
}
