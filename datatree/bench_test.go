package datatree

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
)

var benchNodes = flag.Int("datatree.nodes", 1_000_000,
	"znodes in BenchmarkMemory and the benchmarks of loading and walking")

const benchParents = 300

// benchPath appends the path of znode i of the benchmarks: 40 bytes, under one of benchParents
// parents.
func benchPath(b []byte, i int) []byte {
	return fmt.Appendf(b, "/bench/p%03d/node-%023d", i%benchParents, i)
}

// newBenchState returns a state with n znodes of 100 bytes of data.
func newBenchState(tb testing.TB, n int) *State {
	s := NewState(Config{})
	tx := newTxns(tb, s)
	tx.create("/bench", nil)
	for i := range benchParents {
		tx.create(fmt.Sprintf("/bench/p%03d", i), nil)
	}
	data := make([]byte, 100)
	var path []byte
	for i := range n {
		path = benchPath(path[:0], i)
		tx.create(string(path), data)
	}
	return s
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkMemory reports what a znode with a path of 40 and data of 100 bytes takes, everything
// included.
func BenchmarkMemory(b *testing.B) {
	for b.Loop() {
		before := heap()
		s := newBenchState(b, *benchNodes)
		b.ReportMetric(float64(heap()-before)/float64(s.NumNodes()), "B/znode")
		b.ReportMetric(float64(s.blocks.bytes())/float64(s.NumNodes()), "block-B/znode")
		b.ReportMetric(float64(s.table.bytes())/float64(s.NumNodes()), "table-B/znode")
		b.ReportMetric(float64(s.records.bytes(recordSize))/float64(s.NumNodes()), "record-B/znode")
		start := time.Now()
		runtime.GC()
		b.ReportMetric(float64(time.Since(start).Microseconds()), "gc-us")
		runtime.KeepAlive(s)
	}
}

func BenchmarkLookup(b *testing.B) {
	for _, n := range []int{1000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := newBenchState(b, n)
			paths := make([][]byte, 1<<14)
			for i := range paths {
				paths[i] = benchPath(nil, i*7919%n)
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if s.Lookup(paths[i&(len(paths)-1)]) == 0 {
					b.Fatal("absent")
				}
				i++
			}
		})
	}
}

func BenchmarkReadData(b *testing.B) {
	s := newBenchState(b, 1000)
	var out []byte
	path := benchPath(nil, 17)
	b.ReportAllocs()
	for b.Loop() {
		out, _ = s.ReadData(out[:0], path, nil)
	}
}

func BenchmarkApplySetData(b *testing.B) {
	for _, n := range []int{1000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := newBenchState(b, n)
			payloads := make([][]byte, 1<<14)
			for i := range payloads {
				payloads[i] = appendTxn(nil, proto.OpSetData, 1<<40, &proto.SetDataTxn{
					Path: benchPath(nil, i*7919%n), Data: make([]byte, 128), Version: int32(i),
				})
			}
			var reply []byte
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				var err error
				reply, _, err = s.Apply(payloads[i&(len(payloads)-1)], nil, reply[:0], true)
				if err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}

func BenchmarkApplyCreate(b *testing.B) {
	s := newBenchState(b, 0)
	var payload, reply, path []byte
	create := proto.CreateTxn{Data: make([]byte, 100), Acl: openList}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		path = benchPath(path[:0], i)
		create.Path, create.ParentCVersion = path, int32(i/benchParents+1)
		payload = appendTxn(payload[:0], proto.OpCreate, proto.Zxid(1<<40+i), &create)
		reply, _, _ = s.Apply(payload, nil, reply[:0], true)
		i++
	}
	require.Equal(b, i+benchParents+5, s.NumNodes())
}

func BenchmarkReadChildren(b *testing.B) {
	for _, order := range []string{"sorted", "shuffled"} {
		for _, n := range []int{10, 1000, 10000} {
			b.Run(fmt.Sprintf("%s/%d", order, n), func(b *testing.B) {
				s := NewState(Config{})
				tx := newTxns(b, s)
				tx.create("/p", nil)
				for i := range n {
					if order == "shuffled" {
						i = i * 7919 % n
					}
					tx.create(fmt.Sprintf("/p/member-%010d", i), nil)
				}
				var out []byte
				b.ReportAllocs()
				for b.Loop() {
					out, _ = s.ReadChildren(out[:0], []byte("/p"), nil)
				}
			})
		}
	}
}

