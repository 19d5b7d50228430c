package console

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/recipes"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
)

// The journeys through the application. Its addresses are behind a #.

// show opens a page of the application.
func (j *journey) show(page string) {
	j.t.Helper()
	if eval[bool](j, fmt.Sprintf("location.href.split('#')[0] === %q", j.base)) {
		j.run(fmt.Sprintf("location.hash = '#/' + %q", page))
	} else {
		j.do(chromedp.Navigate(j.base + "#/" + page))
	}
	j.await(fmt.Sprintf("document.querySelector('#main')?.firstElementChild && location.hash === '#/' + %q", page))
}

// type sets the text of a field of the application, as typing does.
func (j *journey) enterText(selector, text string) {
	j.t.Helper()
	j.await(fmt.Sprintf("document.querySelector(%q)", selector))
	j.run(fmt.Sprintf("(e => { e.value = %q; e.dispatchEvent(new Event('input', {bubbles: true})); "+
		"e.dispatchEvent(new Event('change', {bubbles: true})); })(document.querySelector(%q))", text, selector))
}

// press a button by its text or name.
func (j *journey) button(name string) {
	j.t.Helper()
	find := fmt.Sprintf("[...document.querySelectorAll('dialog[open] button, dialog[open] a'), "+
		"...document.querySelectorAll('button, a')].find(b => (b.textContent.trim() === %q || "+
		"b.getAttribute('aria-label') === %q) && b.getClientRects().length && !b.disabled)", name, name)
	j.await(find)
	j.run(find + ".click()")
}

// loginApp logs the super user in by the dialog.
func (j *journey) loginApp() {
	j.t.Helper()
	j.loginAs("super", "test")
}

func (j *journey) loginAs(user, password string) {
	j.t.Helper()
	j.click("#login")
	j.enterCredentials(user, password)
	j.awaitText("#user", user)
}

// createFor creates a znode that a user may read, which makes it known.
func (j *journey) createFor(user, password string) {
	j.t.Helper()
	id, ok := auth.DigestID("SHA1", []byte(user+":"+password))
	require.True(j.t, ok)
	j.create("/of-"+user, "", client.WithACL(client.ACL{Perms: client.PermAll, Scheme: "digest", ID: id}))
}

func (j *journey) enterCredentials(user, password string) {
	j.t.Helper()
	j.enterText("dialog [name=user]", user)
	j.enterText("dialog [name=password]", password)
	j.await("!document.querySelector('dialog .btn.primary').disabled")
	j.click("dialog .btn.primary")
}

// typeInEditor replaces the text of the editor by keys.
func (j *journey) typeInEditor(text string) {
	j.t.Helper()
	j.await("document.querySelector('.editor')?.shadowRoot?.activeElement?.classList.contains('cm-content')")
	j.do(chromedp.KeyEvent("a", chromedp.KeyModifiers(2))) // Ctrl
	j.press(text)
	j.await(fmt.Sprintf("document.querySelector('.editor').shadowRoot.querySelector('.cm-content').textContent === %q",
		text))
}

// save saves what is in the editor, after the review.
func (j *journey) save() {
	j.t.Helper()
	j.button("Review and save")
	j.button("Save")
}

// geometry finds what the eye would: a page wider than the screen, words broken inside, texts over each other, and
// controls that are cut off.
const geometry = `(() => {
  const wrong = [], d = document.documentElement;
  if (d.scrollWidth > innerWidth) wrong.push('the page is ' + d.scrollWidth + ' wide');
  const main = document.querySelector('#main');
  if (main.scrollWidth > main.clientWidth + 1) wrong.push('the content is ' + main.scrollWidth + ' wide');
  const clip = (r, e) => {
    let b = { l: r.left, t: r.top, r: r.right, b: r.bottom };
    for (; e && e !== d; e = e.parentElement) {
      const s = getComputedStyle(e);
      if (s.overflowX !== 'visible' || s.overflowY !== 'visible') {
        const q = e.getBoundingClientRect();
        b = { l: Math.max(b.l, q.left), t: Math.max(b.t, q.top), r: Math.min(b.r, q.right), b: Math.min(b.b, q.bottom) };
      }
    }
    return b;
  };
  const seen = [], walker = document.createTreeWalker(document.querySelector('.frame'), NodeFilter.SHOW_TEXT);
  for (let n = walker.nextNode(); n; n = walker.nextNode()) {
    const e = n.parentElement, s = getComputedStyle(e);
    if (!n.data.trim() || s.visibility === 'hidden' || e.closest('.sr, .rail:not(.open), [aria-hidden=true], dialog')) continue;
    if (!e.closest('code, .mono, pre, .text')) {
      for (const m of n.data.matchAll(/\S+/g)) {
        if (m[0].length > 24) continue;
        const range = document.createRange();
        range.setStart(n, m.index);
        range.setEnd(n, m.index + m[0].length);
        const tops = new Set([...range.getClientRects()].filter(r => r.width > 0).map(r => Math.round(r.top / 6)));
        if (tops.size > 1 && !/[-\/,.:…]/.test(m[0].slice(0, -1))) wrong.push('broken: ' + m[0]);
      }
    }
    const range = document.createRange();
    range.selectNodeContents(n);
    for (const r of range.getClientRects()) {
      const b = clip(r, e);
      if (b.r - b.l > 2 && b.b - b.t > 4) seen.push({ ...b, t: b.t + 2, b: b.b - 2, n, text: n.data.trim() });
    }
  }
  for (let i = 0; i < seen.length; i++) {
    for (let k = i + 1; k < seen.length; k++) {
      const a = seen[i], c = seen[k];
      if (a.n === c.n) continue;
      const w = Math.min(a.r, c.r) - Math.max(a.l, c.l), h = Math.min(a.b, c.b) - Math.max(a.t, c.t);
      if (w > 2 && h > 3) wrong.push('over each other: ' + a.text.slice(0, 40) + ' | ' + c.text.slice(0, 40));
    }
  }
  if (innerWidth >= 1024) { // on a narrower screen, tables scroll
    for (const e of main.querySelectorAll('button, .btn, select, input')) {
      const r = e.getBoundingClientRect(), b = clip(r, e.parentElement);
      if (r.width > 0 && !e.closest('thead, .sr') && b.r - b.l < r.width - 2) {
        wrong.push('cut off: ' + (e.getAttribute('aria-label') || e.textContent));
      }
    }
  }
  return [...new Set(wrong)].slice(0, 10);
})()`

