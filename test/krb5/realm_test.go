package krb5

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/kerberos"
	"github.com/seed94657493/warren/test/must"
)

// service is a kerberos.Acceptor with a keytab of the KDC.
func service(t *testing.T, principal, keytab string) *kerberos.Acceptor {
	t.Helper()
	p := must.Do(kerberos.ParsePrincipal(principal + "@" + RealmName))(t)
	return kerberos.NewAcceptor(p, func() *kerberos.Keytab {
		return must.Do(kerberos.ParseKeytab(must.ReadFile(t, keytab)))(t)
	}, time.Now)
}

// talk runs an exchange, and returns the client that the service has seen.
func talk(x *kerberos.Initiator, a *kerberos.Acceptor) (string, error) {
	y := a.Accept()
	var challenge []byte
	for {
		token, isLast, err := x.Next(challenge)
		if err != nil {
			return "", err
		}
		if challenge, err = y.Step(token); err != nil || isLast {
			return y.Client().String(), err
		}
	}
}

// Tickets of a real KDC: by keytab, by password and from the cache of kinit; with keys that change; and when the KDC
// is away.
func TestRealm(t *testing.T) {
	r := StartRealm(t)
	r.AddUsers("bob", "eve")
	keytab, app := r.AddService("zookeeper/localhost"), r.AddService("app/localhost")
	a := service(t, "zookeeper/localhost", keytab)
	login := func(o kerberos.LoginOptions) *kerberos.Login {
		t.Helper()
		o.Config = r.Conf
		return must.Do(kerberos.NewLogin(o))(t)
	}
	byKeytab := login(kerberos.LoginOptions{Principal: "app/localhost", Keytab: app})
	logins := map[string]*kerberos.Login{
		"app/localhost@EXAMPLE.COM": byKeytab,
		"bob@EXAMPLE.COM":           login(kerberos.LoginOptions{Principal: "bob", Password: Password}),
		"eve@EXAMPLE.COM":           login(kerberos.LoginOptions{TicketCache: r.Kinit("eve")}),
	}
	for want, l := range logins {
		got := must.Do(talk(l.Initiate("zookeeper/localhost"), a))(t, want)
		require.Equal(t, want, got)
	}
	var later interface{ Temporary() bool }
	_, err := talk(byKeytab.Initiate("zookeeper/other.host"), a)
	require.ErrorContains(t, err, "no KDC has given a ticket for zookeeper/other.host@EXAMPLE.COM")
	require.False(t, asTemporary(err, &later), "%v", err)
	_, err = talk(login(kerberos.LoginOptions{Principal: "bob", Password: "wrong"}).Initiate("zookeeper/localhost"), a)
	require.ErrorContains(t, err, "no KDC has given a ticket to bob@EXAMPLE.COM")
	require.False(t, asTemporary(err, &later), "%v", err)
	_, err = talk(login(kerberos.LoginOptions{Principal: "nobody", Password: "x"}).Initiate("zookeeper/localhost"), a)
	require.ErrorContains(t, err, "CLIENT_NOT_FOUND")

	// The service and a client get new keys. Tickets of before are good as long as the old keys are in the keytab.
	r.Keytab("zookeeper/localhost")
	r.Keytab("app/localhost")
	for range 2 {
		for want, l := range logins {
			got := must.Do(talk(l.Initiate("zookeeper/localhost"), a))(t, want)
			require.Equal(t, want, got)
		}
		logins = map[string]*kerberos.Login{
			"app/localhost@EXAMPLE.COM": login(kerberos.LoginOptions{Principal: "app/localhost", Keytab: app}),
		}
	}

	r.Stop()
	must.Do(talk(byKeytab.Initiate("zookeeper/localhost"), a))(t, "the ticket is good without a KDC")
	err = login(kerberos.LoginOptions{Principal: "app/localhost", Keytab: app}).Prepare(context.Background(),
		"zookeeper/localhost")
	require.ErrorContains(t, err, "no KDC has given a ticket to app/localhost@EXAMPLE.COM")
	require.True(t, asTemporary(err, &later), "%v", err)
	r.Start()
	require.NoError(t, login(kerberos.LoginOptions{Principal: "app/localhost", Keytab: app}).
		Prepare(context.Background(), "zookeeper/localhost"))
}

// Tickets that live for seconds are renewed by keytab, and from a cache when kinit has run again.
func TestTicketsExpire(t *testing.T) {
	r := StartRealm(t)
	r.AddUsers("bob")
	keytab, app := r.AddService("zookeeper/localhost"), r.AddService("app/localhost")
	r.Limit("app/localhost", 15*time.Second)
	a := service(t, "zookeeper/localhost", keytab)
	byKeytab, err := kerberos.NewLogin(kerberos.LoginOptions{Principal: "app/localhost", Keytab: app, Config: r.Conf})
	require.NoError(t, err)
	byCache, err := kerberos.NewLogin(kerberos.LoginOptions{TicketCache: r.Kinit("bob", "-l", "15s"), Config: r.Conf})
	require.NoError(t, err)
	for _, l := range []*kerberos.Login{byKeytab, byCache} {
		must.Do(talk(l.Initiate("zookeeper/localhost"), a))(t)
	}
	require.Eventually(t, func() bool {
		_, err = talk(byCache.Initiate("zookeeper/localhost"), a)
		return err != nil
	}, time.Minute, 100*time.Millisecond)
	require.ErrorContains(t, err, "run kinit")
	must.Do(talk(byKeytab.Initiate("zookeeper/localhost"), a))(t)
	r.Kinit("bob")
	must.Do(talk(byCache.Initiate("zookeeper/localhost"), a))(t)
}

// A client of another realm gets in with a ticket that the KDCs of both realms have given. It keeps the name of its
// realm. The way back is closed: the other realm does not trust this one.
func TestTrustedRealm(t *testing.T) {
	here, there := StartRealms(t, RealmName, "OTHER.ORG")
	there.AddUsers("bob")
	here.AddUsers("bob")
	a := service(t, "zookeeper/localhost", here.AddService("zookeeper/localhost"))
	app := there.AddService("app/client.host")
	for want, o := range map[string]kerberos.LoginOptions{
		"bob@OTHER.ORG":             {TicketCache: there.Kinit("bob"), Config: there.Conf},
		"app/client.host@OTHER.ORG": {Principal: "app/client.host", Keytab: app, Config: there.Conf},
	} {
		l := must.Do(kerberos.NewLogin(o))(t)
		got := must.Do(talk(l.Initiate("zookeeper/localhost"), a))(t, want)
		require.Equal(t, want, got)
	}
	there.AddService("zookeeper/other.host")
	l := must.Do(kerberos.NewLogin(kerberos.LoginOptions{TicketCache: here.Kinit("bob"), Config: here.Conf}))(t)
	require.ErrorContains(t, l.Prepare(context.Background(), "zookeeper/other.host@OTHER.ORG"),
		"no KDC has given a ticket")
}

func asTemporary(err error, later *interface{ Temporary() bool }) bool {
	return errors.As(err, later) && (*later).Temporary()
}
