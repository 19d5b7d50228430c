package console

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/must"
)

// patience is how long a condition of a page may take.
const patience = 2 * time.Minute

// journeys are those that were made: each server that was visited, and each page that was looked at on every screen. A
// whole run makes journeysMin of them, so that none is lost unseen.
var journeys atomic.Int32

const journeysMin = 80

// browser is the context of the one browser; each journey has a tab of it.
var browser context.Context

// shortPart are the journeys that go test -short makes: one for each kind.
const shortPart = "^Test(OverviewStaysFresh|AppTreeStaysOpen|NamesAreShownEscaped|ConflictKeepsTheText|" +
	"FormatsOfData|SubtreeIsDeletedAfterAPreview|HistoryShowsWhatHasChanged)$"

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		if err := flag.Set("test.run", shortPart); err != nil {
			panic(err)
		}
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	path := pathOfBrowser()
	if path == "" {
		if os.Getenv("WARREN_BROWSER") == "required" {
			log.Print("there is no chromium: install it, or unset WARREN_BROWSER")
			return 1
		}
		log.Print("there is no chromium: nothing is tested")
		return 0
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.Flag("disable-dev-shm-usage", true))
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	defer cancel()
	first, end := chromedp.NewContext(allocator)
	defer end()
	if err := chromedp.Do(first); err != nil {
		log.Print(err)
		return 1
	}
	browser = first
	code := m.Run()
	log.Printf("%d journeys", journeys.Load())
	whole := flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.skip").Value.String() == ""
	if code == 0 && whole && journeys.Load() < journeysMin {
		log.Printf("that is less than %d", journeysMin)
		return 1
	}
	return code
}

// pathOfBrowser is the path of Chromium, "" if there is none.
func pathOfBrowser() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// journey is a tab that visits a server of an ensemble of its own.
type journey struct {
	t        *testing.T
	tab      context.Context
	ensemble *embed.Ensemble
	client   *client.Client
	base     string // of the console of server 1

	mu     sync.Mutex
	faults []string // what the browser has complained about
}

// screen is what a visitor has before its eyes.
type screen struct {
	width  int64
	scheme string // light or dark
}

var desk, telephone = screen{1440, "light"}, screen{390, "dark"}

// superDigest is super:test.
const superDigest = "super:D/InIHSb7yEEbrWz8b9l71RjZJU="

// tick is long enough for a machine that is busy for seconds: no leader is given up meanwhile.
const tick = 500 * time.Millisecond

// start starts servers, which allow changes by the console.
func start(t *testing.T, servers int, configure ...func(*config.Config)) *embed.Ensemble {
	t.Helper()
	quiet := zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zapcore.EncoderConfig{}), zapcore.AddSync(io.Discard),
		zap.NewAtomicLevel()))
	e := embed.Start(t, embed.Options{Servers: servers, TickTime: tick, Log: quiet,
		Version: "3.9.4-warren, built on 11/01/2026 00:00 UTC", Program: "Warren 0.2.0",
		Configure: func(_ int, c *config.Config) {
			c.Admin.Enabled, c.Admin.Address, c.Admin.Port, c.Admin.ConsoleWrites = true, "127.0.0.1", 0, true
			c.SuperDigest = superDigest
			for _, change := range configure {
				change(c)
			}
		}})
	require.NoError(t, e.WaitServing(t.Context()))
	return e
}

// visit starts servers, and opens a tab at the first of them.
func visit(t *testing.T, s screen, servers int, configure ...func(*config.Config)) *journey {
	t.Helper()
	journeys.Add(1)
	e := start(t, servers, configure...)
	c := must.Do(client.Dial(t.Context(), e.Addr(1), client.WithMaxRequest(4<<20), client.WithMaxReply(4<<20)))(t)
	t.Cleanup(func() { _ = c.Close() })
	j := &journey{t: t, ensemble: e, client: c, base: "http://" + e.Server(1).AdminAddr().String() + "/console/"}
	j.tab = j.newTab(s)
	t.Cleanup(func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		require.Empty(t, j.faults, "the browser complains")
	})
	return j
}

// newTab opens a tab that ends with the journey.
func (j *journey) newTab(s screen) context.Context {
	j.t.Helper()
	tab, closeTab := chromedp.NewContext(browser)
	j.t.Cleanup(closeTab)
	require.NoError(j.t, chromedp.Listen(tab, func(event any) { j.listen(tab, event) }))
	require.NoError(j.t, chromedp.Do(tab, dress(s)...))
	return tab
}

// dress are the steps that give a tab a screen.
func dress(s screen) []chromedp.Action[chromedp.Void] {
	return []chromedp.Action[chromedp.Void]{chromedp.EmulateViewport(s.width, 900),
		command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: s.scheme}}})}
}

// dress gives the tab another screen.
func (j *journey) dress(s screen) {
	j.t.Helper()
	j.do(dress(s)...)
}

// command is a step that sends a command of the protocol of the browser.
func command[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, params)
		return err
	})
}

// listen notes what no page of the console may cause.
func (j *journey) listen(tab context.Context, event any) {
	fault := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		fault = fmt.Sprintf("%s %+v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception)
	case *page.EventJavascriptDialogOpening:
		if e.Type != page.DialogTypeBeforeunload { // asks before typed text is left
			fault = "a script of a name or of data runs: " + e.Message
		}
		go func() {
			_ = chromedp.Do(tab, command(page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true}))
		}()
	case *cdplog.EventEntryAdded: // such as what the content security policy has blocked
		if e.Entry.Level == cdplog.EntryLevelError && e.Entry.Source != cdplog.EntrySourceNetwork {
			fault = e.Entry.Text
		}
	}
	if fault != "" {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.faults = append(j.faults, fault)
	}
}