// axe is the text of axe-core; "" where it is not installed.
func axe(t *testing.T) string {
	text, err := os.ReadFile("../../bin/console/node_modules/axe-core/axe.min.js")
	if err != nil && os.Getenv("WARREN_BROWSER") == "required" {
		require.NoError(t, err, "make console-app installs it")
	}
	return string(text)
}

// checkAxe requires that axe-core finds nothing in the present page.
func (j *journey) checkAxe(script, name string) {
	j.t.Helper()
	if script == "" {
		return
	}
	j.run("void (window.axe || (() => {" + script + "\n})())")
	j.run("window.found = null; void axe.run(document, {resultTypes: ['violations']}).then(r => window.found = " +
		"r.violations.map(v => v.id + ': ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + ' ' + " +
		"(n.any[0]?.message || '')).join(' ; ')))")
	j.await("window.found !== null")
	assert.Empty(j.t, eval[[]string](j, "window.found"), name)
}

// appPages are all pages of the application.
var appPages = []string{"", "tree", "tree?path=%2Fapp%2Fjson", "tree?path=%2Fapp%2Fjson&tab=stat",
	"tree?path=%2Fapp%2Fjson&tab=acl", "tree?path=%2Fapp%2Fjson&tab=history",
	"tree?path=%2Fapp%2Fjson&tab=watchers", "tree?path=%2Fapp%2Fjson&tab=activity", "tree?path=%2Fnone",
	"search?contains=app", "past", "past?at=1&path=%2F", "difference", "difference?from=1", "ensembles", "live",
	"tree?path=%2Fapp%2Fjson&tab=quota", "sessions", "recipes", "top", "slow", "sizes", "servers",
	"configuration?all=1", "audit", "backups", "nothing"}

// Every page fits every screen, in light and dark, can be operated by its names, and has nothing that axe-core finds.
func TestAppFits(t *testing.T) {
	script := axe(t)
	j := visit(t, desk, 3, audited, func(c *config.Config) { c.Admin.Top = true })
	j.toLeader()
	j.create("/app", "")
	j.create("/app/json", `{"retention":"604800000","partitions":12,"policy":["delete","compact"]}`)
	j.setBehind("/app/json", `{"retention":"86400000","partitions":24,"policy":["compact"]}`)
	j.create("/app/"+hostile, hostile)
	j.create("/app/"+strings.Repeat("wide", 50), strings.Repeat("wide", 500))
	must.Do(recipes.NewMutex(j.client, "/app/lock", recipes.WithData([]byte("holder"))).Lock(t.Context()))(t)
	j.show("")
	j.loginApp()
	for _, page := range appPages {
		j.show(page)
		t.Run(cmp.Or(strings.NewReplacer("?", " ", "%2F", " ", "&", " ").Replace(page), "overview"),
			func(t *testing.T) { j.fits(t, script, page) })
	}
}

// fits looks at the present page on every screen, and goes back to the desk.
func (j *journey) fits(t *testing.T, script, page string) {
	journeys.Add(1)
	defer func(all *testing.T) { j.t = all }(j.t)
	j.t = t
	for _, s := range []screen{{390, "light"}, {390, "dark"}, {768, "light"}, {768, "dark"}, {1024, "light"},
		{1280, "light"}, {1440, "light"}, {1440, "dark"}, {2560, "light"}, {2560, "dark"}} {
		name := fmt.Sprintf("%s at %d, %s", page, s.width, s.scheme)
		j.dress(s)
		j.await(fmt.Sprintf("innerWidth === %d && document.documentElement.dataset.theme === %q", s.width, s.scheme))
		j.await("!document.querySelector('.skeleton') && document.fonts.status === 'loaded'")
		assert.Empty(t, eval[[]string](j, geometry), name)
		assert.Zero(t, eval[int](j, "document.querySelectorAll('main img, main script').length"), name)
		if s.width == 390 || s.width == 1024 || s.width == 1440 {
			j.checkNames(name)
			j.checkAxe(script, name)
		}
		j.shoot(fmt.Sprint(s.width, s.scheme, strings.NewReplacer("?", "-", "%2F", "-", "&", "-").Replace(page)))
	}
	j.dress(desk)
}

// The overview tells the state in one sentence, is fetched again without a click, and shows what a server measures.
func TestOverviewStaysFresh(t *testing.T) {
	j := visit(t, desk, 1, func(c *config.Config) { c.Admin.ConsoleName = "shop " + hostile })
	j.show("")
	j.awaitText("#ensemble", "shop "+hostile)
	j.await("document.title.endsWith(document.querySelector('#ensemble').textContent)")
	j.awaitText("#verdict", "Standalone server, serving clients")
	j.awaitText("#znodes", "4")
	j.create("/one", "")
	j.awaitText("#znodes", "5")
	j.await("document.querySelectorAll('.chart canvas').length > 3") // the first samples are there
	j.awaitText(".events", "Server started")
	require.Equal(t, 1, eval[int](j, "performance.getEntriesByType('navigation').length"))
	require.Contains(t, eval[string](j, "document.title"), "Overview")
}

