package console

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// The reads and writes of a znode are a chart, whichever servers the clients use, and its writes in the log another.
func TestActivityOfAZnode(t *testing.T) {
	j := visit(t, desk, 3, func(c *config.Config) { c.Admin.Top = true })
	leader := j.toLeader()
	j.create("/a", "x")
	j.show("tree?path=%2Fa&tab=activity")
	j.awaitText("#znode", "Activity needs a login")
	j.loginApp()
	j.await("document.querySelectorAll('#activity figure').length === 1")
	other := must.Do(client.Dial(t.Context(), j.ensemble.Addr(leader%3+1)))(t)
	t.Cleanup(func() { _ = other.Close() })
	figures := "document.querySelector('#activity .keys').textContent"
	for done := false; !done; { // until an interval with both is over
		for range 10 {
			must.Do2(other.Get(t.Context(), "/a"))(t)
			j.setBehind("/a", "y")
		}
		done = eval[bool](j, `/Reads [1-9].*Writes [1-9]/.test(`+figures+`)`)
	}
	j.run("location.reload()")
	j.awaitText("[aria-label='Writes in the log']", "Writes")
	j.await("document.querySelectorAll('#znode canvas').length === 2")
}

// Nothing is drawn where nothing is counted.
func TestActivityIsSwitchedOff(t *testing.T) {
	j := visit(t, telephone, 1, func(c *config.Config) { c.Admin.Top = false })
	j.create("/a", "x")
	j.show("tree?path=%2Fa&tab=activity")
	j.loginApp()
	j.awaitText("#znode", "warren.top.enabled is false")
	require.Zero(t, eval[int](j, "document.querySelectorAll('#activity').length"))
}

// A few letters of a path find it, with gaps and in any case; what was searched for is marked.
func TestPathsAreFoundByLetters(t *testing.T) {
	j := visit(t, desk, 1)
	for _, path := range []string{"/config", "/config/Topics", "/config/Topics/Orders", "/other"} {
		j.create(path, "data of "+path)
	}
	j.show("")
	j.click(".find")
	j.enterText(".palette input", "cfgTopord")
	j.awaitText("#hits", "/config/Topics/Orders")
	require.NotContains(t, eval[string](j, "document.querySelector('#hits').textContent"), "/other")
	j.press("\r")
	j.awaitText("#text", "data of /config/Topics/Orders")
	j.show("search?contains=topics%2Ford")
	j.awaitText("#found", "1 found")
	j.awaitText("main mark", "Topics/Ord")
}

// One button saves the bundles of all servers, and of one that is away the reason.
func TestSupportBundleOfAllServers(t *testing.T) {
	j := visit(t, desk, 3)
	leader := j.toLeader()
	away := leader%3 + 1
	folder := t.TempDir()
	j.do(command(cdpbrowser.SetDownloadBehavior, cdpbrowser.SetDownloadBehaviorParams{
		Behavior: cdpbrowser.SetDownloadBehaviorBehaviorAllow, DownloadPath: folder}))
	j.ensemble.Kill(away)
	j.show("servers")
	j.loginApp()
	j.awaitText(fmt.Sprintf("#steering tbody tr:nth-child(%d)", away), "Away")
	other := 6 - leader - away
	require.Eventually(t, func() bool { // the leader may have asked it before it had begun
		response, err := http.Get(fmt.Sprintf("%sapi/v1/trends?server=%d", j.base, other))
		return err == nil && response.Body.Close() == nil && response.StatusCode == http.StatusOK
	}, patience, 10*time.Millisecond)
	j.button("Support bundle")
	j.awaitText(".toasts", "Support bundle saved")
	var found []string
	require.Eventually(t, func() (done bool) {
		found, _ = filepath.Glob(filepath.Join(folder, "warren-support-all-*.tar.gz"))
		return len(found) == 1
	}, patience, 10*time.Millisecond)
	f := must.Do(os.Open(found[0]))(t)
	defer func() { _ = f.Close() }()
	plain := must.Do(gzip.NewReader(f))(t)
	files := map[string]string{}
	for archive := tar.NewReader(plain); ; {
		h, err := archive.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		text := must.ReadAll(t, archive)
		files[h.Name] = string(text)
	}
	for id := 1; id <= 3; id++ {
		name := fmt.Sprintf("server-%d/settings.json", id)
		if id == away {
			name = fmt.Sprintf("server-%d/NOT-COLLECTED.txt", id)
		}
		require.NotEmpty(t, files[name], name)
	}
}

