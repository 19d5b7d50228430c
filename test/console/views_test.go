package console

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
	"github.com/seed94657493/warren/server/config"
)

func counting(c *config.Config) { c.Admin.Top = true }
func sharing(c *config.Config)  { c.Admin.ConsoleLinks = true }

// ephemeral creates an ephemeral znode, and its parent.
func (j *journey) ephemeral(path, data string) {
	j.t.Helper()
	_, err := j.client.Create(j.t.Context(), path, []byte(data), client.Ephemeral)
	require.NoError(j.t, err)
}

// The pages that explain an ensemble fit every screen, and all that can be operated has a name.
func TestViewsFit(t *testing.T) {
	for _, width := range []int64{390, 1440} {
		for _, scheme := range []string{"light", "dark"} {
			t.Run(fmt.Sprint(width, scheme), func(t *testing.T) {
				j := visit(t, screen{width, scheme}, 1, counting, sharing, func(c *config.Config) {
					c.Admin.ConsoleEnsembles = []string{hostile + "=http://127.0.0.1:1"}
				})
				wide := strings.Repeat("wide", 60)
				j.create("/"+hostile, hostile)
				j.create("/"+wide, "")
				j.ephemeral("/"+hostile+"/"+hostile+"lock-0000000001", hostile+wide)
				j.ephemeral("/"+wide+"/"+wide+"-latch-0000000001", wide)
				j.login()
				for _, path := range []string{"recipes", "hot", "hot?by=time", "sizes", "sizes?by=writes", "past",
					"past?at=ff&path=/", "past?at=3&path=/", "difference?from=2", "ensembles", "links", "shared"} {
					j.open(path)
					require.LessOrEqual(t, eval[int](j, "document.documentElement.scrollWidth"), int(width), path)
					require.Zero(t, eval[int](j, "document.querySelectorAll('main img, main script').length"), path)
					if path != "shared" {
						j.checkNames(path)
					}
				}
			})
		}
	}
}

func TestLockShowsItsHolderAndThoseThatWait(t *testing.T) {
	j := visit(t, telephone, 1)
	ctx := t.Context()
	_, err := recipes.NewMutex(j.client, "/lock", recipes.WithData([]byte("first"))).Lock(ctx)
	require.NoError(t, err)
	go func() { _, _ = recipes.NewMutex(j.client, "/lock", recipes.WithData([]byte("second"))).Lock(ctx) }()
	require.Eventually(t, func() bool {
		names, _, err := j.client.Children(ctx, "/lock")
		return err == nil && len(names) == 2
	}, patience, 10*time.Millisecond)
	j.open("recipes")
	j.awaitText(".card .holds", "first")
	j.awaitText(".card .waits", "second")
	j.click(".card .holds a[href^='tree']")
	j.awaitText("#text", "first")
	j.open("recipes?under=/lock")
	j.click(".card .holds a[href^='sessions']")
	j.await("location.pathname.endsWith('/sessions') && document.querySelector(location.hash) !== null")
}

func TestLockOfScripts(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/"+hostile, "")
	j.ephemeral("/"+hostile+"/lock-0000000001", "<script>alert(5)</script>")
	j.open("recipes")
	j.awaitText(".card .payload", "<script>alert(5)</script>")
	j.awaitText(".card h2", hostile)
}

func TestServiceOfScripts(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/services", "")
	j.create("/services/web", "")
	j.ephemeral("/services/web/1", `{"name":"web","id":"1","address":"<img src=x onerror=alert(6)>","port":80,`+
		`"payload":"</span><script>alert(7)</script>","serviceType":"DYNAMIC"}`)
	j.open("recipes?under=/services")
	j.awaitText(".card .payload", "<img src=x onerror=alert(6)>:80")
	j.awaitText(".card .payload", "</span><script>alert(7)</script>")
}

func TestQueueIsInOrder(t *testing.T) {
	j := visit(t, telephone, 1)
	queue := recipes.NewPriorityQueue(j.client, "/jobs", "/jobs-locks")
	require.NoError(t, queue.Put(t.Context(), 5, []byte("later")))
	require.NoError(t, queue.Put(t.Context(), -5, []byte("sooner")))
	j.open("recipes")
	j.awaitText(".line li:first-child", "priority -5: sooner")
	j.awaitText(".line li:last-child", "priority 5: later")
}

// What a visitor may not read is not decoded for it.
func TestRecipesKeepSecrets(t *testing.T) {
	j := visit(t, desk, 1)
	acl := client.WithACL(client.ACL{Perms: client.PermAll, Scheme: "digest", ID: "bob:hash="})
	j.create("/secret", "", acl)
	j.create("/election", "")
	_, err := j.client.Create(t.Context(), "/election/x-latch-0000000001", []byte("of bob"), client.Ephemeral, acl)
	require.NoError(t, err)
	j.open("recipes")
	j.awaitText(".card", "may not be read")
	require.NotContains(t, eval[string](j, "document.body.textContent"), "of bob")
	j.login()
	j.open("recipes")
	j.awaitText(".card", "of bob")
}

func TestHotPaths(t *testing.T) {
	j := visit(t, desk, 1, counting)
	j.create("/busy", "x")
	for range 200 {
		j.data("/busy")
	}
	j.open("hot")
	j.awaitText("[aria-label=Operations]", "getData")
	require.NotContains(t, eval[string](j, "document.body.textContent"), "/busy", "without a login")
	j.login()
	j.open("hot")
	j.awaitText("[aria-label=Paths] tbody tr:first-child", "/busy")
	j.click("[aria-label=Order] a:last-child")
	j.await("location.search.includes('by=time')")
	j.click("[aria-label=Paths] a[href$='%2Fbusy']")
	j.awaitPath("/busy")
}

