package console

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
)

// holds lets a new client of server 1 hold a lock, and returns it.
func (j *journey) holds(path, name string) *client.Client {
	j.t.Helper()
	return j.holdsAt(1, path, name)
}

func (j *journey) holdsAt(server int, path, name string) *client.Client {
	j.t.Helper()
	c := must.Do(client.Dial(j.t.Context(), j.ensemble.Addr(server)))(j.t)
	j.t.Cleanup(func() { _ = c.Close() })
	must.Do(recipes.NewMutex(c, path, recipes.WithData([]byte(name))).Lock(j.t.Context()))(j.t)
	return c
}

// waits lets a client wait for a lock, as the n-th below its path.
func (j *journey) waits(c *client.Client, path, name string, n int) {
	j.t.Helper()
	go func() { _, _ = recipes.NewMutex(c, path, recipes.WithData([]byte(name))).Lock(j.t.Context()) }()
	require.Eventually(j.t, func() bool {
		names, _, err := j.client.Children(j.t.Context(), path)
		return err == nil && len(names) == n
	}, patience, 10*time.Millisecond)
}

// row is the text of the row of a lock or recipe, in the page as it is.
func (*journey) row(path string) string {
	return fmt.Sprintf("[...document.querySelectorAll('[aria-label=\"Locks and recipes\"] tbody tr')]"+
		".find(r => r.firstElementChild.textContent === %q)?.textContent", path)
}

// All recipes are one table: by kind, by how long they are held, by who takes part, and by whether somebody waits.
func TestRecipesAreFiltered(t *testing.T) {
	script := axe(t)
	j := visit(t, desk, 1)
	holder := j.holds("/app/orders", "billing")
	j.waits(j.holds("/app/stock", "shipping"), "/app/orders", "shipping", 2)
	must.Do(recipes.NewLatch(holder, "/app/leader", "node-a").Campaign(t.Context()))(t)
	require.NoError(t, recipes.NewQueue(holder, "/app/mail", "/app/mail-locks").Put(t.Context(), []byte("letter")))
	j.show("recipes?under=%2Fapp")
	rows := func(n int) {
		j.t.Helper()
		j.await(fmt.Sprintf("document.querySelectorAll('#recipes tbody tr').length === %d", n))
	}
	rows(4)
	j.awaitText("#recipes p", "4 found in the 10 znodes that you can see at and below /app")
	j.fits(t, script, "recipes-table")
	j.button("With waiters")
	rows(1)
	j.await(j.row("/app/orders") + "?.includes('billing')")
	j.awaitText("#recipes [role=status]", "1 of 4 recipes match")
	j.button("All")
	j.enterText("#recipes [role=group] select", "lock")
	rows(2)
	j.enterText("#recipes input[type=search]", "SHIPPING")
	rows(2) // it waits for the one, and holds the other
	j.enterText("#recipes input[type=search]", "stock")
	rows(1)
	j.run("location.reload()")
	rows(1)
	j.enterText("#recipes input[type=search]", "")
	j.enterText("#recipes .field:nth-of-type(2) select", "3600000")
	j.awaitText("#recipes", "No recipe matches")
}

