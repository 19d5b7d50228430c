package server_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

func TestHostileFirstBytesAreClosedAndHarmNobody(t *testing.T) {
	addr, _ := start(t, testConfig(t), server.Options{})
	c := dial(t, addr, wire.Options{})
	for name, bytes := range map[string][]byte{
		"negative length":   {0xff, 0xff, 0xff, 0xff},
		"huge length":       {0x7f, 0xff, 0xff, 0xff},
		"one above limit":   {0x00, 0x10, 0x00, 0x00},
		"empty frame":       {0, 0, 0, 0},
		"short connect":     {0, 0, 0, 4, 1, 2, 3, 4},
		"unknown word":      []byte("abcd"),
		"telnet interrupt":  {0xff, 0xf4, 0xff, 0xfd},
		"connect with junk": append([]byte{0, 0, 0, 40}, make([]byte, 24)...),
	} {
		t.Run(name, func(t *testing.T) {
			nc := must.Dial(t, addr)
			must.Do(nc.Write(bytes))(t)
			if name == "connect with junk" {
				_ = nc.(*net.TCPConn).CloseWrite()
			}
			_ = nc.SetReadDeadline(time.Now().Add(hangGuard))
			got, err := io.ReadAll(nc)
			require.False(t, errors.Is(err, net.ErrClosed))
			require.Empty(t, got)
			require.NoError(t, c.Ping())
		})
	}
}

func TestFrameOfExactlyTheLimitIsAccepted(t *testing.T) {
	addr, _ := start(t, testConfig(t), server.Options{})
	c := dial(t, addr, wire.Options{})
	empty := wire.Create("/big", nil, wire.OpenACL, proto.ModePersistent)
	data := make([]byte, proto.DefaultMaxBuffer-proto.RequestHeaderSize-len(empty.Body))
	c.MustCreate(t, "/big", data, proto.ModePersistent)
	got, _ := c.MustGetData(t, "/big", false)
	require.Len(t, got, len(data))
	require.Error(t, must.Err(c.Create("/big2", append(data, 0, 0), proto.ModePersistent)))
	require.NoError(t, c.WaitClosed())
}

func TestSetWatchesMayBeLongerThanAFrame(t *testing.T) {
	addr, _ := start(t, testConfig(t), server.Options{})
	c := dial(t, addr, wire.Options{})
	var paths []string
	for i := range 20_000 {
		paths = append(paths, fmt.Sprintf("/%0100d", i))
	}
	require.NoError(t, c.SetWatches(0, nil, paths, nil))
	require.Contains(t, wire.MustFourLetter(t, addr, "wchs", hangGuard), "Total watches:20000")
}

func TestConnectionLimitLeavesRoomForWords(t *testing.T) {
	cfg := testConfig(t)
	cfg.MaxClientCnxns = 2
	core, logs := observer.New(zap.WarnLevel)
	addr, _ := start(t, cfg, server.Options{Log: zap.New(core)})
	dial(t, addr, wire.Options{})
	second := dial(t, addr, wire.Options{})
	require.Error(t, must.Err(wire.Dial(addr, wire.Options{})))
	refusals := logs.FilterMessage("refusing connection").All()
	require.Len(t, refusals, 1, "an operator sees why")
	require.Equal(t, "too many connections from this address: maxClientCnxns is reached",
		refusals[0].ContextMap()["error"])
	require.Equal(t, 1, must.Do(wire.Gauge(addr, "zk_connection_rejected", hangGuard))(t))
	require.Equal(t, "imok", wire.MustFourLetter(t, addr, "ruok", hangGuard))
	require.NoError(t, second.CloseSession())
	require.Eventually(t, func() bool {
		c, err := wire.Dial(addr, wire.Options{})
		if err == nil {
			c.Close()
		}
		return err == nil
	}, hangGuard, 10*time.Millisecond, "the slot is free again")
}

// A client that sends more than a limit allows at a time has to wait, and gets all answers in order.
func TestOutstandingLimitLosesNoRequest(t *testing.T) {
	losesNoRequest(t, func(cfg *config.Config) { cfg.GlobalOutstandingLimit = 2 })
}

func TestRequestThrottleLosesNoRequest(t *testing.T) {
	losesNoRequest(t, func(cfg *config.Config) {
		cfg.RequestThrottle.MaxRequests, cfg.RequestThrottle.StallTime = 3, time.Millisecond
	})
}