func TestHotSaysHowItIsSwitchedOn(t *testing.T) {
	j := visit(t, telephone, 1)
	j.open("hot")
	j.awaitText("#main", "warren.top.enabled=true")
}

func TestSizesByKeysAlone(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/large", strings.Repeat("x", 100_000))
	j.create("/tree", "")
	j.create("/tree/branch", strings.Repeat("x", 300_000))
	j.create("/tree/branch/leaf", "x")
	j.open("sizes")
	j.await("document.querySelector('svg.treemap') !== null")
	require.Equal(t, "true", eval[string](j, "document.querySelector('svg.treemap').getAttribute('aria-hidden')"))
	j.awaitText("[aria-label=Parts] tbody tr:nth-child(2)", "/tree")
	// From the skip link on, only Tab and Enter: the table has all links of the picture.
	j.press(kb.Tab)
	j.press(kb.Enter)
	for range 20 {
		j.press(kb.Tab)
		if eval[string](j, "document.activeElement.textContent") == "/tree" {
			break
		}
		require.False(t, eval[bool](j, "document.activeElement.closest('svg') !== null"), "areas are for the eye")
	}
	j.press(kb.Enter)
	j.await("location.search.includes('path=%2Ftree')")
	j.awaitText("[aria-label=Parts]", "branch")
}

// The areas are as large as what they stand for.
func TestAreasAreProportional(t *testing.T) {
	j := visit(t, telephone, 1)
	j.create("/a", strings.Repeat("x", 300_000))
	j.create("/b", strings.Repeat("x", 100_000))
	j.open("sizes")
	j.await("document.querySelectorAll('svg.treemap a').length === 3")
	ratio := eval[float64](j, "(([a, b]) => a / b)(Array.from(document.querySelectorAll('svg.treemap a > svg'), "+
		"e => parseFloat(e.getAttribute('width')) * parseFloat(e.getAttribute('height'))))")
	require.InDelta(t, 3, ratio, 0.1)
	j.click("svg.treemap a")
	j.await("location.search.includes('path=%2Fa')")
}

func TestTimeTravel(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/a", "as it was")
	j.create("/a/gone", hostile)
	stat, _, err := j.client.Exists(t.Context(), "/a/gone")
	require.NoError(t, err)
	before := fmt.Sprintf("%x", uint64(stat.Czxid))
	j.setBehind("/a", "as it is")
	require.NoError(t, j.client.Delete(t.Context(), "/a/gone", -1))
	j.open("past?path=/&at=" + before)
	j.awaitText(".trouble", "the past has all znodes")
	j.login()
	j.open("past")
	j.fill("#at", before)
	j.fill("#path", "/a")
	j.send("#at")
	j.awaitText("#text", "as it was")
	j.click(".children a")
	j.awaitText("#text", hostile)
	j.open("past?path=/a&at=" + before)
	j.click("a[href^='difference']")
	j.awaitText("tr.deleted", "/a/gone")
	j.awaitText("tr.changed", "as it is")
	j.awaitText("tr.deleted", hostile)
}

func TestEnsemblesSideBySide(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, `{"state":"<script>alert(8)</script>","znodes":77,"members":[],`+
			`"problems":[{"text":"a disk is full","remedy":"make room"}]}`)
	}))
	defer other.Close()
	j := visit(t, telephone, 1, func(c *config.Config) {
		c.Admin.ConsoleEnsembles = []string{"production=" + other.URL, "test=http://127.0.0.1:1"}
	})
	j.open("ensembles")
	j.awaitText(".card:nth-child(1)", "a disk is full")
	j.awaitText(".card:nth-child(1)", "<script>alert(8)</script>")
	j.awaitText(".card:nth-child(2)", "does not answer")
}

// A link opens one subtree to a browser without a login, until it is ended.
func TestLinksAreShared(t *testing.T) {
	j := visit(t, desk, 1, sharing)
	j.create("/app", "shown to others")
	j.create("/app/part", "a part")
	j.create("/secret", "not shown")
	j.login()
	j.open("links?path=/app")
	j.send("#path")
	j.await("document.querySelector('#link a') !== null")
	address := eval[string](j, "document.querySelector('#link a').getAttribute('href')")
	j.click(".visitor button")
	j.awaitText(".visitor", "Log in")

	j.open(address)
	require.NotContains(t, eval[string](j, "document.body.textContent"), "shown to others", "a button comes first")
	j.click("main button")
	j.awaitText("#text", "shown to others")
	require.Equal(t, "", eval[string](j, "location.search"), "the word is in no address")
	require.Empty(t, eval[string](j, "document.cookie"))
	require.Zero(t, eval[int](j, "document.querySelectorAll('nav, form').length"), "nothing leads elsewhere")
	j.click(".children a")
	j.awaitText("#text", "a part")
	j.open("shared?path=/secret")
	j.awaitText(".trouble", "the link shows other znodes only")
	j.open("shared?path=/apple")
	j.awaitText(".trouble", "the link shows other znodes only")

	j.login()
	j.open("links")
	j.click("[aria-label='End the link to /app']")
	j.await("document.querySelector('[aria-label=\"End the link to /app\"]') === null")
	j.open("shared?path=/app")
	j.awaitText(".trouble", "this link has ended")
}
