package datatree

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
)

// Readers who go on while sessions end see each time, at one zxid, all ephemerals of a session or none, and the sums
// and Stats that belong to that. The race detector sees that Prepare only reads.
func TestReadersSeeSessionsEndAtOnce(t *testing.T) {
	const parents, each, sessions = 3, 40, 6
	s := NewState(Config{})
	x := newTxns(t, s)
	for p := range parents {
		x.create(fmt.Sprintf("/p%d", p), nil)
		x.create(fmt.Sprintf("/p%d/stays", p), nil)
	}
	nodes := s.NumNodes()
	var mu sync.RWMutex
	var reads, between atomic.Int64
	over := make(chan struct{})
	var readers sync.WaitGroup
	for r := range 3 {
		readers.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				mu.RLock()
				readEnded(t, s, parents, nodes)
				if s.ended.left > 0 {
					between.Add(1)
				}
				mu.RUnlock()
				if r == 0 { // a snapshot, now and then under its own holds of the lock
					mu.RLock()
					w := s.NewWalker()
					for done := false; !done; {
						_, done = w.Next(nil, 300)
						mu.RUnlock()
						mu.RLock()
					}
					w.Close()
					mu.RUnlock()
				}
				reads.Add(1)
			}
		})
	}
	for i := range sessions {
		x.session = proto.SessionID(100 + i)
		for range 2 { // the second time at the paths of what is not reaped
			mu.Lock()
			for n := range parents * each {
				x.ephemeral(fmt.Sprintf("/p%d/e%d", n%parents, n))
			}
			mu.Unlock()
			seen := reads.Load()
			x.zxid++
			h := proto.TxnHeader{ClientID: x.session, Zxid: x.zxid, Type: proto.OpCloseSession}
			mu.RLock()
			e := s.NewEnding(h.AppendTo(nil), 1)
			e.EachSlice(10)
			require.True(t, e.Prepare(nobody{}, func() { mu.RUnlock(); mu.RLock() }))
			mu.RUnlock()
			mu.Lock()
			e.Apply(nil)
			mu.Unlock()
			for reads.Load() < seen+3 { // they meet what is not reaped
				runtime.Gosched()
			}
			mu.Lock()
			s.Reap(parents * each / 2)
			mu.Unlock()
			x.session++
		}
	}
	close(over)
	readers.Wait()
	require.Positive(t, between.Load())
	s.check()
}

// readEnded requires that the ephemerals below the parents are all there or all gone.
func readEnded(t *testing.T, s *State, parents, nodes int) {
	n := s.NumEphemerals()
	if s.NumNodes() != nodes+n {
		t.Errorf("zxid %v: %d znodes with %d ephemerals", s.LastZxid(), s.NumNodes(), n)
	}
	counted, sum := 0, int64(0)
	for p := range parents {
		path := fmt.Appendf(nil, "/p%d", p)
		stat := s.Stat(s.Lookup(path))
		listed := 0
		s.EachChild(s.Lookup(path), func(NodeID) bool { listed++; return true })
		if int(stat.NumChildren) != listed || listed-1 != n/parents {
			t.Errorf("zxid %v: %d children of %d with %d ephemerals", s.LastZxid(), listed, stat.NumChildren, n)
		}
		if gone := n == 0 && stat.Cversion > 1; gone && stat.Pzxid > s.LastZxid() {
			t.Errorf("zxid %v: pzxid %v", s.LastZxid(), stat.Pzxid)
		}
		if found := s.Lookup(fmt.Appendf(nil, "/p%d/e%d", p, p)) != 0; found != (n > 0) {
			t.Errorf("zxid %v: found %v with %d ephemerals", s.LastZxid(), found, n)
		}
		counted += listed - 1
	}
	for id := Root; id != 0; id = s.following(id, Root) {
		sum += int64(s.rec(id).digest)
	}
	if counted != n || sum != s.Digest() {
		t.Errorf("zxid %v: %d ephemerals of %d, digest %d of %d", s.LastZxid(), counted, n, sum, s.Digest())
	}
}
