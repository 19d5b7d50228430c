package console

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/server/config"
)

// throughProxy puts a proxy with a prefix before the server, at an address that stays when the server has restarted.
func (j *journey) throughProxy() {
	j.t.Helper()
	h := httptest.NewServer(http.StripPrefix("/a/prefix", &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", "127.0.0.1:0" // where nothing listens
			if s := j.ensemble.Server(1); s != nil {
				r.Out.URL.Host = s.AdminAddr().String()
			}
			r.Out.Host = r.In.Host
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }}))
	j.t.Cleanup(h.Close)
	j.t.Cleanup(h.CloseClientConnections) // streams
	j.base = h.URL + "/a/prefix/console/"
}

// forgive forgets what the browser has complained about: this journey has asked for it.
func (j *journey) forgive() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.faults = nil
}

func TestBehindAProxyWithAPrefix(t *testing.T) {
	j := visit(t, desk, 1)
	j.throughProxy()
	j.edits("/a", "")
	j.edit("through the proxy")
	j.await("document.querySelector('#version')?.textContent === '1'")
	require.Equal(t, "through the proxy", j.data("/a"))
	j.show("live?path=/a")
	j.awaitText("#live", "Following")
	j.setBehind("/a", "again")
	j.awaitText("#live tbody", "changed")
}

// A server that has lost its ensemble and serves reads shows the tree and refuses changes.
func TestReadOnlyServer(t *testing.T) {
	j := visit(t, desk, 3, func(c *config.Config) { c.ReadOnlyMode = true })
	j.create("/a", "before")
	require.NoError(t, j.ensemble.WaitEqual(t.Context()))
	j.login()
	j.ensemble.Kill(2)
	j.ensemble.Kill(3)
	j.show("")
	j.awaitText(".findings", "is cut off from the quorum and serves reads only")
	j.open("tree?path=/a")
	j.awaitText("#text", "before")
	j.edit("after")
	j.awaitText(".trouble", "this server is read-only: it has lost its ensemble")
	j.awaitText("#text", "before")
}

// A znode that goes away while a visitor looks at its parent is not shown as empty.
func TestZnodeIsDeletedWhileLooking(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/a", "")
	j.create("/a/b", "")
	j.open("tree")
	j.await("document.querySelector('a[href$=\"%2Fa\"]')")
	require.NoError(t, j.client.Delete(t.Context(), "/a/b", -1))
	require.NoError(t, j.client.Delete(t.Context(), "/a", -1))
	j.unfold("a[href$='%2Fa']")
	j.awaitText("#unanswered", "with status 404")
	j.click("a[href$='%2Fa']")
	j.awaitText(".trouble", "there is no such znode")
}

// A page of another site cannot change or read anything with the login of a visitor, nor show the console in a frame.
func TestOtherSites(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/a", "kept")
	j.login()
	console := j.base
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<title>other</title><form method="post" action="%schange"><input name="kind" value="set">
			<input name="path" value="/a"><input name="version" value="0"><input name="data" id="data" value="stolen">
			</form><iframe src="%stree?path=/a"></iframe>`, console, console)
	}))
	t.Cleanup(other.Close)
	at := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	j.do(chromedp.Navigate(at))
	isBlocked := eval[bool](j, "document.querySelector('iframe').contentDocument === null")
	require.True(t, isBlocked, "the frame has an error page of another origin")
	j.run(fmt.Sprintf("fetch(%q, {credentials: 'include'}).then(() => window.read = 'all', () => "+
		"window.read = 'nothing')",
		console+"data?path=/a"))
	j.await("window.read === 'nothing'")
	j.send("#data")
	j.await("document.querySelector('.trouble')")
	require.Equal(t, "kept", j.data("/a"))
	j.forgive()
	j.open("tree?path=/a")
	j.awaitText("#user", "super")
}

// A visitor that logs out in one tab is logged out in all.
func TestLogoutInAnotherTab(t *testing.T) {
	j := visit(t, desk, 1)
	j.edits("/a", "kept")
	first := j.tab
	j.tab = j.newTab(telephone)
	j.open("tree")
	j.awaitText("#user", "super")
	j.click(".visitor button")
	j.awaitText(".visitor", "Log in")
	j.tab = first
	j.edit("lost")
	j.awaitText(".trouble", "changes need a login")
	require.Equal(t, "kept", j.data("/a"))
}

func TestWritesAreOff(t *testing.T) {
	j := visit(t, desk, 1, func(c *config.Config) { c.Admin.ConsoleWrites = false })
	j.edits("/a", "kept")
	j.awaitText("#text", "kept")
	require.Zero(t, eval[int](j, "document.querySelectorAll('main form, main textarea').length"))
}

func TestSequentialChildren(t *testing.T) {
	j := visit(t, telephone, 1)
	j.edits("/queue", "")
	for i := range 2 {
		j.unfold("#newname")
		j.fill("#newname", "job-")
		j.run("document.querySelector('[name=sequential]').checked = true")
		j.send("#newname")
		j.awaitText(".children", fmt.Sprintf("job-%010d", i))
	}
}

// A visitor without a mouse logs in, finds a znode and changes it.
func TestKeysAloneLogInAndEdit(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/a", "old")
	j.open("tree")
	j.tabTo("textContent === 'Log in'")
	j.press("\r")
	j.await("document.querySelector('#name')")
	j.tabTo("id === 'name'")
	j.press("super\ttest\r")
	j.awaitText("#user", "super")
	j.open("tree")
	j.press("j\r")
	j.awaitPath("/a")
	j.tabTo("textContent === 'Edit the data'")
	j.press("\r")
	j.tabTo("id === 'newdata'")
	j.press("new \t\r")
	j.await("document.querySelector('#version')?.textContent === '1'")
	require.Contains(t, j.data("/a"), "new ")
}

// tabTo presses the tabulator until the element with the focus meets a condition.
func (j *journey) tabTo(condition string) {
	j.t.Helper()
	for range 60 {
		if eval[bool](j, "document.activeElement."+condition) {
			return
		}
		j.press("\t")
	}
	require.FailNow(j.t, "the focus does not come to it", condition)
}

// A znode that its ACL hides shows neither its data nor its children's names, before the login that may.
func TestHiddenZnode(t *testing.T) {
	j := visit(t, telephone, 1)
	hidden := client.WithACL(client.ACL{Perms: client.PermAll, Scheme: "digest", ID: "bob:xyz="})
	j.create("/vault", "the secret data", hidden)
	j.open("tree")
	j.awaitText(".children", "not readable")
	j.open("tree?path=/vault")
	j.awaitText(".trouble", "the ACL of the znode does not allow it")
	require.NotContains(t, eval[string](j, "document.documentElement.outerHTML"), "the secret data")
	j.loginAt("/vault")
	j.awaitText("#text", "the secret data")
}