// do runs steps in the tab.
func (j *journey) do(steps ...chromedp.Action[chromedp.Void]) {
	j.t.Helper()
	ctx, cancel := context.WithTimeout(j.tab, patience)
	defer cancel()
	require.NoError(j.t, chromedp.Do(ctx, steps...))
}

// element runs a step on one element. If the page replaces the element between the search and the step, the step has
// had no effect, and is run again.
func (j *journey) element(step chromedp.Action[chromedp.Void]) {
	j.t.Helper()
	ctx, cancel := context.WithTimeout(j.tab, patience)
	defer cancel()
	err := chromedp.Do(ctx, step)
	for err != nil && strings.Contains(err.Error(), "Could not find node with given id") {
		err = chromedp.Do(ctx, step)
	}
	require.NoError(j.t, err)
}

// open loads a page of the console.
func (j *journey) open(path string) {
	j.t.Helper()
	j.do(chromedp.Navigate(j.base+path), chromedp.WaitVisible(chromedp.CSS("#main")))
}

func (j *journey) click(selector string) {
	j.t.Helper()
	j.element(chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
}

// fill sets the text of a field.
func (j *journey) fill(selector, text string) {
	j.t.Helper()
	j.element(chromedp.SetValue(chromedp.CSS(selector), text))
}

// press presses keys where the focus is.
func (j *journey) press(keys string) {
	j.t.Helper()
	j.do(chromedp.KeyEvent(keys))
}

// send sends the form of a field by its first button.
func (j *journey) send(selector string) {
	j.t.Helper()
	j.run(fmt.Sprintf("document.querySelector(%q).form.requestSubmit()", selector))
}

func (j *journey) run(script string) {
	j.t.Helper()
	j.do(chromedp.Evaluate[chromedp.Void](script))
}

// eval returns the value of an expression in the page.
func eval[T any](j *journey, expression string) T {
	j.t.Helper()
	ctx, cancel := context.WithTimeout(j.tab, patience)
	defer cancel()
	return must.Do(chromedp.Run(ctx, chromedp.Evaluate[T](expression)))(j.t, expression)
}

// await waits until an expression is true in the page, whichever page that is meanwhile.
func (j *journey) await(expression string) {
	j.t.Helper()
	ctx, cancel := context.WithTimeout(j.tab, patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		if err == nil && ok {
			return
		}
		select { // an error: another page begins
		case <-tick.C:
		case <-ctx.Done():
			text, _ := chromedp.Run(j.tab, chromedp.Evaluate[string]("document.body.innerText"))
			require.FailNow(j.t, "the page does not come to it", "%s\n%v\n%s", expression, err, text)
		}
	}
}

// awaitText waits until an element has a text.
func (j *journey) awaitText(selector, text string) {
	j.t.Helper()
	j.await(fmt.Sprintf("(document.querySelector(%q)?.textContent || '').includes(%q)", selector, text))
}

// toLeader goes on at the console of the leader, and returns its id.
func (j *journey) toLeader() int {
	j.t.Helper()
	leader := must.Do(j.ensemble.Leader(j.t.Context()))(j.t)
	j.base = "http://" + j.ensemble.Server(leader).AdminAddr().String() + "/console/"
	return leader
}

// create creates a znode. A server that begins may lose its connections once, when it has found its leader.
func (j *journey) create(path, data string, options ...client.CreateOption) {
	j.t.Helper()
	_, err := j.client.Create(j.t.Context(), path, []byte(data), client.Persistent, options...)
	for errors.Is(err, client.ErrConnectionLoss) {
		_, err = j.client.Create(j.t.Context(), path, []byte(data), client.Persistent, options...)
		if errors.Is(err, client.ErrNodeExists) {
			return
		}
	}
	require.NoError(j.t, err)
}

// data returns the data of a znode as the client sees it.
func (j *journey) data(path string) string {
	j.t.Helper()
	data, _ := must.Do2(j.client.Get(j.t.Context(), path))(j.t)
	return string(data)
}

// setBehind sets data as another client does, behind the back of the page.
func (j *journey) setBehind(path, data string) {
	j.t.Helper()
	must.Do(j.client.Set(j.t.Context(), path, []byte(data), -1))(j.t)
}

// createMany creates n children with names of six digits.
func (j *journey) createMany(parent string, n int) {
	j.t.Helper()
	const batch = 5000
	for made := 0; made < n; made += batch {
		var txn client.Txn
		for i := made; i < min(n, made+batch); i++ {
			txn.Create(fmt.Sprintf("%s/n%06d", parent, i), nil, client.Persistent)
		}
		must.Do(j.client.Commit(j.t.Context(), &txn))(j.t)
	}
}

// operable are the roles of what a visitor can use or find its way by: each needs a name.
var operable = map[string]bool{"link": true, "button": true, "textbox": true, "searchbox": true, "checkbox": true,
	"heading": true, "navigation": true, "region": true, "DisclosureTriangle": true}

// checkNames requires that everything that can be operated has a name in the accessibility tree.
func (j *journey) checkNames(name string) {
	j.t.Helper()
	ctx, cancel := context.WithTimeout(j.tab, patience)
	defer cancel()
	var tree accessibility.GetFullAXTreeResult
	require.NoError(j.t, chromedp.Do(ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) (err error) {
		tree, err = cdp.Call(ctx, t, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
		return err
	})))
	found := 0
	for _, n := range tree.Nodes {
		if n.Ignored || n.Role == nil {
			continue
		}
		role := strings.Trim(string(n.Role.Value), `"`)
		if operable[role] {
			found++
			isNamed := n.Name != nil && strings.Trim(string(n.Name.Value), `" `) != ""
			require.True(j.t, isNamed, "%s: a %s has no name", name, role)
		}
	}
	require.Greater(j.t, found, 5, name)
}
