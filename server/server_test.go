package server_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// hangGuard is how long a test waits for what must come: far longer than it takes on a machine that is busy with
// other things.
const hangGuard = 30 * time.Second

// testConfig is a small standalone server in a directory of its own, on a free port.
func testConfig(t testing.TB) *config.Config {
	cfg := config.Default()
	cfg.DataDir = t.TempDir()
	cfg.DataLogDir = cfg.DataDir
	cfg.ClientPort = 0
	cfg.PreAllocSizeKB = 0
	cfg.TickTime = 200 * time.Millisecond
	cfg.MinSessionTimeout, cfg.MaxSessionTimeout = 400*time.Millisecond, 60*time.Second
	cfg.FourLetterWhitelist = []string{"*"}
	cfg.MaxClientCnxns = 0
	cfg.DiskWatermark.Bytes = 0
	cfg.Admin.Enabled = false
	return cfg
}

// start runs a server until the test ends, or until the returned function stops it.
func start(t *testing.T, cfg *config.Config, o server.Options) (addr string, stop func()) {
	t.Helper()
	if o.Log == nil {
		o.Log = zaptest.NewLogger(t)
	}
	s := server.New(cfg, o)
	require.NoError(t, s.Start())
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			s.Stop()
		}
	}
	t.Cleanup(stop)
	return s.Addr().String(), stop
}

func dial(t *testing.T, addr string, o wire.Options) *wire.Conn {
	t.Helper()
	return wire.Open(t, addr, o)
}

func TestWritesAndReadsOfOneSession(t *testing.T) {
	addr, _ := start(t, testConfig(t), server.Options{})
	c := dial(t, addr, wire.Options{})
	require.Equal(t, "/a", c.MustCreate(t, "/a", []byte("x"), proto.ModePersistent))
	data, stat := c.MustGetData(t, "/a", false)
	require.Equal(t, "x", string(data))
	require.EqualValues(t, 0, stat.Version)
	stat = c.MustSetData(t, "/a", []byte("yz"), 0)
	require.EqualValues(t, 1, stat.Version)
	require.EqualValues(t, 2, stat.DataLength)
	require.ErrorIs(t, must.Err(c.SetData("/a", nil, 0)), proto.ErrBadVersion)
	require.NoError(t, c.Ping())
	require.NoError(t, c.Sync("/a"))
	require.NoError(t, c.Delete("/a", -1))
	require.ErrorIs(t, must.Err(c.Exists("/a", false)), proto.ErrNoNode)
	require.NoError(t, c.CloseSession())
}

func TestRestartKeepsEverythingAndTheSession(t *testing.T) {
	cfg := testConfig(t)
	addr, stop := start(t, cfg, server.Options{})
	c := dial(t, addr, wire.Options{TimeoutMs: 60_000})
	for i := range 100 {
		c.MustCreate(t, fmt.Sprintf("/n%03d", i), []byte("data"), proto.ModePersistent)
	}
	c.MustCreate(t, "/e", nil, proto.ModeEphemeral)
	resume := c.Resume()
	stop()

	addr, _ = start(t, cfg, server.Options{})
	c = dial(t, addr, resume)
	require.Equal(t, resume.Session, c.Session())
	names, _ := must.Do2(c.Children2("/", false))(t)
	require.Len(t, names, 102)
	stat := c.MustExists(t, "/e", false)
	require.Equal(t, c.Session(), stat.EphemeralOwner)
	require.NoError(t, c.CloseSession())
	c = dial(t, addr, wire.Options{})
	require.ErrorIs(t, must.Err(c.Exists("/e", false)), proto.ErrNoNode)
}

func TestPipelinedRequestsAreAnsweredInOrder(t *testing.T) {
	addr, _ := start(t, testConfig(t), server.Options{})
	c := dial(t, addr, wire.Options{})
	c.MustCreate(t, "/q", nil, proto.ModePersistent)
	var reqs []wire.Request
	for i := range 2000 {
		if i%3 == 0 {
			reqs = append(reqs, wire.SetData("/q", []byte(fmt.Sprint(i)), int32(i/3)))
		} else {
			reqs = append(reqs, wire.GetData("/q", false))
		}
	}
	for i, call := range c.SendAll(reqs) {
		require.NoError(t, call.Wait())
		require.NoError(t, call.Reply.Err(), "request %d", i)
		if i%3 != 0 {
			var resp proto.GetDataResponse
			require.NoError(t, resp.ReadFrom(call.Reply.Body))
			require.Equal(t, fmt.Sprint(i/3*3), string(resp.Data), "request %d reads the session's own last write", i)
		}
	}
}

func TestEventPrecedesReplyToTheWriteThatCausedIt(t *testing.T) {
	addr, _ := start(t, testConfig(t), server.Options{})
	var order []wire.Packet
	c := dial(t, addr, wire.Options{Observe: func(p wire.Packet) { order = append(order, p) }})
	c.MustCreate(t, "/w", nil, proto.ModePersistent)
	c.MustGetData(t, "/w", true)
	stat := c.MustSetData(t, "/w", []byte("1"), -1)
	c.Close()
	<-c.Done()
	require.Len(t, order, 4)
	require.NotNil(t, order[2].Event)
	require.Equal(t, proto.EventNodeDataChanged, order[2].Event.Type)
	require.Equal(t, stat.Mzxid, order[2].Event.Zxid)
	require.NotNil(t, order[3].Call)
}

func TestSessionExpiresAndItsEphemeralsGo(t *testing.T) {
	addr, _ := start(t, testConfig(t), server.Options{})
	var resume wire.Options
	for begun := false; !begun; { // on a busy machine the session may expire before it has its znode
		lost := dial(t, addr, wire.Options{TimeoutMs: 400})
		_, err := lost.Create("/e", nil, proto.ModeEphemeral)
		begun, resume = err == nil, lost.Resume()
		lost.Close()
	}
	c := dial(t, addr, wire.Options{TimeoutMs: 60_000})
	require.Eventually(t, func() bool {
		_, err := c.Exists("/e", false)
		return errors.Is(err, proto.ErrNoNode)
	}, hangGuard, 20*time.Millisecond)
	require.ErrorIs(t, must.Err(wire.Dial(addr, resume)), wire.ErrRejected)
}
