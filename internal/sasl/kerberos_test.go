package sasl

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/kerberos"
	"github.com/seed94657493/warren/test/krb5"
	"github.com/seed94657493/warren/test/must"
)

const quorumService = "zkquorum/zk1.example.com@EXAMPLE.COM"

// Servers prove their identities to each other by tickets, in ZooKeeper's packets.
func TestQuorumByKerberos(t *testing.T) {
	forge := krb5.NewForge(t)
	keys := must.Do(kerberos.ParseKeytab(forge.Keys("secret", quorumService)))(t)
	service := must.Do(kerberos.ParsePrincipal(quorumService))(t)
	errHost := errors.New("not a member")
	mechanism := NewKerberos(kerberos.NewAcceptor(service, func() *kerberos.Keytab { return keys }, time.Now),
		func(p kerberos.Principal) (string, error) {
			if p.Host() != "zk2.example.com" {
				return "", errHost
			}
			return p.String(), nil
		})
	connect := func(password, as, to string) func(net.Conn) error {
		cache := forge.Cache("cache", as, password, time.Now().Add(time.Hour), quorumService)
		login, err := kerberos.NewLogin(kerberos.LoginOptions{TicketCache: cache, Config: forge.Config("EXAMPLE.COM"),
			Timeout: time.Minute})
		require.NoError(t, err)
		pattern := must.Do(kerberos.ParsePrincipal("zkquorum/_HOST"))(t)
		return func(c net.Conn) error {
			return NewKerberosInitiator(login, pattern).Connect(context.Background(), c, to)
		}
	}
	const zk2 = "zkquorum/zk2.example.com@EXAMPLE.COM"
	for _, required := range []bool{false, true} {
		a := &QuorumAcceptor{mechanism, required}
		adm, fromAcceptor, fromInitiator := meet(t, a, connect("secret", zk2, "ZK1.example.com"))
		require.NoError(t, fromAcceptor)
		require.NoError(t, fromInitiator)
		require.Equal(t, zk2, adm.User)

		for name, strange := range map[string]func(net.Conn) error{
			"forged ticket": connect("guessed", zk2, "zk1.example.com"),
			"stranger":      connect("secret", "zkquorum/zk9.example.com@EXAMPLE.COM", "zk1.example.com"),
			"password":      initiator("zk", "secret"),
		} {
			adm, fromAcceptor, fromInitiator = meet(t, a, strange)
			require.ErrorIs(t, fromInitiator, ErrAuth, name)
			require.Empty(t, adm.User, name)
			if required {
				require.ErrorIs(t, fromAcceptor, ErrAuth, name)
			} else {
				require.ErrorIs(t, adm.Failure, ErrAuth, name)
			}
		}
	}
	_, fromAcceptor, fromInitiator := meet(t, &QuorumAcceptor{byPassword, true},
		connect("secret", zk2, "zk1.example.com"))
	require.ErrorIs(t, fromAcceptor, ErrAuth)
	require.ErrorIs(t, fromInitiator, ErrAuth)

	_, _, fromInitiator = meet(t, &QuorumAcceptor{mechanism, true}, connect("secret", zk2, "zk3.example.com"))
	require.ErrorContains(t, fromInitiator, "the ticket cache has no valid ticket")
}
