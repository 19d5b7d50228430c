package krb5

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/internal/sasl"
	"github.com/seed94657493/warren/kerberos"
	"github.com/seed94657493/warren/test/must"
)

const (
	clients = "zookeeper/zk1.example.com@EXAMPLE.COM"
	first   = "zkquorum/zk1.example.com@EXAMPLE.COM"
	second  = "zkquorum/zk2.example.com@EXAMPLE.COM"
	app     = "app/client.example.com@EXAMPLE.COM"
	user    = "bob@EXAMPLE.COM"

	ticketLife = 10 * time.Hour
	renewLife  = 7 * 24 * time.Hour
	day        = 24 * time.Hour
)

// keyed is a side that connects with tickets, and another that accepts them.
type keyed struct {
	name    string
	connect func() error
	keytab  func(password string) // replaces the keytab of the connecting side
}

// days is a world whose clock is that of testing/synctest.
type days struct {
	*KDC
	t     *testing.T
	forge *Forge
}

// inDays runs a test under a clock of its own, with a KDC.
func inDays(t *testing.T, run func(d *days)) {
	t.Helper()
	forge := NewForge(t)
	passwords := map[string]string{}
	for _, name := range []string{clients, first, second, app, user} {
		passwords[name] = "password of " + name
	}
	kdc := forge.NewKDC("EXAMPLE.COM", ticketLife, renewLife, passwords)
	synctest.Test(t, func(t *testing.T) { run(&days{kdc, t, forge}) })
}

// acceptor accepts tickets for a service.
func (d *days) acceptor(service string) *kerberos.Acceptor {
	p := must.Do(kerberos.ParsePrincipal(service))(d.t)
	keys := must.Do(kerberos.ParseKeytab(d.forge.Keys("password of "+service, service)))(d.t)
	return kerberos.NewAcceptor(p, func() *kerberos.Keytab { return keys }, time.Now)
}

func (d *days) login(o kerberos.LoginOptions) *kerberos.Login {
	o.Config = d.Config
	return must.Do(kerberos.NewLogin(o))(d.t)
}

// keytab returns a keytab of a principal, and what replaces it.
func (d *days) keytab(principal string) (file string, replace func(password string)) {
	base := filepath.Base(principal)
	file = d.forge.Keytab(base, "password of "+principal, principal)
	return file, func(password string) { d.forge.Keytab(base, password, principal) }
}

// client is a client with a keytab.
func (d *days) client() keyed {
	file, replace := d.keytab(app)
	login, a := d.login(kerberos.LoginOptions{Principal: app, Keytab: file}), d.acceptor(clients)
	return keyed{"client", func() error {
		who, err := talk(login.Initiate(clients), a)
		if err == nil && who != app {
			err = errors.New("the client is " + who)
		}
		return err
	}, replace}
}

// server is a server with a keytab that connects to another.
func (d *days) server() keyed {
	file, replace := d.keytab(second)
	service := must.Do(kerberos.ParsePrincipal("zkquorum/_HOST"))(d.t)
	initiator := sasl.NewKerberosInitiator(d.login(kerberos.LoginOptions{Principal: second, Keytab: file}), service)
	other := &sasl.QuorumAcceptor{Required: true, Mechanism: sasl.NewKerberos(d.acceptor(first),
		func(p kerberos.Principal) (string, error) { return p.String(), nil })}
	return keyed{"server", func() error {
		near, far := net.Pipe()
		defer near.Close()
		accepted := make(chan error, 1)
		go func() {
			defer far.Close()
			_, err := other.Accept(far)
			accepted <- err
		}()
		err := initiator.Connect(context.Background(), near, "zk1.example.com")
		_ = near.Close()
		if err == nil {
			err = <-accepted
		}
		return err
	}, replace}
}

// For thirty days a KDC is away for an hour and fifty minutes, and there for a time that is never the same. Tickets
// are renewed at four fifths of their life, so that two hours are left at any time: every connection is let in,
// although there is none while the KDC is there. The KDC is asked for few tickets.
func TestTicketsAreRenewedForDays(t *testing.T) {
	for _, make := range []func(*days) keyed{(*days).client, (*days).server} {
		inDays(t, func(d *days) {
			side, began, connections := make(d), time.Now(), 0
			require.NoError(t, side.connect())
			for there := time.Minute; time.Since(began) < 30*day; there = (there + 97*time.Minute) % (9 * time.Hour) {
				time.Sleep(there + 2*time.Minute) // the KDC is asked again every minute
				synctest.Wait()
				d.SetAway(true)
				for range 2 {
					time.Sleep(55 * time.Minute)
					require.NoError(t, side.connect(), "%s, after %v", side.name, time.Since(began))
					connections++
				}
				synctest.Wait() // the attempt of this minute has failed
				d.SetAway(false)
				synctest.Wait()
			}
			t.Logf("%s: %d connections, %d and %d tickets", side.name, connections, d.Count(ByKey),
				d.Count(ByTicket))
			for _, kind := range []string{ByKey, ByTicket} {
				require.InDelta(t, 90, d.Count(kind), 10, kind)
			}
			require.Zero(t, d.Count(Refused))
		})
	}
}

