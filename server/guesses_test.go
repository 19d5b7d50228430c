package server_test

import (
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/limits"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// Every door that takes a password counts the wrong ones together: a client that has guessed at one of them waits at
// all of them.
func TestGuessesOfPasswordsAreCountedTogether(t *testing.T) {
	for name, guess := range map[string]func(*testing.T, *doors) bool{
		"admin command": func(t *testing.T, d *doors) bool { return d.command(t, "super:guess") != 429 },
		"console":       func(t *testing.T, d *doors) bool { return d.browser.login("super", "guess") != 429 },
		"addauth":       func(t *testing.T, d *doors) bool { return d.addAuth(t, "super:guess") == proto.OK },
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := withAdmin(t, nil)
			d := &doors{browser: browse(t, s), admin: s.AdminAddr().String(), client: s.Addr().String(),
				from: "127.0.0.1"}
			for range 3 * limits.GuessesMax { // the right password uses up nothing
				require.Equal(t, http.StatusOK, d.command(t, "super:secret"))
			}
			taken := 0
			for range 3 * limits.GuessesMax {
				if guess(t, d) {
					taken++
				}
			}
			require.GreaterOrEqual(t, taken, limits.GuessesMax)
			require.LessOrEqual(t, taken, limits.GuessesMax+5, "one more every ten seconds")
			require.Equal(t, http.StatusTooManyRequests, d.command(t, "super:secret"))
			require.Equal(t, http.StatusTooManyRequests, d.browser.login("super", "secret"))
			require.Equal(t, proto.ErrAuthFailed, d.addAuth(t, "super:secret"))
			require.Equal(t, proto.OK, d.addAuth(t, "bob:secret"), "every user but super has every password")
			d.from = "127.0.0.2"
			require.Equal(t, http.StatusOK, d.command(t, "super:secret"), "another address")
			require.Equal(t, proto.OK, d.addAuth(t, "super:secret"))
		})
	}
}

// A user that an ACL names and that may not have a snapshot does not guess, however often it asks.
func TestKnownUsersDoNotGuess(t *testing.T) {
	s, c := withAdmin(t, nil)
	c.MustDo(t, wire.Auth("digest", []byte("bob:x")))
	c.MustDo(t, wire.Create("/of-bob", nil, wire.ACL(31, "auth", ""), proto.ModePersistent))
	d := &doors{admin: s.AdminAddr().String(), from: "127.0.0.1"}
	for range 3 * limits.GuessesMax {
		require.Equal(t, http.StatusForbidden, d.command(t, "bob:x"))
	}
	require.Equal(t, http.StatusOK, d.command(t, "super:secret"))
}

// doors are the places where a server takes a password.
type doors struct {
	browser       *browser
	admin, client string
	from          string // loopback address of the client
}

func (d *doors) dialer() *net.Dialer {
	return &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(d.from)}}
}

// command asks for what may be secret, and returns the status.
func (d *doors) command(t *testing.T, credentials string) int {
	t.Helper()
	r := must.Do(http.NewRequest(http.MethodGet, "http://"+d.admin+"/commands/top", nil))(t)
	r.Header.Set("Authorization", "digest "+credentials)
	client := http.Client{Transport: &http.Transport{DialContext: d.dialer().DialContext, DisableKeepAlives: true}}
	resp := must.Do(client.Do(r))(t)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode
}

// addAuth sends credentials on a connection of its own.
func (d *doors) addAuth(t *testing.T, credentials string) proto.ErrCode {
	t.Helper()
	c := must.Do(wire.Dial(d.client, wire.Options{From: d.dialer().LocalAddr}))(t)
	defer c.Close()
	rep := c.MustDo(t, wire.Auth("digest", []byte(credentials)))
	return rep.Header.Err
}
