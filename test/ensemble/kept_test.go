package ensemble

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/wire"
)

// TestKilledLeaderEndsNoOtherConnection kills the process that leads while clients of the other servers have requests
// in flight. None of them loses its connection, and each request is done once.
func TestKilledLeaderEndsNoOtherConnection(t *testing.T) {
	l := keptAtKills(t, cluster.Warren, 5, map[string]string{"warren.connection.keep": "60000"})
	require.Zero(t, l.ended.Load(), "connections that ended")
	require.Zero(t, l.unknown.Load(), "requests without an answer")
	require.Positive(t, l.answered.Load())
}

// losses is what clients of the surviving servers feel of killed leaders.
type losses struct {
	ended, unknown, answered atomic.Int64
	silence                  atomic.Int64 // the longest time without an answer, ns
}

func (l *losses) String() string {
	return fmt.Sprintf("%d connections ended, %d requests of unknown outcome, %d answered, the longest silence %v",
		l.ended.Load(), l.unknown.Load(), l.answered.Load(), l.longest().Round(time.Millisecond))
}

func (l *losses) longest() time.Duration { return time.Duration(l.silence.Load()) }

// keptAtKills kills the leader again and again. Each other server has some clients, with sequential creates in flight
// all the time. It fails if an acknowledged create is missing, or one was done twice though each was answered.
func keptAtKills(t *testing.T, kind cluster.Kind, kills int, settings map[string]string) *losses {
	const clients, steadily = 4, 500 * time.Millisecond
	c := newSceneWith(t, settings, of(kind, 3)...)
	l := &losses{}
	for kill := range kills {
		c.whole()
		leads := c.certainLeader()
		var wg sync.WaitGroup
		stop := make(chan struct{})
		for _, node := range c.but(leads) {
			for i := range clients {
				conn := wire.Open(t, node.Addr(), wire.Options{TimeoutMs: 30_000, Reply: time.Minute})
				path := fmt.Sprintf("/kept-%d-%s-%d", kill, node.Addr(), i)
				conn.MustCreate(t, path, nil, proto.ModePersistent)
				wg.Go(func() { l.creates(t, conn, path, stop) })
			}
		}
		time.Sleep(steadily)
		leads.Kill()
		for other := leads; other == leads; {
			other = c.certainLeader()
		}
		time.Sleep(steadily)
		close(stop)
		wg.Wait()
		leads.Start()
	}
	return l
}

// creates keeps sequential creates in flight until stop, and then waits for those that are.
func (l *losses) creates(t *testing.T, conn *wire.Conn, path string, stop <-chan struct{}) {
	const inFlight = 8
	defer conn.Close()
	var flying []*wire.Call
	last := time.Now()
	for done, ends := 0, false; ; done++ {
		select {
		case <-stop:
			ends = true
		default:
		}
		for !ends && len(flying) < inFlight {
			create := wire.Create(path+"/", nil, wire.OpenACL, proto.ModePersistentSequential)
			flying = append(flying, conn.Send(create))
		}
		if len(flying) == 0 {
			names := conn.MustChildren(t, path, false)
			require.Len(t, names, done, "each create was done once")
			return
		}
		if err := flying[0].Wait(); err != nil {
			l.ended.Add(1)
			l.unknown.Add(int64(len(flying)))
			return
		}
		require.NoError(t, flying[0].Reply.Err())
		made := flying[0].Reply.Value.(*proto.CreateResponse).Path.String()
		require.Equal(t, fmt.Sprintf("%s/%010d", path, done), made)
		flying = flying[1:]
		l.answered.Add(1)
		l.silent(time.Since(last))
		last = time.Now()
	}
}

// silent notes a time without an answer.
func (l *losses) silent(took time.Duration) {
	for {
		if was := l.silence.Load(); int64(took) <= was || l.silence.CompareAndSwap(was, int64(took)) {
			return
		}
	}
}