// The marks in the charts are explained below them, and by the event itself where the cursor is.
func TestMarksAreExplained(t *testing.T) {
	j := visit(t, desk, 3)
	leader := j.toLeader()
	j.show("")
	j.awaitText("[aria-label='Marks in the charts']", "Start")
	j.awaitText("[aria-label='Marks in the charts']", "Role or leader")
	j.await("document.querySelectorAll('.chart canvas').length > 3")
	j.run("window.swept = 0")
	j.await(`(o => {
		const r = o.getBoundingClientRect();
		window.swept = (window.swept + 4) % r.width;
		const at = { clientX: r.left + window.swept, clientY: r.top + r.height / 2, bubbles: true };
		if (!document.querySelector('.chart .event')) o.dispatchEvent(new MouseEvent('mousemove', at));
		return document.querySelectorAll('.chart .event').length;
	})(document.querySelector('.chart .u-over'))`)
	shown := eval[string](j, "document.querySelector('.chart .event').textContent")
	require.Regexp(t, regexp.MustCompile(`^\d\d:\d\d:\d\d `), shown)
	// A finding that is over is one event, with how long it lasted.
	lost := leader%3 + 1
	j.awaitText("#verdict", "3 of 3 voters are up")
	j.ensemble.Kill(lost)
	text := fmt.Sprintf("Server %d: does not answer", lost)
	rows := fmt.Sprintf("[...document.querySelectorAll('.events li')].map(l => l.textContent).filter(t => "+
		"t.toLowerCase().includes(%q))", strings.ToLower(text))
	j.await(rows + ".length > 0")
	require.NoError(t, j.ensemble.Start(lost))
	j.await(rows + ".some(t => /Resolved: .* · \\d+ (s|min)$/.test(t))")
	require.NotContains(t, eval[[]string](j, rows), text)
}

// Each finding that a server tells has its words, its severity and its remedy on the overview, and the verdict, the
// bar at the top and the tone of the page follow the worst one.
func TestEveryFindingIsShown(t *testing.T) {
	j := visit(t, desk, 1)
	problems := ""
	j.throughProxy(func(r *http.Response) error {
		if !strings.HasSuffix(r.Request.URL.Path, "/api/v1/ensemble") {
			return nil
		}
		text, err := io.ReadAll(r.Body)
		text = regexp.MustCompile(`"problems":\[.*?\]`).ReplaceAllLiteral(text, []byte(`"problems":[`+problems+`]`))
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(string(text))), int64(len(text))
		r.Header.Del("Content-Length")
		return err
	})
	j.show("")
	for _, c := range []struct{ severity, tone, detail string }{{"notice", "good", "One notice."},
		{"warning", "warn", "One finding needs attention."}, {"error", "bad", "One finding needs attention."},
		{"critical", "bad", "One finding needs attention."}} {
		problems = fmt.Sprintf(`{"severity":%q,"check":"disk-%[1]s","server":1,"text":"server 1: the text of %[1]s",`+
			`"remedy":"the remedy of %[1]s","since":1}`, c.severity)
		j.awaitText(".findings", "Server 1: the text of "+c.severity)
		j.awaitText(".findings .remedy", "The remedy of "+c.severity)
		j.awaitText(".findings", "disk-"+c.severity)
		j.awaitText(".verdict", c.detail)
		j.await(fmt.Sprintf("document.querySelector('.verdict').classList.contains(%q) && "+
			"document.documentElement.dataset.state === %q", c.tone, c.tone))
		j.awaitText("#state", "1")
	}
	problems = ""
	j.awaitText(".verdict", "No findings.")
}

// What a server has refused is told by its reasons: a limit, and a drain. mntr, the API and the console say the same.
func TestRefusalsHaveReasons(t *testing.T) {
	j := visit(t, desk, 3, func(c *config.Config) {
		c.MaxClientCnxns, c.FourLetterWhitelist = 10, []string{"mntr"}
	})
	addr := j.ensemble.Addr(1)
	refused := func() error {
		c, err := wire.Dial(addr, wire.Options{TimeoutMs: 30_000})
		if err == nil {
			t.Cleanup(c.Close)
		}
		return err
	}
	for range 10 {
		_ = refused()
	}
	require.Error(t, refused())
	j.show("servers")
	j.loginApp()
	j.button("Drain this server")
	j.button("Dry run")
	j.awaitText("dialog", "nothing has changed yet")
	j.button("Drain")
	j.awaitText("#steering tbody tr:nth-child(1)", "Draining")
	require.Error(t, refused())
	j.show("?server=1")
	for _, reason := range []string{"maxClientCnxns", "drain"} {
		j.awaitText("[aria-label=Figures]", "refused: "+reason)
		j.await("fetch('api/v1/ensemble').then(r => r.json()).then(e => { window.refused = e.refused; }) && " +
			fmt.Sprintf("window.refused?.some(r => r.reason === %q && r.count > 0)", reason))
		require.Positive(t, must.Do(wire.Gauge(addr, "zk_connections_refused_"+reason, patience))(t))
	}
	require.NotContains(t, eval[string](j, "document.querySelector('[aria-label=Figures]').textContent"),
		"refused: disk")
}
