package server

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/ensemble"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/facts"
	"github.com/seed94657493/warren/server/internal/security"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/pki"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal/vfs"
)

// closedWith sends bytes and returns what the server answers until it closes the connection.
func closedWith(t *testing.T, nc net.Conn, b []byte) []byte {
	t.Helper()
	_ = nc.SetDeadline(time.Now().Add(hangGuard))
	_, _ = nc.Write(b) // the server may have closed already
	got, err := io.ReadAll(nc)
	var late net.Error
	require.False(t, errors.As(err, &late) && late.Timeout(), "the connection stays")
	return got
}

// Above maxCnxns connections are closed without an answer, except a few that may ask a four-letter word. When a
// connection ends, its place is free again.
func TestConnectionsInAll(t *testing.T) {
	core, logs := observer.New(zapcore.WarnLevel)
	cfg := memConfig()
	cfg.MaxCnxns = 2
	s := serveMem(t, cfg, zap.New(core))
	first := dialWire(t, s, wire.Options{})
	dialWire(t, s, wire.Options{})
	var reserved []net.Conn
	const places = 16 // for words
	for range places {
		reserved = append(reserved, dialRaw(t, s))
	}
	eventually(t, func() bool { return s.front.Conns.Len() == 2+places }, "all reserved places are taken")
	if nc, err := net.Dial("tcp", s.Addr().String()); err == nil { // the refusal may be faster than the dialer
		require.Empty(t, closedWith(t, nc, []byte("ruok")))
		_ = nc.Close()
	}
	eventually(t, func() bool { return logs.FilterMessage("refusing connection").Len() > 0 }, "it is in the log")
	require.EqualValues(t, 1, s.Metrics.ConnectionRejected.Total())
	require.EqualValues(t, 1, refused(t, s, env.RefusedByLimit))
	require.Equal(t, "too many connections: maxCnxns is reached",
		logs.FilterMessage("refusing connection").All()[0].ContextMap()["error"])
	require.Equal(t, "imok", string(closedWith(t, reserved[0], []byte("ruok"))))
	req := wire.ConnectRequest(wire.Options{TimeoutMs: 60_000})
	require.Empty(t, closedWith(t, reserved[1], wire.AppendFrame(nil, req.AppendTo(nil))),
		"no session in a reserved place")
	require.NoError(t, first.CloseSession())
	eventually(t, func() bool {
		c, err := wire.Dial(s.Addr().String(), wire.Options{})
		if err == nil {
			c.Close()
		}
		return err == nil
	}, "a place is free again")
}

// refused is how many connections the server says it has refused for a reason: in the metric, in mntr and in the API.
func refused(t *testing.T, s *Server, why env.Refusal) float64 {
	t.Helper()
	families := must.Do(s.Registry.Gather())(t)
	for _, f := range families {
		for _, m := range f.Metric {
			if f.GetName() == "warren_server_connections_refused_total" && m.Label[0].GetValue() == string(why) {
				told := m.Counter.GetValue()
				require.Contains(t, s.facts.Ensemble().Refused, ensemble.RefusedConns{Reason: string(why),
					Count: int64(told)}, "the API")
				require.Contains(t, s.facts.Numbers(), facts.Number{
					Name:  "connections_refused_" + strings.ReplaceAll(string(why), "-", "_"),
					Value: fmt.Sprint(told)}, "mntr")
				return told
			}
		}
	}
	t.Fatalf("no metric for %q", why)
	return 0
}

// Without tokens no session begins, and the client's connection is closed. Clients with a session go on.
func TestSessionsWithoutATokenAreClosed(t *testing.T) {
	cfg := memConfig()
	cfg.ConnectionThrottle.Tokens, cfg.ConnectionThrottle.FillCount, cfg.ConnectionThrottle.FillTime = 2, 1, time.Hour
	s, c := serveOne(t, cfg)
	dialWire(t, s, wire.Options{})
	for range 3 {
		require.Error(t, must.Err(wire.Dial(s.Addr().String(), wire.Options{})))
	}
	require.EqualValues(t, 3, s.Metrics.ConnectionRejected.Total())
	require.EqualValues(t, 3, refused(t, s, env.RefusedByRate))
	require.NoError(t, c.Ping())
}

// A server whose log waits for room on a full disk begins no session.
func TestSessionsWithoutRoomAreRefused(t *testing.T) {
	fs := vfs.NewMem()
	s := running(t, memConfig(), Options{FS: fs})
	c := dialWire(t, s, wire.Options{TimeoutMs: 60_000})
	require.Zero(t, refused(t, s, env.RefusedByDisk))
	fs.SetCapacity(fs.Used() + 10)
	call := c.Send(wire.Create("/late", make([]byte, 4096), wire.OpenACL, proto.ModePersistent))
	eventually(t, func() bool {
		other, err := wire.Dial(s.Addr().String(), wire.Options{TimeoutMs: 60_000, Reply: time.Second})
		if err == nil {
			other.Close()
		}
		return refused(t, s, env.RefusedByDisk) > 0
	}, "sessions begin without room")
	fs.SetCapacity(64 << 20)
	require.NoError(t, call.Wait())
}