func TestOverviewNamesTheServerThatIsAway(t *testing.T) {
	j := visit(t, telephone, 3)
	leader := j.toLeader()
	j.show("")
	j.awaitText("#verdict", fmt.Sprintf("3 of 3 voters are up, server %d leads, one may fail", leader))
	lost := leader%3 + 1
	j.ensemble.Kill(lost)
	j.awaitText("#verdict", fmt.Sprintf("2 of 3 voters are up, server %d leads, none may fail", leader))
	j.awaitText(".findings", fmt.Sprintf("Server %d: does not answer", lost))
	j.awaitText(fmt.Sprintf(".server.away[data-server='%d']", lost), "Away")
	j.await("document.querySelectorAll('.server').length === 3")
	j.show("servers")
	j.awaitText(fmt.Sprintf("#steering tbody tr:nth-child(%d)", lost), "Away")
	j.show("")
	j.awaitText(".events", fmt.Sprintf("Server %d: does not answer", lost))
	require.NoError(t, j.ensemble.Start(lost))
	j.awaitText("#verdict", "3 of 3 voters are up")
	j.awaitText(".events", "Resolved: ")
}

func TestOverviewOfAServerWithoutQuorum(t *testing.T) {
	j := visit(t, desk, 3)
	j.create("/one", "")
	require.NoError(t, j.ensemble.WaitEqual(t.Context()))
	j.show("")
	j.awaitText("#verdict", "3 of 3 voters are up")
	j.awaitText("#znodes", "5")
	j.ensemble.Kill(2)
	j.ensemble.Kill(3)
	j.awaitText("#verdict", "No leader: 1 of 3 voters answers")
	j.awaitText(".findings", "not-serving")
	// The last that is known stays, and says since when no more is known.
	j.awaitText(".server[data-server='2']", "Not known since ")
	j.await("/^\\d+$/.test(document.querySelector(\".server[data-server='2'] dl div:nth-child(3) dd\").textContent)")
	require.Equal(t, "5", eval[string](j, "document.querySelector('#znodes').textContent"))
	j.awaitText("[aria-label=Figures] > div:nth-child(7)", "not known since ")
	j.checkAxe(axe(t), "overview without a quorum")
	j.show("servers")
	j.awaitText("#steering tbody tr:nth-child(2)", "not known since ")
	j.show("tree")
	j.awaitText("#znode", "This server does not serve clients now")
	require.NoError(t, j.ensemble.Start(2))
	j.show("")
	j.awaitText("#verdict", "2 of 3 voters are up")
}

// What is shown while the server does not answer is old, and the page says so until it answers again.
func TestServerIsLostAndComesBack(t *testing.T) {
	j := visit(t, desk, 1)
	j.throughProxy()
	j.show("")
	j.awaitText("#verdict", "Standalone server")
	j.ensemble.Stop(1)
	j.awaitText("#verdict", "does not answer")
	j.awaitText("#main", "What is shown is old: not known since ")
	require.NoError(t, j.ensemble.Start(1))
	j.awaitText("#verdict", "Standalone server, serving clients")
}

// A server that is stopped takes connections and never answers: it is lost, too.
func TestServerThatNeverAnswersIsLost(t *testing.T) {
	var stopped atomic.Bool
	j := visit(t, desk, 1)
	j.throughProxy(func(r *http.Response) error {
		for stopped.Load() {
			select {
			case <-r.Request.Context().Done():
				return r.Request.Context().Err()
			case <-time.After(20 * time.Millisecond):
			}
		}
		return nil
	})
	j.show("")
	j.awaitText("#verdict", "Standalone server, serving clients")
	stopped.Store(true)
	j.awaitText("#verdict", "does not answer")
	j.awaitText("#main", "What is shown is old: not known since ")
	stopped.Store(false)
	j.awaitText("#verdict", "Standalone server, serving clients")
}

// Of znodes at any depth the tree shows the names, and a long path leaves room for the data, with the name in view.
func TestDeepZnodesAreShown(t *testing.T) {
	for _, s := range []screen{desk, telephone} {
		j := visit(t, s, 1)
		path := ""
		for i := range 30 {
			path += fmt.Sprintf("/level-%d-%s", i, strings.Repeat("x", 30))
			j.create(path, "")
		}
		j.show("tree?path=" + url.QueryEscape(path))
		j.awaitText("#znode h1", "level-29")
		j.await("(b => b.clientHeight < 200 && [...b.querySelectorAll('bdi')].at(-1).getBoundingClientRect().bottom " +
			"<= b.getBoundingClientRect().bottom + 1)(document.querySelector('#znode .where'))")
		j.await("document.querySelector('#tabs, .tabs').getBoundingClientRect().bottom < 400")
		if s == telephone {
			j.show("tree")
		}
		j.await("document.querySelector('.vlist [data-path]')")
		j.await("(p => { p.scrollTop = p.scrollHeight; const r = p.getBoundingClientRect().right, " +
			"all = [...p.querySelectorAll('[data-path*=level-2] bdi')]; return all.length > 5 && " +
			"all.every(n => n.getBoundingClientRect().left < r - 30); })(document.querySelector('.vlist'))")
	}
}

