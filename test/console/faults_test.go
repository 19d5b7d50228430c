package console

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/config"
)

// throughProxy puts a proxy with a prefix before the server, at an address that stays when the server has restarted.
// It may change the answers.
func (j *journey) throughProxy(change ...func(*http.Response) error) *httptest.Server {
	j.t.Helper()
	h := httptest.NewServer(http.StripPrefix("/a/prefix", &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", "127.0.0.1:0" // where nothing listens
			if s := j.ensemble.Server(1); s != nil {
				r.Out.URL.Host = s.AdminAddr().String()
			}
			r.Out.Host = r.In.Host
		},
		ModifyResponse: func(r *http.Response) error {
			for _, c := range change {
				if err := c(r); err != nil {
					return err
				}
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }}))
	j.t.Cleanup(h.Close)
	j.t.Cleanup(h.CloseClientConnections) // streams
	j.base = h.URL + "/a/prefix/console/"
	return h
}

// forgive forgets what the browser has complained about: this journey has asked for it.
func (j *journey) forgive() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.faults = nil
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

func TestBehindAProxyWithAPrefix(t *testing.T) {
	j := visit(t, desk, 1)
	j.throughProxy()
	j.create("/a", "")
	j.show("tree?path=%2Fa")
	j.loginApp()
	j.button("Edit")
	j.typeInEditor("through the proxy")
	j.save()
	j.awaitText("#version", "1")
	require.Equal(t, "through the proxy", j.data("/a"))
	j.show("live?path=%2Fa")
	j.awaitText("#live", "Following")
	j.setBehind("/a", "again")
	j.awaitText("#live tbody", "Changed")
}

// Changes that came while the connection was interrupted are not shown, which the page says.
func TestLiveChangesHaveAGap(t *testing.T) {
	j := visit(t, desk, 1)
	proxy := j.throughProxy()
	j.show("live")
	j.awaitText("#live", "Following")
	require.NotContains(t, eval[string](j, "document.querySelector('#live').textContent"), "interrupted")
	proxy.CloseClientConnections()
	j.awaitText("#live", "The connection was interrupted: changes of that time are missing here")
	j.awaitText("#live", "Following")
	j.forgive()
}

// An editor that cannot be loaded, as after an upgrade of the server, says what to do. A server that does not serve
// says so, instead of asking for a login that it would refuse. A list that is cut says how much of it is there.
func TestAnswersThatAreNoneOrCut(t *testing.T) {
	j := visit(t, desk, 1)
	refused := map[string]int{"/static/app/codemirror-": http.StatusNotFound,
		"/support": http.StatusServiceUnavailable, "/watchers": http.StatusOK}
	j.throughProxy(func(r *http.Response) error {
		for path, status := range refused {
			if strings.Contains(r.Request.URL.Path, path) {
				const text = `{"detail":"no","total":300,"servers":[],"watchers":[{"session":"0x1","address":"::1"}]}`
				r.StatusCode, r.Body = status, io.NopCloser(strings.NewReader(text))
				r.Header.Set("Content-Length", strconv.Itoa(len(text)))
			}
		}
		return nil
	})
	j.create("/a", "text")
	j.show("servers")
	j.button("Support bundle")
	j.awaitText("#steering [role=alert]", "No")
	j.show("tree?path=%2Fa&tab=watchers")
	j.awaitText("#znode", "300 clients of the ensemble, of which 1 are listed.")
	j.show("tree?path=%2Fa")
	j.loginApp()
	j.button("Edit")
	j.awaitText("#znode [role=alert]", "The editor cannot be loaded")
	j.forgive()
}

// A server that has lost its ensemble and serves reads shows the tree and refuses changes.
func TestReadOnlyServer(t *testing.T) {
	j := visit(t, desk, 3, func(c *config.Config) { c.ReadOnlyMode = true })
	j.create("/a", "before")
	require.NoError(t, j.ensemble.WaitEqual(t.Context()))
	j.show("tree?path=%2Fa")
	j.loginApp()
	j.button("Edit")
	j.typeInEditor("after")
	j.ensemble.Kill(2)
	j.ensemble.Kill(3)
	j.await("fetch('api/v1/ensemble').then((r) => r.json()).then((e) => { window.state = e.state; }) && " +
		"window.state === 'read-only'")
	j.save()
	j.awaitText("dialog", "This server is read-only: it has lost its ensemble")
	j.await("document.querySelector('.editor').shadowRoot.textContent.includes('after')") // nothing typed is lost
	j.button("Keep editing")
	j.show("")
	j.awaitText(".findings", "is cut off from the quorum and serves reads only")
}

// A page of another site cannot change or read anything with the login of a visitor, nor show the console in a frame.
func TestOtherSites(t *testing.T) {
	j := visit(t, desk, 1, sharing)
	j.create("/a", "kept")
	j.show("")
	j.loginApp()
	console := j.base
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<title>other</title><form method="post" action="%slinks"><input name="path" id="path"
			value="/a"><input name="hours" value="1"></form><iframe src="%s"></iframe>`, console, console)
	}))
	t.Cleanup(other.Close)
	at := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	j.do(chromedp.Navigate(at))
	isBlocked := eval[bool](j, "document.querySelector('iframe').contentDocument === null")
	require.True(t, isBlocked, "the frame has an error page of another origin")
	for _, address := range []string{"data?path=/a", "api/v1/znode?path=/a"} {
		j.run(fmt.Sprintf("fetch(%q, {credentials: 'include'}).then(() => window.read = 'all', () => "+
			"window.read = 'nothing')", console+address))
		j.await("window.read === 'nothing'")
	}
	j.run(fmt.Sprintf("fetch(%q, {method: 'PUT', credentials: 'include', "+
		"headers: {'Content-Type': 'application/json'}, body: %q}).then(() => window.put = 'sent', () => "+
		"window.put = 'nothing')", console+"api/v1/znode", `{"path":"/a","data":"stolen","version":-1}`))
	j.await("window.put === 'nothing'")
	j.send("#path")
	j.await("document.querySelector('.trouble')")
	require.Equal(t, "kept", j.data("/a"))
	j.forgive()
	j.do(chromedp.Navigate(j.base))
	j.awaitText("#user", "super")
}