// A login that is not used for days has a ticket nonetheless when the KDC goes away.
func TestTicketsOfIdleLoginsAreRenewed(t *testing.T) {
	inDays(t, func(d *days) {
		side := d.server()
		require.NoError(t, side.connect())
		time.Sleep(9 * day)
		d.SetAway(true)
		time.Sleep(110 * time.Minute)
		require.NoError(t, side.connect())
	})
}

// A KDC that is away for longer than a ticket lives costs new connections only, from the end of the ticket until the
// KDC is back. The failure is temporary, so that clients and servers go on trying. After it there is a ticket within a
// minute, without a connection.
func TestKDCIsAwayForDays(t *testing.T) {
	for _, make := range []func(*days) keyed{(*days).client, (*days).server} {
		inDays(t, func(d *days) {
			side := make(d)
			require.NoError(t, side.connect())
			time.Sleep(7 * time.Hour)
			d.SetAway(true)
			time.Sleep(ticketLife - 7*time.Hour - time.Minute)
			require.NoError(t, side.connect(), "the ticket holds")
			for range 100 {
				time.Sleep(time.Hour)
				err := side.connect()
				require.ErrorContains(t, err, "no KDC has given a ticket")
				var later interface{ Temporary() bool }
				require.True(t, asTemporary(err, &later), "%v", err)
			}
			d.SetAway(false)
			time.Sleep(time.Minute + time.Second)
			synctest.Wait()
			d.SetAway(true)
			require.NoError(t, side.connect())
			require.Less(t, d.Count(ByKey), 4)
		})
	}
}

// The keytab is read again for each ticket for tickets: one that is replaced while the old ticket is good costs
// nothing, even if the KDC has had the new key for some time. While the keys differ the KDC is not flooded.
func TestKeysChangeWhileTicketsAreRenewed(t *testing.T) {
	for _, make := range []func(*days) keyed{(*days).client, (*days).server} {
		inDays(t, func(d *days) {
			side := make(d)
			require.NoError(t, side.connect())
			principal := map[string]string{"client": app, "server": second}[side.name]
			for i, password := range []string{"second", "third", "fourth"} {
				time.Sleep(day)
				d.SetPassword(principal, password)
				time.Sleep(time.Duration(i) * 50 * time.Minute)
				require.NoError(t, side.connect())
				side.keytab(password)
				time.Sleep(day)
				require.NoError(t, side.connect())
			}
			require.Less(t, d.Count(Refused), 5)

			d.SetPassword(principal, "another")
			time.Sleep(2 * day)
			require.Less(t, d.Count(Refused), 20)
			require.Error(t, side.connect())
			side.keytab("another")
			require.NoError(t, side.connect())
			d.SetAway(true)
			time.Sleep(ticketLife - time.Minute)
			require.NoError(t, side.connect())
		})
	}
}

// The ticket for tickets that kinit has left is renewed as long as it can be, as kinit -R does it. The file stays as
// it is. Then kinit has to be run.
func TestTicketOfKinitIsRenewed(t *testing.T) {
	inDays(t, func(d *days) {
		cache := d.Kinit("cc", user)
		before := must.ReadFile(t, cache)
		login, a := d.login(kerberos.LoginOptions{TicketCache: cache}), d.acceptor(clients)
		connect := func() error {
			who, err := talk(login.Initiate(clients), a)
			if err == nil {
				require.Equal(t, user, who)
			}
			return err
		}
		for range 2 {
			require.NoError(t, connect())
			time.Sleep(2 * day)
			require.NoError(t, connect())
			time.Sleep(5*day - time.Minute)
			require.NoError(t, connect())
			time.Sleep(time.Minute)
			require.ErrorContains(t, connect(), "run kinit")
			require.Equal(t, before, must.ReadFile(t, cache))
			d.Kinit("cc", user)
			before = must.ReadFile(t, cache)
		}
		require.InDelta(t, 2*21, d.Count(Renewed), 14)
		require.Zero(t, d.Count(ByKey))
	})
}

// A ticket for a service that is in the cache is used, and is renewed in time as any other.
func TestServiceTicketOfCacheIsRenewed(t *testing.T) {
	inDays(t, func(d *days) {
		login, a := d.login(kerberos.LoginOptions{TicketCache: d.Kinit("cc", user, clients)}), d.acceptor(clients)
		connect := func() error {
			_, err := talk(login.Initiate(clients), a)
			return err
		}
		require.NoError(t, connect())
		require.Zero(t, d.Count(ByTicket))
		time.Sleep(ticketLife - time.Hour)
		d.SetAway(true)
		time.Sleep(2 * time.Hour)
		require.NoError(t, connect())
	})
}