// The tree remembers what is open, through reloads and through changes.
func TestAppTreeStaysOpen(t *testing.T) {
	j := visit(t, desk, 1)
	for _, path := range []string{"/app", "/app/inner", "/app/inner/deep", "/other"} {
		j.create(path, "data of "+path)
	}
	j.show("tree")
	j.awaitText(".vlist", "app")
	j.run("document.querySelector('[data-path=\"/app\"] .twist').click()")
	j.awaitText(".vlist", "inner")
	j.run("document.querySelector('[data-path=\"/app/inner\"] .twist').click()")
	j.click("[data-path='/app/inner/deep']")
	j.awaitText("#text", "data of /app/inner/deep")
	require.Contains(t, eval[string](j, "document.title"), "/app/inner/deep")
	j.click("[data-path='/other']")
	j.awaitText("#text", "data of /other")
	j.awaitText(".vlist", "deep")
	j.run("location.reload()")
	j.awaitText(".vlist", "deep")
	j.enterText(".left [type=search]", "dee")
	j.await("!document.querySelector('[data-path=\"/other\"]')")
	j.awaitText(".vlist", "deep")
	j.show("tree?path=%2Fapp%2Finner") // a deep link
	j.await("document.querySelector('[data-path=\"/app/inner\"]')?.getAttribute('aria-selected') === 'true'")
}

// 200,000 children are a list of a few dozen rows, to the last one.
func TestAppTreeOfManyChildren(t *testing.T) {
	j := visit(t, desk, 1)
	const many = 200_000
	j.create("/many", "")
	j.createMany("/many", many)
	j.show("tree")
	j.awaitText(".vlist", "many")
	j.run("document.querySelector('[data-path=\"/many\"] .twist').click()")
	seen := 0
	for range 5 {
		j.await(fmt.Sprintf("document.querySelector('.space').offsetHeight > 28 * %d", seen+500))
		seen = eval[int](j, "document.querySelector('.space').offsetHeight / 28 | 0")
		require.Less(t, eval[int](j, "document.querySelectorAll('.vlist .node').length"), 120)
		j.run("(v => v.scrollTop = v.scrollHeight)(document.querySelector('.vlist'))")
	}
	j.await("(v => { v.scrollTop = v.scrollHeight; return / more/.test(v.textContent); })" +
		"(document.querySelector('.vlist'))")
}

func TestNamesAreShownEscaped(t *testing.T) {
	j := visit(t, desk, 1)
	names := []string{hostile, "a b+c", "50%25", "?path=x", "#top", "&view=hex", "\u202egnp.txt", "zero\u200bwidth",
		"\u65e5\u672c"}
	for i, name := range names {
		j.create("/"+name, fmt.Sprint("the data of ", i))
	}
	j.show("tree")
	j.awaitText(".vlist", "U+202E")
	j.awaitText(".vlist", "U+200B")
	for i, name := range names {
		j.run(fmt.Sprintf("[...document.querySelectorAll('[data-path]')].find(e => e.dataset.path === %q).click()",
			"/"+name))
		j.awaitText("#text", fmt.Sprint("the data of ", i))
		require.Equal(t, "/"+name, eval[string](j, "new URLSearchParams(location.hash.split('?')[1]).get('path')"))
	}
	text := eval[string](j, "document.querySelector('.vlist').textContent")
	require.NotContains(t, text, "\u202e")
	require.NotContains(t, text, "\u200b")
}

// An edit shows the difference before it saves.
func TestEditIsReviewedAndSaved(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/a", `{"x":1}`)
	j.show("tree?path=%2Fa")
	j.loginApp()
	j.button("Edit")
	j.typeInEditor(`{"x":`)
	j.awaitText("#invalid", "Line 1")
	j.typeInEditor(`{"x":2}`)
	j.awaitText("#invalid", "")
	j.button("Review and save")
	j.await("document.querySelector('dialog .editor').shadowRoot?.textContent.includes('{\"x\":1}')")
	j.button("Save")
	j.awaitText("#version", "1")
	require.Equal(t, `{"x":2}`, j.data("/a"))
}

// A save that meets another version keeps what was typed, and shows yours, theirs and the base.
func TestConflictKeepsTheText(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/a", "base")
	j.show("tree?path=%2Fa")
	j.loginApp()
	j.button("Edit")
	j.typeInEditor("mine")
	j.setBehind("/a", "theirs")
	j.save()
	j.awaitText("dialog", "has changed meanwhile")
	shown := "document.querySelector('dialog .editor').shadowRoot?.textContent"
	j.await(shown + ".includes('mine') && " + shown + ".includes('theirs')")
	j.button("Base and theirs")
	j.await(shown + ".includes('base') && " + shown + ".includes('theirs')")
	require.Equal(t, "theirs", j.data("/a"), "nothing was written")
	j.run("location.reload()") // even this loses nothing
	j.await("document.querySelector('.editor')?.shadowRoot?.textContent.includes('mine')")
	j.awaitText("#znode", "is based on version 0")
	j.save()
	j.button("Save mine over version 1")
	j.button("Save")
	j.awaitText("#version", "2")
	require.Equal(t, "mine", j.data("/a"))
}

// A login that ends while text is typed is asked for again, and the save goes on.
func TestLoginEndsWhileEditing(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/a", "before")
	j.show("tree?path=%2Fa")
	j.loginApp()
	j.button("Edit")
	j.typeInEditor("after")
	first := j.tab
	j.tab = j.newTab(desk)
	j.show("")
	j.awaitText("#user", "super")
	j.button("Log out super")
	j.await("document.querySelector('#login')")
	j.tab = first
	j.save()
	j.await("document.querySelector('dialog [name=password]')")
	j.awaitText("body", "Your login has ended")
	j.enterText("dialog [name=password]", "test")
	j.button("Log in")
	j.awaitText("#version", "1")
	require.Equal(t, "after", j.data("/a"))
}