func losesNoRequest(t *testing.T, limit func(*config.Config)) {
	t.Helper()
	cfg := testConfig(t)
	limit(cfg)
	addr, _ := start(t, cfg, server.Options{})
	c := dial(t, addr, wire.Options{})
	c.MustCreate(t, "/n", nil, proto.ModePersistent)
	var reqs []wire.Request
	for i := range 200 {
		reqs = append(reqs, wire.SetData("/n", nil, int32(i)))
	}
	for _, call := range c.SendAll(reqs) {
		require.NoError(t, call.Wait())
		require.NoError(t, call.Reply.Err())
	}
}

func TestWrongPasswordHarmsNobody(t *testing.T) {
	addr, _ := start(t, testConfig(t), server.Options{})
	c := dial(t, addr, wire.Options{})
	bad := c.Resume()
	bad.Password = make([]byte, 16)
	require.ErrorIs(t, must.Err(wire.Dial(addr, bad)), wire.ErrRejected)
	require.NoError(t, c.Ping())

	moved := dial(t, addr, c.Resume())
	require.Equal(t, c.Session(), moved.Session())
	require.NoError(t, c.WaitClosed())
	require.NoError(t, moved.Ping())
}

func TestClientFromTheFutureIsClosedWithoutAnAnswer(t *testing.T) {
	addr, _ := start(t, testConfig(t), server.Options{})
	_, err := wire.Dial(addr, wire.Options{LastZxid: 1 << 40})
	require.Error(t, err)
	require.NotErrorIs(t, err, wire.ErrRejected)
}

func TestNothingIsAnsweredBehindCloseSession(t *testing.T) {
	addr, _ := start(t, testConfig(t), server.Options{})
	c := dial(t, addr, wire.Options{})
	calls := c.SendAll([]wire.Request{
		wire.Create("/e", nil, wire.OpenACL, proto.ModeEphemeral), wire.CloseSession(),
		wire.Create("/late", nil, wire.OpenACL, proto.ModeEphemeral),
	})
	require.NoError(t, calls[0].Wait())
	require.NoError(t, calls[1].Wait())
	require.Error(t, calls[2].Wait())
	other := dial(t, addr, wire.Options{})
	require.Equal(t, []string{"zookeeper"}, other.MustChildren(t, "/", false))
}

func TestUnknownOperationsAreAnsweredAndClosed(t *testing.T) {
	addr, _ := start(t, testConfig(t), server.Options{})
	for _, op := range []proto.OpCode{99, 0, proto.OpCheck, proto.OpError, proto.OpDeleteContainer,
		proto.OpCreateSession} {
		c := dial(t, addr, wire.Options{})
		rep := c.MustDo(t, wire.Request{Op: op, Body: make([]byte, 16)})
		require.ErrorIs(t, rep.Err(), proto.ErrUnimplemented, "%v", op)
		require.EqualValues(t, -1, rep.Header.Zxid)
		require.NoError(t, c.WaitClosed())
	}
}

func TestSlowReaderDoesNotHoldUpOthers(t *testing.T) {
	addr, _ := start(t, testConfig(t), server.Options{})
	c := dial(t, addr, wire.Options{TimeoutMs: 60_000})
	c.MustCreate(t, "/big", make([]byte, 500<<10), proto.ModePersistent)

	slow := must.Dial(t, addr)
	req := wire.ConnectRequest(wire.Options{TimeoutMs: 60_000})
	require.NoError(t, wire.WriteFrame(slow, req.AppendTo(nil)))
	var frames []byte
	for range 400 {
		get := wire.GetData("/big", true)
		var payload []byte
		payload = binary.BigEndian.AppendUint32(payload, 1)
		payload = binary.BigEndian.AppendUint32(payload, uint32(get.Op))
		frames = wire.AppendFrame(frames, append(payload, get.Body...))
	}
	must.Do(slow.Write(frames))(t)
	for range 20 {
		c.MustSetData(t, "/big", make([]byte, 500<<10), -1)
	}
	require.NoError(t, c.Ping())
}

func TestWordsOutsideTheWhitelist(t *testing.T) {
	cfg := testConfig(t)
	cfg.FourLetterWhitelist = []string{"srvr"}
	addr, _ := start(t, cfg, server.Options{})
	out := wire.MustFourLetter(t, addr, "stat", hangGuard)
	require.Equal(t, "stat is not executed because it is not in the whitelist.\n", out)
	out = wire.MustFourLetter(t, addr, "srvr", hangGuard)
	require.Contains(t, out, "Mode: standalone\nNode count: 5\n")
	require.True(t, strings.HasPrefix(out, "Zookeeper version: "))
}