// A setWatches may be longer than other requests, up to its own limit. The announced length alone takes no memory.
func TestSetWatchesAboveItsLimitIsClosed(t *testing.T) {
	core, logs := observer.New(zapcore.WarnLevel)
	s := serveMem(t, memConfig(), zap.New(core))
	for op, n := range map[proto.OpCode]uint32{proto.OpSetWatches: 64<<20 + 1,
		proto.OpSetWatches2: 1<<31 - 1, proto.OpCreate: proto.DefaultMaxBuffer + 1} {
		nc := dialRaw(t, s)
		hello(t, nc, wire.Options{TimeoutMs: 60_000})
		head := binary.BigEndian.AppendUint32(nil, n)
		head = binary.BigEndian.AppendUint32(head, 1)
		head = binary.BigEndian.AppendUint32(head, uint32(op))
		require.Empty(t, closedWith(t, nc, head), "%v", op)
	}
	require.Equal(t, 3, logs.FilterMessage("closing connection").Len())
}

// The reply to one multiRead is bounded, whatever the request names.
func TestReplyToMultiReadIsBounded(t *testing.T) {
	s, first := serveOne(t, memConfig())
	first.MustCreate(t, "/big", make([]byte, 1<<20-200), proto.ModePersistent)
	first.MustCreate(t, "/half", make([]byte, 512_000), proto.ModePersistent)
	for name, test := range map[string]struct {
		path string
		n    int
		fits bool
	}{
		"15 MiB":                     {"/big", 15, true},
		"19 MiB":                     {"/big", 19, false},
		"40 znodes of 512,000 bytes": {"/half", 40, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := dialWire(t, s, wire.Options{})
			var reads []wire.Request
			for range test.n {
				reads = append(reads, wire.GetData(test.path, false))
			}
			reply, err := c.Do(wire.MultiRead(reads...))
			if test.fits {
				require.NoError(t, err)
				require.NoError(t, reply.Err())
				return
			}
			require.Error(t, err, "a client knows only the loss of the connection")
			require.NoError(t, c.WaitClosed())
		})
	}
}

// SASL tokens have a limit. Above it the exchange fails.
func TestLongTokensFail(t *testing.T) {
	s := serveSASL(t, saslConfig(), nil)
	for size, code := range map[int]proto.ErrCode{4096: proto.ErrAuthFailed, 4097: proto.ErrAuthFailed,
		900_000: proto.ErrAuthFailed} {
		c := dialWire(t, s, wire.Options{})
		require.Equal(t, proto.OK, saslStep(t, c, nil).Header.Err)
		require.Equal(t, code, saslStep(t, c, bytes.Repeat([]byte{'x'}, size)).Header.Err, "%d", size)
		require.NoError(t, c.WaitClosed())
	}
	require.EqualValues(t, 3, s.Metrics.AuthFailed.Total())
}

// A client that sends requests and takes no replies is closed after its session timeout, although it is not silent.
func TestClientThatTakesNothingIsClosedInTime(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	dialWire(t, s, wire.Options{}).MustCreate(t, "/big", make([]byte, 900<<10), proto.ModePersistent)
	nc := dialRaw(t, s)
	require.NoError(t, nc.SetReadBuffer(4096))
	hello(t, nc, wire.Options{TimeoutMs: 1000})
	var b []byte
	for range 50 {
		b = frame(b, 1, wire.GetData("/big", false))
	}
	began := time.Now()
	must.Do(nc.Write(b))(t)
	eventually(t, func() bool {
		_, _ = nc.Write(frame(nil, -2, wire.Ping()))
		return s.front.Conns.Len() == 1
	}, "it is closed")
	require.Greater(t, time.Since(began), 500*time.Millisecond)
}

// A client that was silent for longer than its timeout gets no answer on its connection, because its session may have
// ended at the leader and not yet here. It connects again, and goes on if its session has not ended.
func TestSilentClientIsNotAnswered(t *testing.T) {
	cfg := memConfig()
	cfg.TickTime, cfg.MinSessionTimeout = time.Hour, 100*time.Millisecond // no session ends in this test
	s := serveMem(t, cfg, nil)
	c := dialWire(t, s, wire.Options{TimeoutMs: 2000})
	require.EqualValues(t, 2000, c.TimeoutMs())
	c.MustExists(t, "/", false)
	time.Sleep(2050 * time.Millisecond)
	_, err := c.Exists("/", false)
	require.True(t, wire.IsEOF(err), "%v", err)
	again := dialWire(t, s, c.Resume())
	require.Equal(t, c.Session(), again.Session())
	again.MustExists(t, "/", false)
}

