package wal

import (
	"errors"
	"flag"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
)

var (
	crashSeed = flag.Uint64("wal.seed", 1, "seed of the first schedule of the crash tests")
	crashRuns = flag.Int("wal.runs", 2, "schedules of each crash test")
)

// oracle knows what a replay may yield at this moment.
type oracle struct {
	mu struct {
		sync.Mutex
		from      proto.Zxid         // after the snapshot
		durable   proto.Zxid         // every txn up to here must be there
		attempted proto.Zxid         // no txn above may be there
		sizes     map[proto.Zxid]int // of the bodies
	}
}

func newOracle() *oracle {
	o := &oracle{}
	o.mu.from = 1
	o.mu.sizes = map[proto.Zxid]int{}
	return o
}

func (o *oracle) set(fn func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	fn()
}

// crash is a disk as a crash may leave it, and what a replay of it may yield.
type crash struct {
	disk    *vfs.Mem
	percent int
	op      vfs.Op
	want    *oracle
}

// crash takes the power from m.
func (o *oracle) crash(m *vfs.Mem, rng *rand.Rand, percent int, op vfs.Op) crash {
	o.mu.Lock()
	defer o.mu.Unlock()
	want := &oracle{}
	want.mu.from, want.mu.durable, want.mu.attempted = o.mu.from, o.mu.durable, o.mu.attempted
	want.mu.sizes = maps.Clone(o.mu.sizes)
	return crash{m.CrashClone(rng, vfs.CrashOptions{UnsyncedPercent: percent}), percent, op, want}
}

// check replays the disk. No crash makes the log refuse.
func (c crash) check(t testing.TB, prealloc int64) {
	t.Helper()
	want := &c.want.mu
	if c.percent == 100 {
		requireJavaReads(t, c.disk)
	}
	before := c.disk.String()
	o := Options{FS: c.disk, Dir: dir, PreallocSize: prealloc}
	_, verifyErr := Verify(o, want.from, nil)
	require.Equal(t, before, c.disk.String(), "Verify changes nothing")
	l, zxids, err := tryOpen(t, o, want.from)
	require.Equal(t, err, verifyErr, "Verify foretells Replay")
	require.NoError(t, err, "%v, %d %%\n%s", c.op, c.percent, before)
	last := l.LastZxid()
	require.Equal(t, span(want.from, last), zxids)
	require.GreaterOrEqual(t, last, want.durable, "%v lost a synced txn\n%s", c.op, before)
	require.LessOrEqual(t, last, want.attempted, "%v", c.op)

	// Records written from here on are durable too.
	add(t, l, last+1, last+3, 700)
	require.NoError(t, l.Sync())
	strict := c.disk.CrashClone(rand.New(rand.NewPCG(1, 1)), vfs.CrashOptions{})
	require.NoError(t, l.Close())
	require.Empty(t, c.disk.OpenFiles())
	_, zxids = openAndClose(t, strict, want.from)
	require.Equal(t, span(want.from, last+3), zxids)
}

// requireJavaReads checks that Apache ZooKeeper would load the directory.
func requireJavaReads(t testing.TB, m *vfs.Mem) {
	t.Helper()
	for _, name := range names(t, m) {
		require.True(t, strings.HasPrefix(name, filePrefix) || strings.HasPrefix(name, tempPrefix), name)
	}
	segments := must.Do(listSegments(&Options{FS: m, Dir: dir}))(t)
	prev := proto.Zxid(-1)
	for _, s := range segments {
		for i, z := range javaReads(t, readFile(t, m, s.name)) {
			require.True(t, i > 0 || z == s.first, "%s begins with %v", s.name, z)
			require.Greater(t, z, prev)
			prev = z
		}
	}
}

// schedule runs random operations on a log and keeps the oracle up to date. stop is called
// between operations and ends it.
type schedule struct {
	t   testing.TB
	l   *Log
	o   *oracle
	rng *rand.Rand
	try func(func() error) error // runs one operation
}

func (s *schedule) run(steps int) error {
	for range steps {
		if err := s.step(); err != nil {
			return err
		}
	}
	return nil
}

