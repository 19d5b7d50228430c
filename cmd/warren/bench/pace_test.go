package bench

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
)

// pipeDialer connects to s without sockets, so that time can be faked.
func pipeDialer(s *fakeServer, timeoutMs int32) *dialer {
	return &dialer{servers: []string{"pipe:1"}, timeoutMs: timeoutMs,
		dial: func(context.Context, string, net.Addr) (net.Conn, error) {
			here, there := net.Pipe()
			go s.serve(there)
			return here, nil
		}}
}

// openLoop sends rate requests a second for a while with the given answers, in fake time.
func openLoop(t *testing.T, lanes, window int, rate float64, length time.Duration, answer respond) *Sample {
	t.Helper()
	s := &fakeServer{answer: answer, conns: map[*fakeConn]bool{}}
	f := must.Do(newFleet(t.Context(), pipeDialer(s, 30000), lanes, nil))(t)
	tree := must.Do(newTree("/r", 10, 0))(t)
	d := &drive{window: window, rec: newRecorder(true), pace: &schedule{rate: rate, begin: f.now()},
		source: func(lane int) requester { return newMixture(tree, newChooser(mustMix("get=1")), Size{}, 1, lane) }}
	d.rec.open(f.now())
	f.start(d)
	time.Sleep(length - time.Nanosecond)
	d.rec.close(f.now())
	d.stop()
	require.NoError(t, d.wait())
	f.close()
	synctest.Wait()
	return d.rec.collect()
}

// pausing is nothing that stops for a while before the answer to the nth get.
func pausing(nth int, pause time.Duration) respond {
	answer, gets := nothing(), 0
	return func(c *fakeConn, op proto.OpCode, body []byte) ([]byte, proto.ErrCode) {
		if op == proto.OpGetData {
			if gets++; gets == nth {
				time.Sleep(pause)
			}
		}
		return answer(c, op, body)
	}
}

func TestOpenLoopKeepsItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sample := openLoop(t, 3, 8, 100, 4*time.Second, nothing())
		total := sample.total()
		require.EqualValues(t, 400, total.Latency.TotalCount())
		require.Zero(t, sample.Unsent)
		require.Less(t, total.Latency.Max(), 2*latencyMin, "nothing takes time here")
	})
}

// TestOpenLoopChargesPauses: a connection that is not answered for a second makes every request
// that was due in that second slow, not only those in flight.
func TestOpenLoopChargesPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sample := openLoop(t, 1, 4, 50, 4*time.Second, pausing(51, time.Second)) // due at 1 s
		latency := sample.total().Latency
		require.EqualValues(t, 200, latency.TotalCount())
		require.Zero(t, sample.Unsent)
		require.InDelta(t, time.Second, latency.Max(), float64(time.Millisecond))
		// Due at 1.00, 1.02, ... 1.50 s and answered at 2 s: 26 of 200 wait half a second or more.
		slow := 0
		for _, bar := range latency.Distribution() {
			if bar.To >= int64(499*time.Millisecond) {
				slow += int(bar.Count)
			}
		}
		require.Equal(t, 26, slow)
		// Four were in flight, so from the fifth on they were also sent late.
		require.InDelta(t, 920*time.Millisecond, sample.Lag.Max(), float64(time.Millisecond))
	})
}

// TestOpenLoopReportsWhatItCouldNotSend: the server stops answering before the end.
func TestOpenLoopReportsWhatItCouldNotSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// The get that is due at 2 s.
		sample := openLoop(t, 1, 4, 50, 4*time.Second, pausing(101, 2*drainTimeout))
		time.Sleep(2 * drainTimeout) // the server's goroutine ends
		total := sample.total()
		require.EqualValues(t, 100, total.Latency.TotalCount())
		require.EqualValues(t, 4, total.Errors[proto.ErrOperationTimeout], "in flight")
		require.EqualValues(t, 96, sample.Unsent)
	})
}

func TestSchedule(t *testing.T) {
	for _, rate := range []float64{0.1, 1, 3, 7, 1000, 12345.6, 1e6, 1e9} {
		p := &schedule{rate: rate, begin: 1000, lanes: make([]paced, 3)}
		require.Zero(t, p.dueBy(999))
		require.EqualValues(t, 1, p.dueBy(1000), "the first is due at once")
		for j := int64(0); j < 5000; j += 7 {
			at := p.begin + p.offset(j)
			require.GreaterOrEqual(t, p.dueBy(at), j+1, "rate %v", rate)
			if p.offset(j+1) > p.offset(j) {
				require.Equal(t, j+1, p.dueBy(at), "rate %v", rate)
			}
			require.Equal(t, at, p.intended(int(j%3), j/3))
		}
	}
}

// TestIdleSessionsAreKeptAlive: with nothing to do a lane pings every third of its timeout, and the
// replies do not confuse the next call.
func TestIdleSessionsAreKeptAlive(t *testing.T) {
	m := newModel()
	s := newFakeServer(t, m.respond)
	f, err := newFleet(t.Context(), &dialer{servers: []string{s.addr()}, timeoutMs: 300, dial: dialTCP}, 2, nil)
	require.NoError(t, err)
	defer f.close()
	begin := time.Now()
	<-m.after(proto.OpPing, 12)
	require.Greater(t, time.Since(begin), 400*time.Millisecond, "two lanes, six pings each, a tenth of a second apart")
	for _, l := range f.lanes {
		_, err = l.call(t.Context(), proto.OpExists,
			func(b []byte) []byte { return appendPathWatch(b, []byte("/"), false) })
		require.NoError(t, err)
	}
}
