package security

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/seed94657493/warren/internal/sasl"
	"github.com/seed94657493/warren/kerberos"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/krb5"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
)

const service = "zookeeper/zk1.example.com@EXAMPLE.COM"

// The keys of the service change while the server runs: a new keytab counts seconds later, and a file that is no
// keytab changes nothing.
func TestKeytabIsReplaced(t *testing.T) {
	forge, fs, now := krb5.NewForge(t), vfs.NewMem(), time.Now()
	core, logs := observer.New(zap.ErrorLevel)
	put := func(b []byte) {
		require.NoError(t, vfs.WriteFile(fs, "/keytab", b))
	}
	put(forge.Keys("old", service))
	tickets := &Tickets{FS: fs, Log: zap.New(core), Now: func() time.Time { return now },
		Config: forge.Config("EXAMPLE.COM")}
	a := must.Do(tickets.Accept(&sasl.Kerberos{Principal: "zookeeper/zk1.example.com", Keytab: "/keytab"}))(t)
	require.Equal(t, service, a.Service().String())
	accepts := func(password string) bool {
		cache := forge.Cache("cache", "bob@EXAMPLE.COM", password, now.Add(time.Hour), service)
		login := must.Do(kerberos.NewLogin(kerberos.LoginOptions{TicketCache: cache, Config: tickets.Config,
			Timeout: time.Minute}))(t)
		token, _ := must.Do2(login.Initiate(service).Next(nil))(t)
		_, err := a.Accept().Step(token)
		return err == nil
	}
	require.True(t, accepts("old"))
	put(forge.Keys("new", service))
	require.True(t, accepts("old"), "not looked at yet")
	now = now.Add(keytabInterval)
	require.True(t, accepts("new"))
	require.False(t, accepts("old"))
	put([]byte("half a"))
	now = now.Add(keytabInterval)
	require.Zero(t, logs.Len())
	require.True(t, accepts("new"))
	require.Equal(t, 1, logs.FilterMessage(
		"the keytab cannot be used: the keys that were read before stay in use").Len())
	require.NoError(t, fs.Remove("/keytab"))
	now = now.Add(keytabInterval)
	require.True(t, accepts("new"))
	require.Equal(t, 2, logs.Len())
}

// Servers are the services of the ensemble on the hosts of its members, and nothing else.
func TestWhoIsAServer(t *testing.T) {
	cfg := config.Default()
	q := &Quorum{o: QuorumOptions{Config: cfg, Members: func() []config.Member {
		return []config.Member{{ID: 1, Addresses: []config.PeerAddress{{Host: "zk1.a.org"}, {Host: "10.0.0.1"}}},
			{ID: 2, Addresses: []config.PeerAddress{{Host: "ZK2.a.org"}}}}
	}}}
	parse := func(name string) kerberos.Principal {
		p := must.Do(kerberos.ParsePrincipal(name))(t)
		return p
	}
	for name, want := range map[string]string{
		"zkquorum/zk1.a.org@A.ORG": "", "zkquorum/zk2.a.org@A.ORG": "", "zkquorum/10.0.0.1@A.ORG": "",
		"learner/zk1.a.org@A.ORG": "", "zkquorum/zk3.a.org@A.ORG": "in no server.N line",
		"zkquorum/zk1.a.org@B.ORG": "not a service of A.ORG", "zkquorum@A.ORG": "not a service of A.ORG",
		"HTTP/zk1.a.org@A.ORG": "neither zkquorum nor", "bob@A.ORG": "not a service of A.ORG",
		"zkquorum/zk1.a.org/x@A.ORG": "not a service of A.ORG",
	} {
		err := q.isServer(parse(name), parse("zkquorum/zk1.a.org@A.ORG"), "learner")
		if want == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
	require.Error(t, q.isServer(parse("bob@A.ORG"), parse("zkquorum/zk1.a.org@A.ORG"), ""))
}