func (s *schedule) step() error {
	o, l := &s.o.mu, s.l
	last := l.LastZxid()
	switch n := s.rng.IntN(40); {
	case n < 20:
		first, size := last+1, s.rng.IntN(200)
		if s.rng.IntN(8) == 0 {
			size = s.rng.IntN(3000)
		}
		end := last + 1 + proto.Zxid(s.rng.IntN(4))
		s.o.set(func() {
			for z := first; z <= end; z++ {
				o.sizes[z] = size
			}
			o.attempted = end
		})
		b := batch(first, end, size)
		if err := s.try(func() error { return l.Append(b, first, end) }); err != nil {
			return err
		}
	case n < 33:
		if err := s.try(l.Sync); err != nil {
			return err
		}
		s.o.set(func() { o.durable = last })
	case n < 36:
		if err := s.try(l.Roll); err != nil {
			return err
		}
		s.o.set(func() { o.durable = last })
	case n < 38: // a snapshot, then purge
		if o.durable < o.from {
			return nil
		}
		z := o.from + proto.Zxid(s.rng.Int64N(int64(o.durable-o.from)+1))
		s.o.set(func() { o.from = z + 1 })
		if err := s.try(func() error { _, err := l.Purge(z); return err }); err != nil {
			return err
		}
	case n < 39:
		if last < o.from {
			return nil
		}
		z := o.from + proto.Zxid(s.rng.Int64N(int64(last-o.from)+1))
		s.o.set(func() { o.durable = min(o.durable, z) })
		if err := s.try(func() error { return l.Truncate(z) }); err != nil {
			return err
		}
		s.o.set(func() { o.durable, o.attempted = z, z })
	default: // a snapshot from the leader, ahead of the log or inside it; nothing is in flight then
		if err := s.try(l.Sync); err != nil {
			return err
		}
		s.o.set(func() { o.durable = last })
		z := last + 5
		if last >= o.from && s.rng.IntN(2) == 0 {
			z = o.from + proto.Zxid(s.rng.Int64N(int64(last-o.from)+1))
		}
		s.o.set(func() { o.from, o.durable, o.attempted = z+1, z, max(z, last) })
		if err := s.try(func() error { return l.Reset(z) }); err != nil {
			return err
		}
		s.o.set(func() { o.attempted = z })
	}
	return nil
}

func once(fn func() error) error { return fn() }

// TestEveryCrashPoint takes the power away before each operation on the disk, with several
// choices of what of the unsynced blocks and names is there, and replays.
func TestEveryCrashPoint(t *testing.T) {
	total := 0
	for run := range uint64(*crashRuns) {
		seed := *crashSeed + run
		for _, prealloc := range []int64{0, 3000} {
			rng := newRand(t, seed)
			m := newMem(t)
			l, _ := open(t, Options{FS: m, Dir: dir, PreallocSize: prealloc}, 1)
			o := newOracle()
			var crashes []crash
			var mu sync.Mutex
			clones := rand.New(rand.NewPCG(seed, 9))
			m.Hook(func(op vfs.Op) error {
				if op.Kind.Changes() {
					mu.Lock()
					defer mu.Unlock()
					for _, percent := range []int{0, 20, 50, 80, 100} {
						crashes = append(crashes, o.crash(m, clones, percent, op))
					}
				}
				return nil
			})
			s := &schedule{t: t, l: l, o: o, rng: rng, try: once}
			require.NoError(t, s.run(60))
			require.NoError(t, l.Close())
			m.Hook(nil)
			for _, c := range crashes {
				c.check(t, prealloc)
			}
			total += len(crashes)
		}
	}
	t.Logf("%d crashes", total)
}

// TestCrashDuringReplay takes the power away while a log is being repaired.
func TestCrashDuringReplay(t *testing.T) {
	for _, torn := range []int{0, 5, 30, 200} {
		m := newMem(t)
		writeFile(t, m, "log.1", logFile(batch(1, 3, 100)))
		writeFile(t, m, "log.4", logFile(batch(4, 6, 100), batch(7, 7, 500)[:torn], pad(1000)))
		writeFile(t, m, "log.7", logFile()[:torn%16])
		writeFile(t, m, tempNext, pad(100))
		o := newOracle()
		o.mu.durable, o.mu.attempted = 6, 6
		rng := newRand(t, uint64(torn))
		var crashes []crash
		m.Hook(func(op vfs.Op) error {
			for range 5 {
				crashes = append(crashes, o.crash(m, rng, 50, op))
			}
			return nil
		})
		_, zxids := openAndClose(t, m, 1)
		require.Equal(t, span(1, 6), zxids)
		m.Hook(nil)
		require.Equal(t, []string{"log.1", "log.4"}, names(t, m))
		for _, c := range crashes {
			c.check(t, 0)
		}
	}
}

// TestEveryFailure makes each operation on the disk fail once: with a full disk, with a full disk
// after a part of a write, or for good. Promised txns are kept, and after a full disk the same
// call succeeds.
func TestEveryFailure(t *testing.T) {
	errDisk := errors.New("disk")
	for name, failure := range map[string]func(op vfs.Op) error{
		"no space":       func(op vfs.Op) error { return vfs.ErrNoSpace },
		"no space, late": func(op vfs.Op) error { return &vfs.ShortWrite{N: op.Len * 2 / 3, Err: vfs.ErrNoSpace} },
		"broken":         func(op vfs.Op) error { return errDisk },
		"broken, late":   func(op vfs.Op) error { return &vfs.ShortWrite{N: op.Len / 2, Err: errDisk} },
	} {
		t.Run(name, func(t *testing.T) {
			for _, prealloc := range []int64{0, 3000} {
				for n := 0; ; n++ {
					if !failOnce(t, n, prealloc, failure) {
						require.Greater(t, n, 30)
						break
					}
				}
			}
		})
	}
}