func TestAppCreatesAndDeletes(t *testing.T) {
	j := visit(t, telephone, 1)
	j.create("/a", "")
	j.show("tree?path=%2Fa")
	j.loginApp()
	for i := range 2 {
		j.button("New child")
		j.enterText("dialog input", "job-")
		j.enterText("dialog select", "sequential")
		j.enterText("dialog textarea", "of the child")
		j.button("Create")
		child := fmt.Sprintf("/a/job-%010d", i)
		j.awaitText("#text", "of the child")
		require.Equal(t, "of the child", j.data(child))
		j.show("tree?path=%2Fa")
		j.awaitText("#znode h1", "a")
	}
	j.button("New child")
	j.enterText("dialog input", "short-lived")
	j.enterText("dialog select", "ttl")
	j.enterText("dialog input[type=number]", "")
	j.button("Create") // nothing that stays for ever
	j.await("document.activeElement.matches('dialog input[type=number]:invalid')")
	j.press(kb.Escape)
	j.button("Delete")
	j.awaitText("dialog", "Delete the subtree")
	j.press(kb.Escape)
	j.show("tree?path=%2Fa%2Fjob-0000000000")
	j.awaitText("#text", "of the child")
	j.button("Delete")
	j.awaitText("dialog", "job-0000000000")
	j.run("document.querySelector('dialog .btn.danger').click()")
	j.await("location.hash === '#/tree?path=%2Fa'")
	require.False(t, j.exists("/a/job-0000000000"))
}

func TestAppLogins(t *testing.T) {
	j := visit(t, telephone, 1)
	j.show("")
	j.click("#login")
	j.enterCredentials("super", "wrong")
	j.awaitText("dialog", "The password is wrong")
	j.enterCredentials("super", "test")
	j.awaitText("#user", "super")
	require.Empty(t, eval[string](j, "document.cookie"), "scripts cannot read the cookie")
	j.open("links") // a page of the server has the same login
	j.awaitText("#user", "super")
}

func TestAppHidesWhatMayNotBeRead(t *testing.T) {
	j := visit(t, telephone, 1)
	j.create("/vault", "the secret data",
		client.WithACL(client.ACL{Perms: client.PermAll, Scheme: "digest", ID: "bob:xyz="}))
	j.show("tree?path=%2Fvault")
	j.awaitText("#znode", "No read permission")
	require.NotContains(t, eval[string](j, "document.documentElement.outerHTML"), "the secret data")
	j.loginApp()
	j.awaitText("#text", "the secret data")
}

// By keys alone: from the top of the page to a znode, through the tree, and by the palette.
func TestAppByKeysAlone(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/a", "")
	j.create("/a/b", "deep")
	j.show("tree")
	j.awaitText(".vlist", "a")
	j.run("document.activeElement.blur()")
	j.press(kb.Tab)
	require.Equal(t, "Skip to the content", eval[string](j, "document.activeElement.textContent"))
	j.tabTo("getAttribute('role') === 'tree'")
	j.press(kb.ArrowDown)
	j.press(kb.ArrowRight)
	j.awaitText(".vlist", "b")
	j.press(kb.ArrowDown)
	j.press(kb.Enter)
	j.awaitText("#text", "deep")
	j.do(chromedp.KeyEvent("k", chromedp.KeyModifiers(2)))
	j.await("document.activeElement.getAttribute('role') === 'combobox'")
	j.press("slow op")
	j.awaitText("#hits [aria-selected=true]", "Slow operations")
	j.press(kb.Enter)
	j.await("location.hash === '#/slow'")
	j.press("/")
	j.await("document.activeElement.getAttribute('role') === 'combobox'")
	j.press("/a/b")
	j.awaitText("#hits [aria-selected=true]", "/a/b")
	j.press(kb.Escape)
	j.await("!document.querySelector('dialog')")
}

func TestAppChangesAsTheyHappen(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/watched", "")
	j.show("live?path=%2Fwatched")
	j.awaitText("#live", "Following")
	j.create("/watched/"+hostile, "")
	j.awaitText("#live tbody", "/watched/"+hostile)
	j.create("/elsewhere", "")
	j.setBehind("/watched", "x")
	j.awaitText("#live tbody", "Changed")
	require.NotContains(t, eval[string](j, "document.querySelector('#live tbody').textContent"), "elsewhere")
	j.button("Pause")
	j.awaitText("#live", "Paused")
	j.create("/watched/later", "")
	j.awaitText("#live", "1 waits")
	j.button("Resume")
	j.awaitText("#live tbody", "/watched/later")
}

func TestAppSearchGoesOn(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/many", "")
	j.createMany("/many", 25_000)
	j.create("/many/needle", "")
	j.show("search?under=%2Fmany&contains=needle")
	j.awaitText("#found", "that you can see below /many")
	j.enterText("form [type=search]", "typed, and not asked for")
	for eval[bool](j, "document.querySelector('#found').textContent.includes('so far')") {
		before := eval[string](j, "document.querySelector('#found').textContent")
		j.button("Load more")
		j.await(fmt.Sprintf("document.querySelector('#found').textContent !== %q", before))
	}
	j.button("/many/needle")
	j.awaitText("#znode h1", "needle")
}

func TestAppSessions(t *testing.T) {
	j := visit(t, telephone, 1)
	j.ephemeral("/held", "")
	j.show("sessions")
	j.awaitText("#sessions", "1 session in the ensemble")
	j.click("#sessions tbody a")
	j.button("/held")
	j.awaitText("#znode", "Ephemeral")
}