// A super user has all permissions on every znode, and otherwise no more rights than any other client.
func TestLimitsHoldForSuperUsers(t *testing.T) {
	cfg := memConfig()
	cfg.SuperDigest, cfg.MaxWatches, cfg.EnforceQuota, cfg.MaxClientCnxns = "super:D/InIHSb7yEEbrWz8b9l71RjZJU=", 2,
		true, 8
	s := serveMem(t, cfg, nil)
	super := func() *wire.Conn {
		c := dialWire(t, s, wire.Options{})
		require.NoError(t, c.Auth("digest", "super:test"))
		require.Contains(t, whoAmI(t, c), "super:")
		return c
	}
	c := super()
	must.Do(wireCreate(c, "/full", wire.ACL(31, "digest", "nobody:x")))(t)
	for _, znode := range [][2]string{{"/zookeeper/quota/full", ""},
		{"/zookeeper/quota/full/zookeeper_limits", "count=1,bytes=-1=;countHardLimit=1"},
		{"/zookeeper/quota/full/zookeeper_stats", "count=1,bytes=0"}} {
		require.NoError(t, must.Err(c.Create(znode[0], []byte(znode[1]), proto.ModePersistent)), znode[0])
	}
	require.ErrorIs(t, must.Err(c.Create("/full/n", nil, proto.ModePersistent)), proto.ErrQuotaExceeded)
	var last error
	for i := range 3 {
		_, last = c.Exists(fmt.Sprintf("/w%d", i), true)
	}
	require.ErrorIs(t, last, proto.ErrThrottledOp)
	require.Error(t, must.Err(c.Create("/big", make([]byte, proto.DefaultMaxBuffer), proto.ModePersistent)))
	require.NoError(t, c.WaitClosed())
}

// Before its first request a client must authenticate with one of the enforced schemes. No other scheme counts.
func TestSchemesThatAreEnforced(t *testing.T) {
	prove := map[string]func(t *testing.T, v *vault) *wire.Conn{
		"nothing": func(t *testing.T, v *vault) *wire.Conn { return dialWire(t, v.Server, wire.Options{}) },
		"digest": func(t *testing.T, v *vault) *wire.Conn {
			c := dialWire(t, v.Server, wire.Options{})
			require.NoError(t, c.Auth("digest", "a:b"))
			return c
		},
		"sasl": func(t *testing.T, v *vault) *wire.Conn {
			c := dialWire(t, v.Server, wire.Options{})
			require.Equal(t, proto.OK, login(t, c, "bob", "bobsecret").Header.Err)
			return c
		},
		"x509": func(t *testing.T, v *vault) *wire.Conn { return v.dial(t, v.ca.Issue(pki.Options{Name: "app"})) },
	}
	for _, schemes := range [][]string{{"digest"}, {"sasl"}, {"x509"}, {"digest", "x509"}} {
		cfg := tlsConfig()
		cfg.SASL.LoginConfig, cfg.AuthProviders = "/jaas.conf",
			[]config.AuthProvider{{Suffix: "1", Scheme: "sasl"}, {Suffix: "2", Scheme: "x509"}}
		cfg.EnforceAuth = config.EnforceAuth{Enabled: true, Schemes: schemes}
		v := newVault(t)
		v.put(t, "/jaas.conf", []byte(jaasFile))
		v.Server = started(t, cfg, Options{FS: v.fs})
		for scheme, by := range prove {
			enough := strings.Contains(" "+strings.Join(schemes, " ")+" ", " "+scheme+" ")
			reply := by(t, v).MustDo(t, wire.Exists("/", false))
			want := proto.ErrSessionClosedRequireAuth
			if enough {
				want = proto.OK
			}
			require.Equal(t, want, reply.Header.Err, "%s where %v are enforced", scheme, schemes)
		}
		v.Stop()
	}
}