// The terms of an election come from the log: who has led, and for how long.
func TestTermsOfAnElection(t *testing.T) {
	script := axe(t)
	j := visit(t, desk, 1)
	var last *client.Client
	for _, name := range []string{"node-a", "node-b", "node-c"} {
		c := must.Do(client.Dial(t.Context(), j.ensemble.Addr(1)))(t)
		t.Cleanup(func() { _ = c.Close() })
		led := make(chan error, 1)
		go func() {
			_, err := recipes.NewLatch(c, "/leader", name).Campaign(t.Context())
			led <- err
		}()
		if last != nil {
			require.Eventually(t, func() bool {
				names, _, err := j.client.Children(t.Context(), "/leader")
				return err == nil && len(names) == 2
			}, patience, 10*time.Millisecond)
			require.NoError(t, last.Close())
		}
		require.NoError(t, <-led)
		last = c
	}
	j.show("recipe?path=%2Fleader")
	j.awaitText("#recipe [aria-label=Members] tbody", "node-c")
	j.button("Read the log")
	j.awaitText("#terms", "needs the login of the super user")
	j.loginApp()
	j.await("document.querySelectorAll('#terms tbody tr').length === 3")
	require.Equal(t, []string{"node-c", "node-b", "node-a"}, eval[[]string](j,
		"[...document.querySelectorAll('#terms tbody tr')].map(r => r.children[1].textContent)"))
	require.Equal(t, "Now", eval[string](j, "document.querySelector('#terms tbody tr').children[3].textContent"))
	j.fits(t, script, "recipe")
	j.click("#recipe [aria-label=Members] tbody td a")
	j.await(j.row("/leader") + "?.includes('Leads')")
}

// Two sessions that wait for each other stand out, and a third one that waits behind them does not.
func TestWhoWaitsForWhom(t *testing.T) {
	script := axe(t)
	j := visit(t, desk, 1)
	first, second, third := j.holds("/orders", "billing"), j.holds("/stock", "shipping"), j.holds("/mail", "mailer")
	j.show("recipes")
	j.awaitText("[aria-label='Who waits for whom']", "No session waits for a lock")
	j.waits(third, "/stock", "mailer", 2)
	j.button("Look below")
	j.await("document.querySelectorAll('.waits > a').length === 3")
	require.Zero(t, eval[int](j, "document.querySelectorAll('.waits .in-cycle, .waits .cycle').length"))
	j.waits(first, "/stock", "billing", 3)
	j.waits(second, "/orders", "shipping", 2)
	j.button("Look below")
	j.awaitText("[aria-label='Who waits for whom'] .note", "2 sessions wait for each other, and 1 behind them")
	require.Equal(t, 2, eval[int](j, "document.querySelectorAll('.waits > .in-cycle').length"))
	require.Equal(t, 4, eval[int](j, "document.querySelectorAll('.waits .cycle path:first-child').length"))
	marked := eval[string](j, "[...document.querySelectorAll('.waits > .in-cycle')].map(e => e.textContent).join()")
	require.Contains(t, marked, "billing")
	require.Contains(t, marked, "shipping")
	require.False(t, strings.Contains(marked, "mailer"))
	j.fits(t, script, "recipes")
	j.click(".waits > a.in-cycle")
	j.await("location.hash.startsWith('#/session?label=')")
}

// The page of a session tells what it holds and awaits, who is before it and behind it, and what of it took long.
func TestPageOfASession(t *testing.T) {
	script := axe(t)
	j := visit(t, desk, 1, func(c *config.Config) {
		c.Admin.Top, c.Trace.Slow = true, time.Microsecond
	})
	billing, shipping := j.holds("/orders", "billing"), j.holds("/stock", "shipping")
	third := j.holds("/mail", "mailer")
	j.waits(billing, "/stock", "billing", 2)
	j.waits(third, "/stock", "mailer", 3)
	j.waits(shipping, "/mail", "shipping", 2)
	must.Do(recipes.NewLatch(third, "/leader", "node-a").Campaign(t.Context()))(t)
	j.show("recipes")
	j.await("document.querySelectorAll('.waits > a').length === 5")
	j.run("[...document.querySelectorAll('.waits > a')].find(a => /mailer|node-a/.test(a.textContent)).click()")
	row := j.row
	j.await(row("/mail") + "?.includes('Holds') && " + row("/mail") + ".includes('1 waits')")
	j.await(row("/stock") + ".includes('Waits') && " + row("/stock") + ".includes('and one that waits')")
	j.await(row("/leader") + ".includes('Election') && " + row("/leader") + ".includes('Nobody waits')")
	require.Equal(t, 3, eval[int](j, "document.querySelectorAll('[aria-label=\"Locks and recipes\"] tbody tr')"+
		".length"))
	j.awaitText("#slow-ones", "login of the super user")
	j.loginApp()
	j.awaitText("#slow-ones tbody", "/stock/")
	j.awaitText("[aria-label=Client]", "of each second")
	j.fits(t, script, "session")
	j.run("[...document.querySelectorAll('[aria-label=\"Locks and recipes\"] td a')].pop().click()") // whom it awaits
	j.await(row("/stock") + "?.includes('Holds') && " + row("/stock") + ".includes('2 wait')")
	j.await(row("/mail") + ".includes('Waits')")
}