// From the sessions to the end of one: its ephemeral goes, after a dry run that ends nothing.
func TestAppEndsASession(t *testing.T) {
	j := visit(t, desk, 1)
	other := must.Do(client.Dial(t.Context(), j.ensemble.Addr(1)))(t)
	defer other.Close()
	must.Do(other.Create(t.Context(), "/mine", nil, client.Ephemeral))(t)
	j.show("sessions")
	j.loginApp()
	j.await("document.querySelectorAll('#sessions tbody tr').length === 2")
	j.run("[...document.querySelectorAll('#sessions tbody tr')].find(r => r.lastElementChild.textContent === '1')" +
		".querySelector('a').click()")
	j.button("End session…")
	j.button("Dry run")
	j.awaitText("dialog", "nothing has changed yet")
	require.True(t, j.exists("/mine"))
	time.Sleep(steerPause)
	j.button("End session")
	j.awaitText(".toasts", "done")
	require.False(t, j.exists("/mine"))
	j.awaitText("#session [role=status]", "There is no such session")
}

// steerPause is a little more than the least time between two orders of a kind.
const steerPause = 1100 * time.Millisecond

// The leadership moves to the server that is chosen, after a dry run that moves nothing.
func TestAppMovesTheLeadership(t *testing.T) {
	j := visit(t, desk, 3)
	leader := j.toLeader()
	to := leader%3 + 1
	j.show("servers")
	j.loginApp()
	j.button(fmt.Sprintf("Make leader server %d", to))
	require.Equal(t, fmt.Sprint(to), eval[string](j, "document.querySelector('dialog select').value"))
	j.button("Dry run")
	j.awaitText("dialog", "nothing has changed yet")
	require.Equal(t, "leader", j.ensemble.Server(leader).Status().Mode)
	time.Sleep(steerPause)
	j.button("Hand over")
	j.awaitText(".toasts", "done")
	require.Equal(t, "leader", j.ensemble.Server(to).Status().Mode)
	j.awaitText("#given tbody", "Hand over the leadership")
	j.awaitText("#given tbody", "super")
	require.Equal(t, 1, eval[int](j, "document.querySelectorAll('#given tbody tr').length"), "without the dry run")
}

// told gives servers admin ports that they know before they listen, and so can tell each other. It adds them to ports.
func told(t *testing.T, ports *[]int) func(*config.Config) {
	return func(c *config.Config) {
		ln := must.Do(net.Listen("tcp", "127.0.0.1:0"))(t)
		c.Admin.Port = ln.Addr().(*net.TCPAddr).Port
		*ports = append(*ports, c.Admin.Port)
		require.NoError(t, ln.Close())
	}
}

// The row of each server has its orders, which are given from any server: the other one gets them from this one.
func TestOrdersOfEveryServer(t *testing.T) {
	script := axe(t)
	j := visit(t, desk, 3)
	leader := must.Do(j.ensemble.Leader(t.Context()))(t)
	here, third := leader%3+1, (leader+1)%3+1
	j.base = "http://" + j.ensemble.Server(here).AdminAddr().String() + "/console/"
	j.show("servers")
	drain := fmt.Sprintf("Drain server %d", third)
	j.button(drain)
	j.awaitText("dialog", "Orders need a login")
	j.enterCredentials("super", "test")
	j.awaitText("dialog", drain)
	call := j.wordsOf("dialog .command:last-child code")
	require.Contains(t, call[3], fmt.Sprintf("/api/v1/steering/drain?server=%d", third))
	j.button("Dry run")
	j.awaitText("dialog", "nothing has changed yet")
	j.awaitText("dialog dl", "Draining")
	j.checkAxe(script, "order to another server")
	j.button("Drain")
	row := fmt.Sprintf("#steering tbody tr:nth-child(%d)", third)
	j.awaitText(row, "Draining")
	j.awaitText("#given tbody", drain)
	j.awaitText("#given tbody", fmt.Sprintf("by server %d", here))
	j.fits(t, script, "orders")
	j.button(fmt.Sprintf("Resume server %d", third))
	j.button("Dry run")
	time.Sleep(steerPause)
	j.button("Resume")
	j.await("!document.querySelector('" + row + "').textContent.includes('Draining')")
	j.button(fmt.Sprintf("Snapshot server %d", leader))
	j.button("Dry run")
	j.button("Take snapshot")
	j.awaitText("#given tbody tr", fmt.Sprintf("Take snapshot on server %d", leader))

	require.Zero(t, eval[int](j,
		fmt.Sprintf("document.querySelectorAll('[aria-label=\"Make leader server %d\"]:not(:disabled)').length",
			leader)))
	j.button("Make leader this server")
	j.awaitText("dialog", "Hand over the leadership")
	require.Equal(t, fmt.Sprint(here), eval[string](j, "document.querySelector('dialog select').value"))
	j.button("Dry run")
	j.button("Hand over")
	j.awaitText("#answering", fmt.Sprintf("server %d, leader", here))
	require.Equal(t, here, must.Do(j.ensemble.Leader(t.Context()))(t))

	// Of a server that is away nobody knows how it is, and it gets no orders.
	j.ensemble.Kill(third)
	j.awaitText(row, "No orders while it is away")
	j.awaitText("#given header", fmt.Sprintf("Server %d: not known since ", third))
}