// Any client may read the configuration znode and, unless an operator forbids it, write below the root and set
// quotas.
func TestSystemZnodesOfANewServer(t *testing.T) {
	cfg := memConfig()
	cfg.SuperDigest = "super:D/InIHSb7yEEbrWz8b9l71RjZJU="
	s := serveMem(t, cfg, nil)
	c, super := dialWire(t, s, wire.Options{}), dialWire(t, s, wire.Options{})
	require.NoError(t, super.Auth("digest", "super:test"))
	for path, want := range map[string][]proto.ACL{
		"/": wire.OpenACL, "/zookeeper": wire.OpenACL, "/zookeeper/quota": wire.OpenACL,
		"/zookeeper/config": wire.ACL(proto.PermRead, "world", "anyone"),
	} {
		acl, _ := must.Do2(c.GetACL(path))(t)
		require.Equal(t, want, acl, path)
	}
	c.MustCreate(t, "/zookeeper/quota/a", nil, proto.ModePersistent)
	require.ErrorIs(t, must.Err(c.SetData("/zookeeper/config", []byte("mine"), -1)), proto.ErrNoAuth)
	closed := wire.ACL(31, "digest", "nobody:x")
	super.MustSetACL(t, "/zookeeper/quota", closed, -1)
	_, err := c.Create("/zookeeper/quota/b", nil, proto.ModePersistent)
	require.ErrorIs(t, err, proto.ErrNoAuth, "an operator can close them")
}

// A relative name of the audit log is below the folder of logs. Lines that the disk refuses are lost, with an error
// in the log, while requests go on.
func TestAuditFileAndItsDisk(t *testing.T) {
	require.Equal(t, "zookeeper_audit.log", config.Default().Audit.File)
	require.False(t, config.Default().Audit.Enabled)
	t.Setenv("ZOO_LOG_DIR", "/logs")
	cfg := memConfig()
	cfg.Audit.Enabled, cfg.Audit.File = true, "own.log"
	fs := vfs.NewMem()
	require.NoError(t, fs.MkdirAll("/logs"))
	core, logs := observer.New(zapcore.ErrorLevel)
	s := running(t, cfg, Options{FS: fs, Log: zap.New(core)})
	eventually(t, func() bool {
		return strings.Contains(strings.Join(auditLines(t, fs, "/logs/own.log"), "\n"), "operation=serverStart")
	}, "the line of the start is written, so that the lines that are lost are those of the request")
	fs.Hook(func(op vfs.Op) error {
		if op.Kind == vfs.OpWrite && filepath.Base(op.Name) == "own.log" {
			return errors.New("input/output error")
		}
		return nil
	})
	c := dialWire(t, s, wire.Options{})
	c.MustCreate(t, "/lost", nil, proto.ModePersistent)
	eventually(t, func() bool { return logs.FilterMessage("audit lines are lost").Len() > 0 }, "it is told")
	fs.Hook(nil)
	c.MustCreate(t, "/kept", nil, proto.ModePersistent)
	eventually(t, func() bool {
		return strings.Contains(strings.Join(auditLines(t, fs, "/logs/own.log"), "\n"), "operation=create znode=/kept")
	}, "lines are written again")
	require.NotContains(t, strings.Join(auditLines(t, fs, "/logs/own.log"), "\n"), "/lost")
}

// Settings that would leave servers without trust in each other are refused before a port is opened.
func TestTrustBetweenServersIsComplete(t *testing.T) {
	for want, set := range map[string]func(c *config.Config){
		security.ErrNoQuorumKeys.Error():  func(c *config.Config) { c.QuorumTLS.KeyStore.Location = "" },
		security.ErrNoQuorumTrust.Error(): func(c *config.Config) { c.QuorumTLS.TrustStore.Location = "" },
		security.ErrNoQuorumUsers.Error(): func(c *config.Config) { c.QuorumAuth.EnableSASL = true },
	} {
		cfg := memberConfig()
		cfg.SSLQuorum = true
		cfg.QuorumTLS.KeyStore.Location, cfg.QuorumTLS.TrustStore.Location = "/tls/key.pem", "/tls/trust.pem"
		set(cfg)
		v := newVault(t)
		require.EqualError(t, New(cfg, Options{FS: v.fs, Meta: meta.NewMem(1)}).Start(), want)
	}
	for _, written := range []bool{true, false} {
		text := "dataDir=/data\nclientPort=0\n"
		if written {
			text += "fips-mode=true\n"
		}
		cfg, _ := must.Do2(config.Parse(strings.NewReader(text), "zoo.cfg"))(t)
		rig := memberConfig()
		rig.ClientPortAddress = "127.0.0.1"
		cfg.ServerID, cfg.Quorum, cfg.ClientPortAddress, cfg.FIPSMode = rig.ServerID, rig.Quorum,
			rig.ClientPortAddress, true
		cfg.QuorumAuth.EnableSASL = true
		err := New(cfg, Options{FS: vfs.NewMem(), Meta: meta.NewMem(1)}).Start()
		want := security.ErrNoQuorumUsers // the next missing setting
		if written {
			want = security.ErrFIPSDigest
		}
		require.ErrorIs(t, err, want)
	}
}
