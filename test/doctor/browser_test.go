package doctor

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

// browser is a Chromium without a screen, which obeys the protocol of its developer tools over a pipe.
type browser struct {
	once sync.Once
	cmd  *exec.Cmd // nil if none is installed
	dir  string    // of its profile, to remove

	mu       sync.Mutex // held from a command to its answer
	commands io.WriteCloser
	answers  *os.File
	read     *bufio.Reader // of answers
	last     int           // number of the last command
}

// theBrowser is the one of this process; each page has a tab of it.
var theBrowser browser

// tabs has a place for each tab that may be open: with more of them, each page would only be drawn later.
var tabs = make(chan struct{}, 4)

// open starts the browser, and reports whether there is one.
func (b *browser) open(t *testing.T) bool {
	t.Helper()
	b.once.Do(func() {
		path, err := exec.LookPath("chromium")
		if err != nil {
			return
		}
		b.dir = must.Do(os.MkdirTemp("", "warren-browser-"))(t)
		read, commands := must.Do2(os.Pipe())(t)
		answers, write := must.Do2(os.Pipe())(t)
		cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
			"--disable-extensions", "--disable-background-networking", "--disable-background-timer-throttling",
			"--disable-renderer-backgrounding", "--disable-backgrounding-occluded-windows", "--no-first-run",
			// A process for each address would take as long to start as a page takes to be drawn.
			"--renderer-process-limit=1", "--disable-site-isolation-trials",
			"--disable-features=IsolateOrigins,site-per-process,SpareRendererForSitePerProcess",
			// It is looked at by its text alone, so there is little to draw.
			"--window-size=500,400", "--force-prefers-reduced-motion", "--in-process-gpu",
			"--remote-debugging-pipe", "--user-data-dir="+b.dir)
		cmd.ExtraFiles = []*os.File{read, write} // 3 and 4, as it wants them
		require.NoError(t, cmd.Start())
		_, _ = read.Close(), write.Close()
		b.cmd, b.commands, b.answers, b.read = cmd, commands, answers, bufio.NewReader(answers)
	})
	return b.cmd != nil
}

// end ends the browser, if it was started.
func (b *browser) end() {
	if b.cmd != nil {
		_, _ = b.commands.Close(), b.cmd.Process.Kill()
		_ = b.cmd.Wait()
		_ = os.RemoveAll(b.dir)
	}
}

// call gives a command to the browser, or to the session of a tab, and waits for its result.
func (b *browser) call(session, method string, params, result any) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last++
	text, err := json.Marshal(struct {
		ID      int    `json:"id"`
		Session string `json:"sessionId,omitempty"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{b.last, session, method, params})
	if err != nil {
		return err
	}
	if err := b.answers.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := b.commands.Write(append(text, 0)); err != nil {
		return err
	}
	for {
		text, err := b.read.ReadBytes(0)
		if err != nil {
			return err
		}
		var answer struct {
			ID     int
			Error  struct{ Message string }
			Result json.RawMessage
		}
		switch err := json.Unmarshal(text[:len(text)-1], &answer); {
		case err != nil:
			return err
		case answer.ID != b.last: // an event
		case answer.Error.Message != "":
			return errors.New(method + ": " + answer.Error.Message)
		default:
			return json.Unmarshal(answer.Result, result)
		}
	}
}

// drawn is what a person sees on the overview of a console.
type drawn struct {
	Verdict  string // the sentence at the top
	Findings []struct{ Severity, Check, Text string }
	Servers  []string // the cards of the servers
	Figures  []string // of all servers or of this one: name, value, and what is below
}

// theOverview is an expression for what is drawn; null until the servers of the ensemble are known there, too.
const theOverview = `(() => {
  const text = (of) => of?.textContent.trim() ?? "";
  const all = (selector) => [...document.querySelectorAll(selector)];
  const asked = performance.getEntriesByType("resource")
    .some((r) => /api\/v1\/servers$/.test(r.name) && r.responseEnd);
  return asked && document.querySelector("#verdict") && {
    verdict: text(document.querySelector("#verdict")),
    findings: all(".findings > li").map((li) => ({
      severity: text(li.querySelector(".tag")).toLowerCase(),
      check: text(li.querySelector(".when")).split(" · ")[0],
      text: text(li.querySelector(".text")),
    })),
    servers: all(".server").map(text),
    figures: all("[aria-label=Figures] > div").map(text),
  };
})()`

// overview opens the console of a server and returns what is drawn when that is what is wanted, or what is drawn in
// the end.
func (h *hosts) overview(i int, wanted func(*drawn) bool) (*drawn, error) {
	tabs <- struct{}{}
	defer func() { <-tabs }()
	b := &theBrowser
	var target struct{ TargetID string }
	var tab struct{ SessionID string }
	err := b.call("", "Target.createTarget", map[string]any{"url": h.url(i, "/console/")}, &target)
	if err != nil {
		return nil, err
	}
	defer func() {
		_ = b.call("", "Target.closeTarget", map[string]any{"targetId": target.TargetID}, &struct{}{})
	}()
	err = b.call("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &tab)
	if err != nil {
		return nil, err
	}
	err = errors.New("the console draws no overview")
	const drawing = 15 * time.Second
	var page struct{ Result struct{ Value *drawn } }
	for watch := cluster.NewWatch(); watch.Elapsed() < drawing; watch.Pause() {
		// An error: the page has just begun.
		if b.call(tab.SessionID, "Runtime.evaluate", map[string]any{"expression": theOverview, "returnByValue": true},
			&page) == nil && page.Result.Value != nil {
			if err = nil; wanted(page.Result.Value) {
				break
			}
		}
	}
	return page.Result.Value, err
}