// What each server measures, tells and records is shown at any of them, together and one by one.
func TestEveryServerFromAny(t *testing.T) {
	script := axe(t)
	j := visit(t, desk, 3, audited, func(c *config.Config) {
		if c.ServerID == 2 {
			c.MaxClientCnxns = 771177
		}
	})
	for _, id := range j.ensemble.IDs() {
		c := must.Do(client.Dial(t.Context(), j.ensemble.Addr(id)))(t)
		t.Cleanup(func() { _ = c.Close() })
		must.Do(c.Create(t.Context(), fmt.Sprint("/by-", id), nil, client.Persistent))(t)
	}
	j.show("")
	j.await("document.querySelectorAll('.charts .chart').length === 9 && " +
		"document.querySelectorAll('.chart canvas').length > 5")
	j.await("[...document.querySelectorAll('.chart')].every(c => [1, 2, 3].every(id => " +
		"c.querySelector('.keys').textContent.includes('Server ' + id)))")
	for _, id := range j.ensemble.IDs() {
		j.awaitText(".events", fmt.Sprintf("Server %d: Server started", id))
	}
	j.awaitText("#znodes", "7")
	j.button("Server 2")
	j.awaitText("#now", "Server 2")
	j.awaitText(".charts", "by stage")
	j.awaitText(".events", "Server started")
	j.await("!document.querySelector('.events b')")

	j.show("configuration?all=1")
	j.await("!document.querySelector('#configuration tbody').textContent.includes('771177')")
	j.button("Server 2")
	j.awaitText("#configuration tbody", "771177")
	j.button("All servers")
	j.button("Differ")
	j.awaitText("#configuration tbody", "maxClientCnxns")
	j.awaitText("#configuration tbody", "771177")
	j.await("![...document.querySelectorAll('#configuration tbody th')].some(e => e.textContent === 'tickTime')")
	j.fits(t, script, "configurations")

	j.show("audit")
	j.loginApp()
	for _, id := range j.ensemble.IDs() {
		j.await(fmt.Sprintf("[...document.querySelectorAll('#audit tbody tr')].some(r => "+
			"r.children[1].textContent === '%d' && r.textContent.includes('/by-%d'))", id, id))
	}
	j.button("Server 3")
	j.await("document.querySelector('#audit tbody').textContent.includes('/by-3') && " +
		"!document.querySelector('#audit tbody').textContent.includes('/by-2')")
	j.show("backups?server=2")
	j.awaitText("#snapshots", "Snapshots on server 2")

	j.ensemble.Kill(3)
	j.show("audit")
	j.awaitText("#audit [role=status]", "Server 3: not known since ")
	j.awaitText("#audit tbody", "/by-2")
	j.show("")
	j.awaitText("#overview [role=status]", "Server 3: not known since ")
	j.dress(telephone)
	j.await("innerWidth === 390")
	require.Empty(t, eval[[]string](j, geometry), "a long reason")
	j.dress(desk)
	j.show("configuration?server=3")
	j.awaitText("#configuration [role=alert]", "Server 3 cannot be asked: ")
}

func TestAppDrainsAndResumes(t *testing.T) {
	j := visit(t, telephone, 3)
	j.show("servers")
	j.loginApp()
	j.enterText("#steering tbody select[aria-label='Orders to this server']", "log_level")
	j.enterText("dialog .field:nth-of-type(2) input", "10m") // which is not for ever
	j.button("Dry run")
	j.await("document.activeElement.matches('dialog input:invalid')")
	j.button("Cancel")
	give := func(order, does string) { // by the menu of a phone
		j.enterText("#steering tbody select[aria-label='Orders to this server']", order)
		j.button("Dry run")
		j.awaitText("dialog", "nothing has changed yet")
		time.Sleep(steerPause)
		j.button(does)
		j.await("!document.querySelector('dialog')")
	}
	give("drain", "Drain")
	j.awaitText("#steering", "Draining")
	j.awaitText("#steering tbody", "Draining")
	give("resume", "Resume")
	j.await("!document.querySelector('#steering tbody').textContent.includes('Draining')")
	j.create("/after", "") // by a client that knows no other server
}

// Who votes now and who would, and how many may fail, is told before the ensemble is changed.
func TestEnsembleIsChangedAfterAPreview(t *testing.T) {
	j := visit(t, desk, 3, func(c *config.Config) { c.Quorum.ReconfigEnabled = true })
	leader := j.toLeader()
	observer := leader%3 + 1
	j.show("servers")
	j.loginApp()
	j.button("Change servers…")
	role := fmt.Sprintf("dialog [aria-label='Role of server %d']", observer)
	j.enterText(role, "observer")
	require.Equal(t, []string{"warren", "shell", "-s", j.ensemble.Addr(leader), "reconfig", "-v"},
		j.wordsOf("dialog .command code")[:6])
	j.button("Preview")
	j.awaitText("#preview", "3 voters; a quorum is 2, so 1 may fail")
	j.awaitText("#preview", "2 voters, 1 observer; a quorum is 2, so 0 may fail")
	j.awaitText("#preview .note", "Fewer servers may fail than now: 0 instead of 1")
	j.checkAxe(axe(t), "preview")
	j.shoot("preview")
	j.button("Reconfigure")
	j.awaitText(".toasts", "The ensemble has its new configuration")
	j.await(fmt.Sprintf("[...document.querySelectorAll('#steering tbody tr')].some(r => "+
		"r.textContent.startsWith('Server %d') && r.textContent.includes('No vote'))", observer))
}

func TestAppOrdersAreClosed(t *testing.T) {
	j := visit(t, desk, 1, func(c *config.Config) { c.Admin.ConsoleWrites = false })
	j.create("/a", "kept")
	j.show("servers")
	j.awaitText("#steering", "warren.console.writes is false")
	j.loginApp()
	require.Zero(t, eval[int](j, "document.querySelectorAll('#steering .orders button:not(:disabled)').length"))
	j.show("tree?path=%2Fa")
	j.awaitText("#text", "kept")
	require.False(t, eval[bool](j, "[...document.querySelectorAll('button')].some(b => b.textContent === 'Edit')"))
}