// BenchmarkSnapshot reports how fast a walker writes and a loader reads.
func BenchmarkSnapshot(b *testing.B) {
	s := newBenchState(b, *benchNodes)
	var body []byte
	b.Run("walk", func(b *testing.B) {
		start := cpuTime()
		buf := make([]byte, 0, 2<<20)
		for b.Loop() {
			w := s.NewWalker()
			for done := false; !done; {
				buf, done = w.Next(buf[:0], 1<<20)
			}
			w.Close()
		}
		b.ReportMetric(float64(b.N)*float64(s.NumNodes())/b.Elapsed().Seconds()/1e6, "Mznodes/s")
		reportCPU(b, start, b.N*s.NumNodes())
	})
	body = walk(s, 1<<20)
	b.Run("load", func(b *testing.B) {
		start := cpuTime()
		for b.Loop() {
			if _, _, err := loadBody(body, 1); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N)*float64(s.NumNodes())/b.Elapsed().Seconds()/1e6, "Mznodes/s")
		reportCPU(b, start, b.N*s.NumNodes())
	})
}

// BenchmarkWorstPause reports the processor time of the longest single create while the tree grows to
// -datatree.nodes, all under one parent: splits of the table and growth of slabs included.
func BenchmarkWorstPause(b *testing.B) {
	for b.Loop() {
		s := NewState(Config{})
		newTxns(b, s).create("/p", nil)
		var payload, path []byte
		create := proto.CreateTxn{Data: make([]byte, 16), Acl: openList}
		var worst time.Duration
		runtime.LockOSThread()
		for i := range *benchNodes {
			path = fmt.Appendf(path[:0], "/p/%010d", i)
			create.Path, create.ParentCVersion = path, int32(i+1)
			payload = appendTxn(payload[:0], proto.OpCreate, proto.Zxid(1<<40+i), &create)
			start := threadTime()
			s.Apply(payload, nil, nil, false)
			worst = max(worst, threadTime()-start)
		}
		b.ReportMetric(float64(worst.Microseconds()), "worst-us")
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(*benchNodes), "ns/create")
	}
}

// BenchmarkCloseSession reports how long the end of a session with -datatree.nodes ephemerals keeps everybody out of
// the tree, in processor time: as one Apply, and by an Ending, whose longest hold is hold-us. Prepare lets readers go
// on. The txn lists as many znodes as a leader lists, and the others are found when it is applied. With among=true
// each of them has a sibling of another session on both sides, which is the worst that their parents can be.
func BenchmarkCloseSession(b *testing.B) {
	for _, parents := range []int{1, 1000} {
		for _, among := range []bool{false, true} {
			name := fmt.Sprintf("parents=%d/among=%v", parents, among)
			b.Run(name+"/at-once", func(b *testing.B) {
				runtime.LockOSThread()
				var hold time.Duration
				for b.Loop() {
					b.StopTimer()
					s, payload := newBenchEnd(b, parents, among)
					b.StartTimer()
					start := threadTime()
					_, _, err := s.Apply(payload, nil, nil, false)
					hold = max(hold, threadTime()-start)
					require.NoError(b, err)
				}
				b.ReportMetric(float64(hold.Microseconds()), "hold-us")
			})
			b.Run(name+"/in-steps", func(b *testing.B) {
				runtime.LockOSThread()
				var prepare, hold, reap time.Duration
				for b.Loop() {
					b.StopTimer()
					s, payload := newBenchEnd(b, parents, among)
					b.StartTimer()
					start := threadTime()
					e := s.NewEnding(payload, 1)
					require.True(b, e.Prepare(nobody{}, func() {}))
					prepare += threadTime() - start
					start = threadTime()
					e.Apply(nil)
					hold = max(hold, threadTime()-start)
					for more := true; more; {
						start = threadTime()
						more = s.Reap(endingSlice)
						took := threadTime() - start
						hold, reap = max(hold, took), reap+took
					}
				}
				b.ReportMetric(float64(hold.Microseconds()), "hold-us")
				b.ReportMetric(float64(prepare.Microseconds())/float64(b.N), "prepare-us")
				b.ReportMetric(float64(reap.Microseconds())/float64(b.N), "reap-us")
			})
		}
	}
}

// newBenchEnd returns a State, and a txn that ends a session of -datatree.nodes ephemerals.
func newBenchEnd(b *testing.B, parents int, among bool) (*State, []byte) {
	const listed = 10_000
	s := NewState(Config{})
	tx := newTxns(b, s)
	for i := range parents {
		tx.create(fmt.Sprintf("/p%03d", i), nil)
	}
	create := proto.CreateTxn{Acl: openList, Ephemeral: true}
	var end proto.CloseSessionTxn
	add := func(session proto.SessionID, parent int, name string, i int) {
		tx.session = session
		create.Path = fmt.Appendf(create.Path[:0], "/p%03d/%s-%010d", parent, name, i)
		create.ParentCVersion++
		require.Equal(b, proto.OK, tx.apply(proto.OpCreate, &create))
	}
	for i := range *benchNodes {
		add(7, i%parents, "member", i)
		if i < listed {
			end.Paths2Delete = append(end.Paths2Delete, slices.Clone(create.Path))
		}
		if among {
			add(8, i%parents, "other", i)
		}
	}
	runtime.GC()
	return s, appendTxn(nil, proto.OpCloseSession, tx.zxid+1, &end)
}
