package bench

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
)

func TestParseMix(t *testing.T) {
	m := must.Do(parseMix("get=90, set=10,multi=0"))(t)
	require.Equal(t, 90, m[Get])
	require.Equal(t, 10, m[Set])
	require.Equal(t, "get=90,set=10", m.String())
	for text, want := range map[string]string{
		"":              `mix "": want kind=weight`,
		"get":           `mix "get": want kind=weight`,
		"put=1":         `unknown kind "put": use one of get, set, create,`,
		"get=x":         `weight "x" of get is not a number from 0 to 1000000`,
		"get=-1":        `weight "-1" of get`,
		"get=1000001":   `weight "1000001" of get`,
		"get=0":         `mix "get=0" has no weight`,
		"get=0,set=0":   `has no weight`,
		"get=99999999,": `weight "99999999"`,
	} {
		require.ErrorContains(t, must.Err(parseMix(text)), want, text)
	}
}

func TestChooserKeepsTheWeights(t *testing.T) {
	m := mustMix("get=38,create=34,set=9,multi=11,children=4")
	c := newChooser(m)
	require.Len(t, c, chooserSlots)
	var counts [kindCount]int
	for i := range uint64(chooserSlots) {
		counts[c.choose(i)]++
	}
	for k, n := range counts {
		require.InDelta(t, float64(m[k])/96*chooserSlots, n, 1, Kind(k).String())
	}
}

func TestSize(t *testing.T) {
	var s Size
	require.NoError(t, s.Set("0-162"))
	require.Equal(t, Size{0, 162}, s)
	require.Equal(t, "0-162", s.String())
	require.NoError(t, s.Set("128"))
	require.Equal(t, "128", s.String())
	for _, bad := range []string{"", "x", "-1", "5-4", "1-x", "1000001", "1-2-3"} {
		require.ErrorContains(t, s.Set(bad), "bench: size", bad)
	}
	seen := map[int]bool{}
	for i := range uint64(1000) {
		n := Size{3, 5}.pick(i * 77)
		require.True(t, n >= 3 && n <= 5)
		seen[n] = true
	}
	require.Len(t, seen, 3)
}

func TestParamsValidate(t *testing.T) {
	for _, l := range loads {
		p := DefaultsOf(l)
		require.NoError(t, p.Validate(), l.Name())
	}
	for want, change := range map[string]func(*Params){
		"--connections 0:":       func(p *Params) { p.Connections = 0 },
		"--connections 1000001:": func(p *Params) { p.Connections = 1_000_001 },
		"--outstanding -1:":      func(p *Params) { p.Outstanding = -1 },
		"--znodes 0:":            func(p *Params) { p.Znodes = 0 },
		"--rate -1:":             func(p *Params) { p.Rate = -1 },
		"--duration 0s: it must": func(p *Params) { p.Duration = 0 },
		"--warmup -1ns: it must": func(p *Params) { p.Warmup = -1 },
		"--slice 0s: it must":    func(p *Params) { p.Slice = 0 },
		"--step 101:":            func(p *Params) { p.Step = 101 },
		"--watches -1:":          func(p *Params) { p.Watches = -1 },
		"--timeout 1µs: it must": func(p *Params) { p.Timeout = time.Microsecond },
		"--path-length -1:":      func(p *Params) { p.PathLength = -1 },
		`--source "x"`:           func(p *Params) { p.Sources = []string{"x"} },
	} {
		p := DefaultParams()
		change(&p)
		require.ErrorContains(t, p.Validate(), want)
	}
}

func TestTree(t *testing.T) {
	tree := must.Do(newTree("/r", 1000, 0))(t)
	require.Equal(t, "/r/d0/000", string(tree.path(0)))
	require.Equal(t, "/r/d9/999", string(tree.path(999)))
	require.Equal(t, "/r/d3", string(tree.dir(3)))
	require.Equal(t, 10, tree.dirs())
	require.Equal(t, "/r/c000012", string(tree.home(12)))

	tree = must.Do(newTree("/warren-bench-12345678", 1_000_000, 40))(t)
	require.Equal(t, "/warren-bench-12345678/d1234/00000123456", string(tree.path(123456)))
	require.Len(t, tree.path(999_999), 40)

	require.ErrorContains(t, must.Err(newTree("/r", 1000, 8)), "--path-length is 8, 1000 znodes need at least 9")
}