func TestAppShowsWhoHoldsALock(t *testing.T) {
	j := visit(t, telephone, 1)
	ctx := t.Context()
	must.Do(recipes.NewMutex(j.client, "/lock", recipes.WithData([]byte("first"))).Lock(ctx))(t)
	go func() { _, _ = recipes.NewMutex(j.client, "/lock", recipes.WithData([]byte("second"))).Lock(ctx) }()
	require.Eventually(t, func() bool {
		names, _, err := j.client.Children(ctx, "/lock")
		return err == nil && len(names) == 2
	}, patience, 10*time.Millisecond)
	j.create("/"+hostile, "")
	j.ephemeral("/"+hostile+"/lock-0000000001", "<script>alert(5)</script>")
	j.show("recipes")
	j.await(j.row("/lock") + "?.includes('Holds') && " + j.row("/lock") + ".includes('first')")
	j.awaitText("#recipes", "<script>alert(5)</script>")
	j.button("/lock")
	j.awaitText("#recipe tbody tr:first-child", "Holds")
	j.awaitText("#recipe tbody tr:first-child", "first")
	j.awaitText("#recipe tbody tr:last-child", "Waits")
	j.click("#recipe tbody td a")
	j.awaitText("#session #parts", "1 waits")
}

// What a visitor may not read is not decoded for it.
func TestAppRecipesKeepSecrets(t *testing.T) {
	j := visit(t, desk, 1)
	acl := client.WithACL(client.ACL{Perms: client.PermAll, Scheme: "digest", ID: "bob:hash="})
	j.create("/election", "")
	must.Do(j.client.Create(t.Context(), "/election/x-latch-0000000001", []byte("of bob"), client.Ephemeral, acl))(t)
	j.show("recipes")
	j.awaitText("#recipes", "/election")
	require.NotContains(t, eval[string](j, "document.body.textContent"), "of bob")
	j.loginApp()
	j.awaitText("#recipes", "of bob")
}

func TestAppTop(t *testing.T) {
	j := visit(t, desk, 1, func(c *config.Config) { c.Admin.Top = true })
	j.create("/busy", "x")
	for range 200 {
		j.data("/busy")
	}
	j.show("top")
	j.awaitText("section[aria-label=Operations]", "getData")
	require.NotContains(t, eval[string](j, "document.body.textContent"), "/busy", "without a login")
	j.loginApp()
	j.awaitText("[aria-label=Paths] tbody tr:first-child", "/busy")
}

// The areas are as large as what they stand for, and what is in none has one, too.
func TestAppAreasAreProportional(t *testing.T) {
	j := visit(t, telephone, 1)
	j.create("/a", strings.Repeat("x", 300_000))
	j.create("/b", strings.Repeat("x", 100_000))
	j.show("sizes")
	j.awaitText("#sizes", "counted")
	require.Empty(t, eval[[]string](j, `(() => {
		const all = [...document.querySelectorAll('.treemap a')];
		const area = (e) => parseFloat(e.style.width) * parseFloat(e.style.height) / 10000;
		const sum = all.reduce((n, e) => n + Number(e.dataset.size), 0);
		return all.filter(e => Math.abs(area(e) - e.dataset.size / sum) > 0.002).map(e => e.title);
	})()`))
	j.button("/a")
	j.await("location.hash.includes('path=%2Fa')")
}

// Growth is counted from one of the former counts, which the visitor chooses. The server counts again after a minute:
// so the former counts come from the proxy.
func TestSizesTellGrowth(t *testing.T) {
	j := visit(t, desk, 1)
	const older, newer = 1_700_000_000_000, 1_700_000_600_000
	j.throughProxy(func(r *http.Response) error {
		if !strings.HasSuffix(r.Request.URL.Path, "/api/v1/sizes") {
			return nil
		}
		grown, since := "202753", older
		if r.Request.URL.Query().Get("since") == fmt.Sprint(newer) {
			grown, since = "-1024", newer
		}
		text, err := io.ReadAll(r.Body)
		text = regexp.MustCompile(`("path":"/b",[^{]*"grown":)null`).ReplaceAll(text, []byte("${1}"+grown))
		told := fmt.Sprintf(`"formers":[%d,%d],"since":%d`, older, newer, since)
		text = bytes.Replace(text, []byte(`"formers":[],"since":0`), []byte(told), 1)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		r.Header.Del("Content-Length")
		return err
	})
	j.create("/a", strings.Repeat("x", 300_000))
	j.create("/b", strings.Repeat("x", 100_000))
	j.show("sizes")
	growth := func(path, want string) string {
		return fmt.Sprintf("[...document.querySelectorAll('#sizes tbody tr')].some(r => "+
			"r.children[0].textContent === %q && r.children[2].textContent === %q)", path, want)
	}
	j.await(growth("/b", "+198 KiB") + " && " + growth("/a", "–"))
	j.shoot("growth")
	j.enterText("[aria-label='Growth since']", fmt.Sprint(newer))
	j.await(growth("/b", "−1 KiB"))
	require.Contains(t, eval[string](j, "location.hash"), fmt.Sprint("since=", newer))
}

func TestAppConfigurationHidesPasswords(t *testing.T) {
	j := visit(t, desk, 1)
	j.show("configuration")
	j.button("All")
	j.awaitText("table", "tickTime")
	text := eval[string](j, "document.body.textContent")
	require.Contains(t, text, "superDigest")
	require.Equal(t, []string{"SIGHUP or warren loglevel"}, eval[[]string](j,
		"[...document.querySelectorAll('tbody tr')].filter(r => r.textContent.includes('warren.logLevel'))"+
			".map(r => r.children[3].textContent)"))
	require.Contains(t, text, "A restart")
	require.NotContains(t, text, "D/InIHSb7yEEbrWz8b9l71RjZJU=")
}

// An old address of a page leads to the page of today.
func TestOldAddresses(t *testing.T) {
	j := visit(t, desk, 1)
	j.throughProxy()
	j.do(chromedp.Navigate(j.base + "sessions"))
	j.awaitText("#sessions", "Sessions")
	require.Contains(t, eval[string](j, "location.href"), "/a/prefix/console/#/sessions")
}
