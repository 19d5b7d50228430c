package console

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/server/config"
)

// steerPause is a little more than the least time between two orders of a kind.
const steerPause = 1100 * time.Millisecond

// order opens the form of a kind of orders, sets its fields, and gives the order or tries it.
func (j *journey) order(kind string, try bool, fields ...string) {
	j.t.Helper()
	j.open("steering")
	j.run(fmt.Sprintf("document.querySelector('#of-%s').open = true", kind))
	for i := 0; i < len(fields); i += 2 {
		j.fill(fmt.Sprintf("#of-%s [name=%s]", kind, fields[i]), fields[i+1])
	}
	if try {
		j.click(fmt.Sprintf("#of-%s button[name=dry]", kind))
		return
	}
	j.click(fmt.Sprintf("#of-%s input[name=sure]", kind))
	j.click(fmt.Sprintf("#of-%s button.danger", kind))
}

// The leadership moves to the server that is chosen, after a try that moves nothing.
func TestLeadershipIsMoved(t *testing.T) {
	j := visit(t, desk, 3)
	leader := j.toLeader()
	to := leader%3 + 1
	j.login()
	j.order("hand_over", true, "to", fmt.Sprint(to))
	j.awaitText("#outcome", fmt.Sprintf("Server %d would hand over to server %d", leader, to))
	require.Equal(t, "leader", j.ensemble.Server(leader).Status().Mode)
	j.order("hand_over", false, "to", fmt.Sprint(to))
	j.awaitText("#outcome", fmt.Sprintf("Server %d leads, after server %d", to, leader))
	require.Equal(t, "leader", j.ensemble.Server(to).Status().Mode)
	time.Sleep(steerPause)
	j.order("hand_over", false, "to", fmt.Sprint(leader))
	j.awaitText(".trouble", fmt.Sprintf("ask server %d", to))
}

// A server is drained, says so, and takes clients again.
func TestServerIsDrained(t *testing.T) {
	j := visit(t, telephone, 3)
	j.login()
	j.order("drain", true)
	j.awaitText("#outcome", "1 clients would leave")
	j.order("drain", false, "rate", "1000")
	j.awaitText("#outcome", "The server is drained")
	j.open("steering")
	j.awaitText("#clients", "the server takes none")
	time.Sleep(steerPause)
	j.run("document.querySelector('#of-drain').open = true")
	j.click("#of-drain input[name=resume]")
	j.click("#of-drain input[name=sure]")
	j.click("#of-drain button.danger")
	j.awaitText("#outcome", "The server takes clients")
	j.create("/after", "") // by a client that knows no other server
}

// From the sessions to the end of one: its ephemeral goes, and its client has a new session.
func TestSessionIsEnded(t *testing.T) {
	j := visit(t, desk, 1)
	other, err := client.Dial(t.Context(), j.ensemble.Addr(1))
	require.NoError(t, err)
	defer other.Close()
	_, err = other.Create(t.Context(), "/mine", nil, client.Ephemeral)
	require.NoError(t, err)
	j.login()
	j.open("sessions")
	j.run("Array.from(document.querySelectorAll('tbody tr')).find(r => r.querySelector('a[href*=\"%2Fmine\"]'))" +
		".querySelector('a[href^=steering]').click()")
	j.await("document.querySelector('#session')?.value.startsWith('s-') && " +
		"document.querySelector('#of-end_session').open")
	j.click("#of-end_session button[name=dry]")
	j.awaitText("#outcome", "would end, and 1 ephemeral znodes with it")
	j.click("#of-end_session button.danger")
	j.awaitText(".trouble", "tick the box")
	j.click("#of-end_session input[name=sure]")
	j.click("#of-end_session button.danger")
	j.awaitText("#outcome", "has ended")
	_, exists, err := j.client.Exists(t.Context(), "/mine")
	require.NoError(t, err)
	require.False(t, exists)
}

// Clients whose connections end come back with their sessions.
func TestClientsAreShed(t *testing.T) {
	j := visit(t, desk, 1)
	j.login()
	before, _ := j.client.Session()
	j.order("shed_connections", true, "percentage", "100")
	j.awaitText("#outcome", "1 connections would end")
	j.order("shed_connections", false, "percentage", "100")
	j.awaitText("#outcome", "1 connections were ended")
	j.create("/after", "")
	after, _ := j.client.Session()
	require.Equal(t, before, after)
	j.order("shed_connections", false, "percentage", "101")
	j.awaitText(".trouble", "Percentage must be between 0 and 100")
}

// A snapshot is written once; a second one would have nothing more. The server in a test has a log of a fixed level.
func TestSnapshotAndLogLevel(t *testing.T) {
	j := visit(t, telephone, 1, func(c *config.Config) { c.Admin.RateLimiterInterval = 0 })
	j.create("/one", "")
	j.login()
	j.order("take_snapshot", false)
	j.awaitText("#outcome", "was written")
	j.awaitText("#snapshot", "has every txn")
	j.await("document.querySelector('#of-take_snapshot')")
	j.order("take_snapshot", true)
	j.awaitText("#outcome", "Nothing was written")
	j.order("log_level", false, "level", "debug")
	j.awaitText(".trouble", "does not let the level of its log be changed")
}

// Without a login, without the setting or without the permissions the page has no form, and says why.
func TestSteeringIsClosed(t *testing.T) {
	j := visit(t, desk, 1, func(c *config.Config) { c.Admin.ConsoleWrites = false })
	j.open("steering")
	j.awaitText(".trouble", "steering needs a login")
	j.awaitText("#main", "Log in")
	j.login()
	j.open("steering")
	j.awaitText("#main", "warren.console.writes is false")
	require.Zero(t, eval[int](j, "document.querySelectorAll('main form').length"))

	k := visit(t, desk, 1)
	k.create("/bobs", "", client.WithACL(client.ACL{Perms: client.PermAll, Scheme: "digest",
		ID: "bob:fyVmFCwVbTJYrznoSu1koqYEYF0="}))
	k.loginAs("bob", "secret")
	k.open("steering")
	k.awaitText(".trouble", "every permission on the root")
	require.Zero(t, eval[int](k, "document.querySelectorAll('main form').length"))
}

// The page fits every screen, and all of it has names; the keyboard alone gives an order.
func TestSteeringFitsAndIsOperable(t *testing.T) {
	for _, s := range []screen{desk, telephone} {
		j := visit(t, s, 3)
		j.login()
		j.open("steering?session=" + strings.Repeat("x", 60))
		j.run("document.querySelectorAll('details').forEach(d => d.open = true)")
		require.LessOrEqual(t, eval[int](j, "document.documentElement.scrollWidth"), int(s.width))
		j.checkNames("steering")
	}
	j := visit(t, desk, 1)
	j.login()
	j.open("steering")
	j.tabTo("closest('#of-take_snapshot summary') !== null")
	j.press(" ")
	j.tabTo("name === 'sure'")
	j.press(" ")
	j.tabTo("classList.contains('danger')")
	j.press("\r")
	j.await("document.querySelector('#outcome')")
}