func TestInflightIsAQueue(t *testing.T) {
	const seed = 7
	r := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	var q inflight
	var want []flight
	for size := 1; size <= 100; size += 33 {
		q.grow(size)
		for range 1000 {
			if len(want) < size && r.IntN(2) == 0 {
				f := flight{r.Int64(), Kind(r.IntN(int(kindCount)))}
				q.push(f)
				want = append(want, f)
			} else if len(want) > 0 {
				require.Equal(t, want[0], q.pop())
				want = want[1:]
			}
			require.Equal(t, len(want), q.len())
		}
	}
	require.Panics(t, func() { new(inflight).pop() })
	require.Panics(t, func() { new(inflight).push(flight{}) })
}

func TestFrameReader(t *testing.T) {
	var stream []byte
	var want []string
	for i := range 200 {
		text := strings.Repeat("x", i*i%700)
		start := len(stream)
		stream = append(beginFrame(stream), text...)
		endFrame(stream, start)
		want = append(want, text)
	}
	for name, src := range map[string]io.Reader{"whole": bytes.NewReader(stream),
		"bytewise": iotest.OneByteReader(bytes.NewReader(stream)),
		"halves":   iotest.HalfReader(bytes.NewReader(stream))} {
		f := newFrameReader(src)
		for i, w := range want {
			got, err := f.read()
			require.NoError(t, err, name)
			require.Equal(t, w, string(got), "%s %d", name, i)
		}
		require.ErrorIs(t, must.Err(f.read()), io.EOF)
	}
	for _, hostile := range [][]byte{{0xff, 0xff, 0xff, 0xff}, {0x7f, 0xff, 0xff, 0xff}} {
		f := newFrameReader(bytes.NewReader(hostile))
		require.ErrorContains(t, must.Err(f.read()), "bench: a reply claims")
	}
	// A large length alone allocates nothing.
	f := newFrameReader(bytes.NewReader([]byte{0x10, 0, 0, 0, 1, 2, 3}))
	require.ErrorIs(t, must.Err(f.read()), io.EOF)
	require.LessOrEqual(t, len(f.buf), initialBuffer)
}

// FuzzFrameReader splits any bytes, in reads of any size: the frames and what is left are the
// input, and the buffer stays within twice of it.
func FuzzFrameReader(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 'a', 0, 0, 0, 0}, uint8(1))
	f.Add(append([]byte{0, 0, 1, 0}, make([]byte, 300)...), uint8(7))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff}, uint8(3))
	f.Fuzz(func(t *testing.T, in []byte, chunk uint8) {
		rd := newFrameReader(&chunked{in, int(chunk) + 1})
		var seen int
		for {
			frame, err := rd.read()
			if err != nil {
				break
			}
			if string(frame) != string(in[seen+4:seen+4+len(frame)]) {
				t.Fatalf("frame at %d differs", seen)
			}
			seen += 4 + len(frame)
		}
		if len(rd.buf) > max(initialBuffer, 2*len(in)) {
			t.Fatalf("%d bytes of buffer for %d of input", len(rd.buf), len(in))
		}
	})
}

// chunked returns at most n bytes a Read.
type chunked struct {
	b []byte
	n int
}

func (c *chunked) Read(p []byte) (int, error) {
	if len(c.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), c.n)], c.b)
	c.b = c.b[n:]
	return n, nil
}

// TestDescribeIsWhatOneWouldType: the parameters of a report are flags that the load has.
func TestDescribeIsWhatOneWouldType(t *testing.T) {
	l := must.Do(Find("fill"))(t)
	p := DefaultsOf(l)
	p.Sources, p.Keep = []string{"127.0.0.1", "127.0.0.2"}, true
	require.Equal(t, "--connections=4 --keep=true --outstanding=200 --path-length=0 --rounds=10 --seed=1 --size=100 "+
		"--source=127.0.0.1,127.0.0.2 --timeout=30s --znodes=100000", p.describe(l))
}

func TestReadProcess(t *testing.T) {
	dir := t.TempDir()
	for pid, name := range map[int]string{7: "java", 8: "a b) (c"} {
		p := filepath.Join(dir, fmt.Sprint(pid))
		require.NoError(t, os.Mkdir(p, 0o755))
		stat := fmt.Sprintf("%d (%s) S 1 7 7 0 -1 4194560 100 0 0 0 250 150 9 9 20 0 30 0 100 1 1\n", pid, name)
		require.NoError(t, os.WriteFile(filepath.Join(p, "stat"), []byte(stat), 0o644))
		status := "Name:\tx\nVmHWM:\t 9999 kB\nVmRSS:\t 2048 kB\nThreads:\t30\n"
		require.NoError(t, os.WriteFile(filepath.Join(p, "status"), []byte(status), 0o644))
	}
	u := must.Do(readProcesses(dir, []int{7, 8}))(t)
	require.Equal(t, processUsage{cpu: 8 * time.Second, rss: 4 << 20}, u)
	_, err := readProcesses(dir, []int{9})
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "bench: process 9: ")
	require.Positive(t, must.Do(readProcesses("/proc", []int{os.Getpid()}))(t).rss)
}

