package ensemble

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/wire"
)

// What load keeps on its way.
const (
	loadConns       = 16
	loadOutstanding = 32
	loadBytes       = 128
	loadZnodes      = 100
)

// load is many clients that write as fast as they can, each at one server.
type load struct {
	stop  atomic.Bool
	wg    sync.WaitGroup
	acked atomic.Int64
	mu    sync.Mutex
	took  []time.Duration // of whole rounds of loadOutstanding writes
	err   error
}

// startLoad spreads the clients over the given servers.
func startLoad(t testing.TB, nodes []*cluster.Node) *load {
	t.Helper()
	first := wire.Open(t, nodes[0].Addr(), wire.Options{})
	for i := range loadZnodes {
		if _, err := first.Create(loadPath(i), nil, proto.ModePersistent); err != nil {
			require.ErrorIs(t, err, proto.ErrNodeExists)
		}
	}
	require.NoError(t, first.CloseSession())
	first.Close()
	l := &load{}
	for i := range loadConns {
		conn := wire.Open(t, nodes[i%len(nodes)].Addr(),
			wire.Options{TimeoutMs: sessionTimeout, Reply: 30 * time.Second})
		l.wg.Go(func() { l.run(conn, i) })
	}
	return l
}

func loadPath(i int) string { return "/load" + string(rune('a'+i/10)) + string(rune('a'+i%10)) }

// run keeps loadOutstanding writes on their way, in rounds.
func (l *load) run(conn *wire.Conn, number int) {
	defer conn.Close()
	var took []time.Duration
	data := make([]byte, loadBytes)
	for n := number; !l.stop.Load(); n++ {
		reqs := make([]wire.Request, loadOutstanding)
		for i := range reqs {
			reqs[i] = wire.SetData(loadPath((n*7+i)%loadZnodes), data, -1)
		}
		began := time.Now()
		for _, call := range conn.SendAll(reqs) {
			if err := call.Wait(); err != nil {
				l.mu.Lock()
				l.err = err
				l.mu.Unlock()
				return
			}
			l.acked.Add(1)
		}
		took = append(took, time.Since(began))
	}
	l.mu.Lock()
	l.took = append(l.took, took...)
	l.mu.Unlock()
	_ = conn.CloseSession() // or it expires
}

// end stops the clients and waits.
func (l *load) end() {
	l.stop.Store(true)
	l.wg.Wait()
	slices.Sort(l.took)
}