// The pages of the documentation are one click away, behind a proxy with a prefix, too.
func TestDocumentationIsLinked(t *testing.T) {
	j := visit(t, desk, 1)
	j.throughProxy()
	j.show("")
	j.button("Documentation")
	j.await("location.pathname === '/a/prefix/docs/' && document.querySelector('h1')")
	j.do(chromedp.Navigate(eval[string](j, "document.querySelector('a.to-console').href")))
	j.awaitText("#main", "Standalone server")
}

// One button saves what a bug report needs, for the super user.
func TestSupportBundleIsSaved(t *testing.T) {
	j := visit(t, desk, 1)
	folder := t.TempDir()
	j.do(command(cdpbrowser.SetDownloadBehavior, cdpbrowser.SetDownloadBehaviorParams{
		Behavior: cdpbrowser.SetDownloadBehaviorBehaviorAllow, DownloadPath: folder}))
	j.createFor("bob", "x")
	j.show("servers")
	j.button("Support bundle")
	j.awaitText("dialog", "needs the login of the super user")
	j.enterCredentials("bob", "x")
	j.awaitText("#steering [role=alert]", "This is shown to the super user")
	j.button("Log out bob")
	j.await("document.querySelector('#login')")
	j.loginApp()
	j.button("Support bundle")
	j.awaitText(".toasts", "Support bundle saved")
	require.Eventually(t, func() bool {
		found, err := filepath.Glob(filepath.Join(folder, "warren-support-*.tar.gz"))
		return err == nil && len(found) == 1
	}, patience, 10*time.Millisecond)
}

// From any server: which server holds which session, and the session that holds a lock is opened wherever it is. Of a
// server that is away nothing is made up.
func TestSessionsOfEveryServer(t *testing.T) {
	script := axe(t)
	j := visit(t, desk, 3)
	leader := j.toLeader()
	others := []int{leader%3 + 1, (leader+1)%3 + 1}
	j.holdsAt(others[0], "/orders", "billing")
	j.holdsAt(others[1], "/stock", "shipping")
	j.show("sessions")
	row := func(server int) string {
		return fmt.Sprintf("[...document.querySelectorAll('#sessions tbody tr')].some(r => "+
			"r.children[2].textContent === '%d' && r.children[0].textContent.includes('127.0.0.1'))", server)
	}
	j.await("document.querySelectorAll('#sessions .tag').length === 3")
	refresh := func(condition string) {
		j.t.Helper()
		require.Eventually(t, func() bool {
			j.button("Refresh")
			return eval[bool](j, condition)
		}, patience, 200*time.Millisecond, condition)
	}
	refresh(row(others[0]) + " && " + row(others[1]))
	j.fits(t, script, "sessions")
	j.show("recipes")
	j.await(j.row("/orders") + "?.includes('billing')")
	j.run("[...document.querySelectorAll('#recipes tbody tr')].find(r => r.textContent.includes('billing'))" +
		".querySelector('td a').click()")
	j.awaitText("#session", fmt.Sprintf("Connected to server %d since", others[0]))
	j.awaitText("#ephemerals", "/orders/")
	j.ensemble.Kill(others[1])
	j.show("sessions")
	refresh(fmt.Sprintf("document.querySelector('#sessions').textContent.includes('Server %d: not known')", others[1]))
	refresh("[...document.querySelectorAll('#sessions tbody tr')].some(r => " +
		"r.children[2].textContent === 'Not known' && r.children[0].textContent === 'Not known')")
}
