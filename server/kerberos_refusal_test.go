package server

import (
	"bytes"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/test/krb5"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal/vfs"
)

// shiftedClock is a wall clock that is ahead of the right one.
type shiftedClock struct {
	sched.Runtime
	ahead atomic.Int64 // ns
}

// Now implements sched.Runtime.
func (c *shiftedClock) Now() time.Time { return c.Runtime.Now().Add(time.Duration(c.ahead.Load())) }

// Tokens of clients with tickets of a real KDC that must not be let in. Each gets the answer of ZooKeeper, AuthFailed
// with a null token and the end of its connection, and the log has the reason. The server goes on.
func TestTicketsAreRefused(t *testing.T) {
	const service, web = "zookeeper/zk1.example.com", "HTTP/zk1.example.com"
	r, stranger := krb5.StartRealm(t), krb5.StartStranger(t, "EXAMPLE.ORG")
	keys := must.ReadFile(t, r.AddService(service))
	r.AddService(web)
	stranger.AddService(service)
	app := r.AddService("app/client.host")
	login := r.Login("app/client.host", app)
	strangers := stranger.Login("app/client.host", stranger.AddService("app/client.host"))
	shortLived := r.Login("app/short.lived", r.AddService("app/short.lived"))
	r.Limit("app/short.lived", time.Minute)
	first := func() []byte { return krb5.FirstToken(t, login, service) }

	core, logs := observer.New(zap.WarnLevel)
	cfg, clock, files := saslConfig(), &shiftedClock{Runtime: sched.OS()}, &vault{fs: vfs.NewMem()}
	cfg.SASL.KerberosConfig, cfg.MaxClientCnxns = r.Conf, 0
	files.put(t, "/jaas.conf", []byte(kerberosJAAS))
	files.put(t, "/zk.keytab", keys)
	s := New(cfg, Options{FS: files.fs, Meta: meta.NewMem(1), Log: zap.New(core), Version: testVersion,
		Runtime: clock})
	require.NoError(t, s.Start())
	t.Cleanup(s.Stop)
	accepted := func(token []byte) {
		t.Helper()
		rep := saslStep(t, dialWire(t, s, wire.Options{}), token)
		require.Equal(t, proto.OK, rep.Header.Err)
		require.NotEmpty(t, saslToken(t, rep))
	}
	// The clock is right while a client connects, because the deadlines of sockets come from it.
	refused := func(name string, token []byte, ahead time.Duration) {
		t.Helper()
		c := dialWire(t, s, wire.Options{})
		clock.ahead.Store(int64(ahead))
		defer clock.ahead.Store(0)
		rep := saslStep(t, c, token)
		require.EqualValues(t, -115, rep.Header.Err, name)
		require.Equal(t, []byte{0xff, 0xff, 0xff, 0xff}, rep.Body, name)
		require.NoError(t, c.WaitClosed(), name)
	}

	known := first()
	accepted(known)
	expired := krb5.FirstToken(t, shortLived, service)
	r.Keytab(service) // the server does not have these keys
	newKey := krb5.FirstToken(t, r.Login("app/client.host", app), service)
	renamed := bytes.ReplaceAll(krb5.FirstToken(t, strangers, service), []byte("EXAMPLE.ORG"), []byte("EXAMPLE.COM"))
	for i, tt := range []struct {
		name   string
		token  []byte
		ahead  time.Duration // of the server's clock
		reason string
	}{
		{"expired", expired, 8 * time.Minute, "the ticket has expired"},
		{"the client's clock is behind", first(), 10 * time.Minute,
			"the clocks of the client and of the server are more than 5m0s apart"},
		{"the clocks of the client and of the KDC are ahead", first(), -10 * time.Minute,
			"the ticket is not valid yet, or the clock of this server is behind"},
		{"replayed", known, 0, "the authenticator was used before"},
		{"for another service", krb5.FirstToken(t, login, web), 0,
			`the ticket is for "HTTP/zk1.example.com@EXAMPLE.COM", this is zookeeper/zk1.example.com@EXAMPLE.COM`},
		{"of a realm without trust", krb5.FirstToken(t, strangers, service), 0,
			`the ticket is for "zookeeper/zk1.example.com@EXAMPLE.ORG", this is zookeeper/zk1.example.com@`},
		{"of a realm without trust, under this name", renamed, 0,
			"the ticket is not encrypted with the key of the service: it is forged, or the keytab is old"},
		{"of a new key", newKey, 0, "the keytab has no key of zookeeper/zk1.example.com@EXAMPLE.COM with version"},
		{"without a ticket", []byte{}, 0, "the client sends no ticket"},
	} {
		refused(tt.name, tt.token, tt.ahead)
		require.Eventually(t, func() bool {
			lines := logs.FilterMessage("SASL authentication failed").All()
			return len(lines) == i+1 && strings.Contains(fmt.Sprint(lines[i].ContextMap()["error"]), tt.reason)
		}, time.Minute, time.Millisecond, tt.name)
	}

	// The authenticator of a changed token may still be good: then it is the one that was used before.
	for n := range known {
		refused(fmt.Sprintf("cut off at %d", n), known[:n], 0)
		changed := bytes.Clone(known)
		changed[n] ^= 1 << (n % 8)
		refused(fmt.Sprintf("bit %d of byte %d", n%8, n), changed, 0)
	}
	accepted(first())
}