// TestTooManyOpenFiles lets each opening of a file or directory fail once, because too many are open. Nothing is
// lost, and the same call succeeds when there is room, so a full table of files does not end a server.
func TestTooManyOpenFiles(t *testing.T) {
	for _, prealloc := range []int64{0, 3000} {
		for n, more := 0, true; more; n++ {
			m := newMem(t)
			l, _ := open(t, Options{FS: m, Dir: dir, PreallocSize: prealloc}, 1)
			var mu sync.Mutex
			count := 0
			more = false
			m.Hook(func(op vfs.Op) error {
				mu.Lock()
				defer mu.Unlock()
				if op.Kind != vfs.OpCreate && op.Kind != vfs.OpOpen && op.Kind != vfs.OpSyncDir {
					return nil
				}
				if count++; count-1 != n {
					return nil
				}
				more = true
				return vfs.ErrTooManyOpen
			})
			last := proto.Zxid(0)
			for range 12 {
				err := l.Append(batch(last+1, last+1, 777), last+1, last+1)
				if err != nil {
					require.ErrorIs(t, err, vfs.ErrTooManyOpen)
					require.NoError(t, l.Append(batch(last+1, last+1, 777), last+1, last+1), "opening %d", n)
				}
				last++
				require.NoError(t, l.Sync())
				if last%4 == 0 {
					require.NoError(t, l.Roll())
				}
			}
			require.NoError(t, l.Close())
			m.Hook(nil)
			_, zxids := openAndClose(t, m, 1)
			require.Equal(t, span(1, last), zxids, "opening %d", n)
		}
	}
}

// failOnce runs a schedule whose operation n on the disk fails. It returns false if there were not
// so many.
func failOnce(t *testing.T, n int, prealloc int64, failure func(op vfs.Op) error) bool {
	seed := *crashSeed + 2
	rng := rand.New(rand.NewPCG(seed, uint64(prealloc)))
	m := newMem(t)
	l, _ := open(t, Options{FS: m, Dir: dir, PreallocSize: prealloc}, 1)
	o := newOracle()
	var mu sync.Mutex
	count, failed, kind := 0, false, vfs.OpKind("")
	m.Hook(func(op vfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if !op.Kind.Changes() {
			return nil
		}
		if count++; count-1 != n {
			return nil
		}
		failed, kind = true, op.Kind
		return failure(op)
	})
	s := &schedule{t: t, l: l, o: o, rng: rng, try: func(fn func() error) error {
		err := fn()
		for range 3 {
			if !errors.Is(err, vfs.ErrNoSpace) || l.failed.Load() != nil {
				break
			}
			requireJavaReads(t, m)
			err = fn()
		}
		return err
	}}
	err := s.run(40)
	if p := l.failed.Load(); p != nil {
		require.NotErrorIs(t, *p, vfs.ErrNoSpace, "the caller must not wait for room, operation %d", n)
	}
	// No call has met it: zeros were being synced behind the last records.
	if p := l.failed.Load(); err == nil && p != nil {
		mu.Lock()
		require.Equal(t, vfs.OpSync, kind, "seed %d, operation %d: %v", seed, n, *p)
		mu.Unlock()
	}
	closeErr := l.Close()
	m.Hook(nil)
	require.Empty(t, m.OpenFiles())
	if err == nil && closeErr == nil {
		o.set(func() { o.mu.durable = o.mu.attempted })
	}
	for _, percent := range []int{0, 100} {
		c := o.crash(m, rng, percent, vfs.Op{N: n})
		if err != nil || closeErr != nil {
			c.percent = 50 // a failed Sync leaves some blocks and not others, at any percentage
		}
		c.check(t, prealloc)
	}
	return failed
}

// TestFullDisk fills the disk, finds that nothing was promised, makes room and goes on.
func TestFullDisk(t *testing.T) {
	for _, prealloc := range []int64{0, 2000, 64 << 10} {
		m := newMem(t)
		l, _ := open(t, Options{FS: m, Dir: dir, PreallocSize: prealloc}, 1)
		m.SetCapacity(8 << 10)
		last := proto.Zxid(0)
		for {
			err := l.Append(batch(last+1, last+1, 777), last+1, last+1)
			if err != nil {
				require.ErrorIs(t, err, vfs.ErrNoSpace)
				break
			}
			last++
			require.NoError(t, l.Sync())
		}
		require.Greater(t, last, proto.Zxid(3))
		require.Equal(t, last, l.LastZxid())
		requireJavaReads(t, m)
		require.ErrorIs(t, l.Append(batch(last+1, last+1, 777), last+1, last+1), vfs.ErrNoSpace, "again")
		strict := m.CrashClone(rand.New(rand.NewPCG(1, 1)), vfs.CrashOptions{})
		_, zxids := openAndClose(t, strict, 1)
		require.Equal(t, span(1, last), zxids)

		m.SetCapacity(0)
		add(t, l, last+1, last+1, 777)
		require.NoError(t, l.Close())
		_, zxids = openAndClose(t, m, 1)
		require.Equal(t, span(1, last+1), zxids)
	}
}