// TestSourceAddresses: a loopback target gets another source address every perSource connections.
func TestSourceAddresses(t *testing.T) {
	d := &dialer{servers: []string{"127.0.0.1:2181"}}
	require.Nil(t, d.local("127.0.0.1:2181", perSource-1))
	require.Equal(t, "127.1.0.1:0", d.local("127.0.0.1:2181", perSource).String())
	require.Equal(t, "127.1.0.3:0", d.local("127.0.0.1:2181", 3*perSource+5).String())
	require.Nil(t, d.local("10.0.0.1:2181", 10*perSource))
	require.Nil(t, d.local("host:2181", 10*perSource))
	s := newFakeServer(t, nothing())
	d = &dialer{servers: []string{s.addr()}, timeoutMs: 1000, dial: dialTCP}
	p := DefaultParams()
	p.Sources = []string{"127.0.0.9"}
	d = must.Do(newDialer(&Target{Servers: d.servers}, p))(t)
	nc := must.Do(d.open(t.Context(), 0, 0, new(session)))(t)
	require.Contains(t, nc.LocalAddr().String(), "127.0.0.9:")
	require.NoError(t, nc.Close())
}

// TestExpiredSessionIsReplaced: a lane whose session is gone begins a new one.
func TestExpiredSessionIsReplaced(t *testing.T) {
	s := newFakeServer(t, nothing())
	f, err := newFleet(t.Context(), &dialer{servers: []string{s.addr()}, timeoutMs: 10000, dial: dialTCP}, 1, nil)
	require.NoError(t, err)
	defer f.close()
	l := f.lanes[0]
	first := l.session.id
	l.drop()
	require.NoError(t, l.connect(t.Context(), 0))
	require.Equal(t, first, l.session.id)
	require.Zero(t, f.expired.Load())
	s.refused.Store(true)
	l.drop()
	require.NoError(t, l.connect(t.Context(), 0))
	require.NotEqual(t, first, l.session.id)
	require.EqualValues(t, 1, f.expired.Load())
}

// TestXidMismatchEndsTheDrive: a server that answers in the wrong order is not measured.
func TestXidMismatchEndsTheDrive(t *testing.T) {
	s := newFakeServer(t, nothing())
	f, err := newFleet(t.Context(), &dialer{servers: []string{s.addr()}, timeoutMs: 10000, dial: dialTCP}, 1, nil)
	require.NoError(t, err)
	defer f.close()
	f.lanes[0].answered = 5
	_, err = f.forAll(t.Context(), 10, 2, Get, proto.OpGetData,
		func(b []byte, _ int) []byte { return appendPathWatch(b, []byte("/"), false) })
	require.ErrorContains(t, err, "bench: reply has xid 1, want 6")
}

func TestMixtureDoesNotAllocate(t *testing.T) {
	tree := must.Do(newTree("/r", 1000, 0))(t)
	m := newMixture(tree,
		newChooser(mustMix("get=5,set=1,create=1,seq=1,delete=1,multi=1,children=1,exists=1,sync=1")),
		Size{0, 100}, 1, 0)
	buf := make([]byte, 0, 64<<10)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		buf, _, _ = m.next(buf[:0], 1)
	}))
}

func TestDeleteFollowsCreate(t *testing.T) {
	tree := must.Do(newTree("/r", 1, 0))(t)
	m := newMixture(tree, newChooser(mustMix("delete=1")), Size{}, 1, 0)
	for i, want := range []Kind{Create, Delete, Create, Delete} {
		_, kind, ok := m.next(nil, int32(i))
		require.True(t, ok)
		require.Equal(t, want, kind)
	}
}

func TestReadRatios(t *testing.T) {
	require.Equal(t, []int{0, 25, 50, 75, 100}, readRatios(25))
	require.Equal(t, []int{0, 30, 60, 90, 100}, readRatios(30))
	require.Equal(t, []int{0, 100}, readRatios(100))
}
