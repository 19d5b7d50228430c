package console

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
)

var (
	manyZnodes = flag.Int("console.znodes", 0,
		"how many znodes the tree has when the speed of the console is measured; 0 measures nothing")
	rate = flag.Int("console.rate", 2000, "operations a second of other clients meanwhile, one of ten a write")
)

// speedRounds is how often each figure is measured, in turns with the others.
const speedRounds = 5

// speeds are what was measured, in ms, by what it is.
type speeds map[string][]float64

func (s speeds) add(name string, ms float64) { s[name] = append(s[name], ms) }

// median also logs it.
func (s speeds) median(t *testing.T, name string) float64 {
	all := slices.Sorted(slices.Values(s[name]))
	t.Logf("%-55s %7.2f ms (median of %d; at most %.2f ms)", name, all[len(all)/2], len(all), all[len(all)-1])
	return all[len(all)/2]
}

// shownPages are the pages whose speed is measured, with what shows that they have told something.
var shownPages = []struct{ path, content string }{{"", "#verdict"}, {"tree", "[data-path='/p0']"},
	{"tree?path=%2Fp0", "#version"}, {"sessions", "#sessions td"}}

// TestSpeed measures, with -console.znodes, how fast pages are with a large tree behind them while other clients work,
// and what a visitor costs those. Server, clients and browser share the machine; the disk is memory.
func TestSpeed(t *testing.T) {
	if *manyZnodes == 0 {
		t.Skip("it takes a flag, and a machine that does nothing else")
	}
	j := visit(t, desk, 1)
	const wide = 200_000
	for made := 0; made < *manyZnodes; made += wide {
		parent := fmt.Sprintf("/p%d", made/wide)
		j.create(parent, "")
		j.createMany(parent, min(wide, *manyZnodes-made))
	}
	j.create("/other", "some data")
	s := speeds{}
	for range speedRounds {
		began := time.Now()
		visited := j.work(t, *rate, func() {
			for _, p := range shownPages {
				j.paints(s, p.path, p.content)
			}
			j.answers(s)
		})
		took := time.Since(began)
		elsewhere := j.work(t, *rate, func() { j.visitElsewhere(t, took) })
		alone := j.work(t, *rate, func() { time.Sleep(took) })
		t.Logf("with a visitor: %v; its browser elsewhere: %v; without: %v", visited, elsewhere, alone)
		for who, w := range map[string]worked{"with a visitor": visited, "its browser elsewhere": elsewhere,
			"without": alone} {
			s.add("p50 of other clients, "+who, float64(w.p50.Microseconds())/1000)
			s.add("p99 of other clients, "+who, float64(w.p99.Microseconds())/1000)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		switch ms := s.median(t, name); {
		case strings.HasPrefix(name, "first content"):
			assert.Less(t, ms, 300.0, name)
		case strings.HasPrefix(name, "after a click"):
			assert.Less(t, ms, 100.0, name)
		}
	}
}

// shownRequests are what the pages ask for that are measured, and what they ask for again every few seconds.
var shownRequests = []string{"ensemble", "servers", "identity", "trends?from=0", "children?path=/&limit=500",
	"children?path=/p0&limit=500", "znode?path=/p0", "laid?path=/other&as=json", "sessions?limit=1000"}

// visitElsewhere asks the server for as long as a visitor does for what its pages show, without a browser that would
// take the processors of the server: all of it at once, four times a second, which is more than a visitor can click.
func (j *journey) visitElsewhere(t *testing.T, long time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	for tick := time.NewTicker(time.Second / 4); ctx.Err() == nil; {
		var answers sync.WaitGroup
		for _, path := range shownRequests {
			answers.Go(func() {
				request, err := http.NewRequestWithContext(ctx, http.MethodGet, j.base+"api/v1/"+path, nil)
				assert.NoError(t, err)
				if response, err := http.DefaultClient.Do(request); err == nil { // else it is the end
					assert.Equal(t, http.StatusOK, response.StatusCode, path)
					_, _ = io.Copy(io.Discard, response.Body) // it may be the end
					_ = response.Body.Close()
				}
			})
		}
		answers.Wait()
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// paints measures when a page shows its first content, and what it was opened for.
func (j *journey) paints(s speeds, path, content string) {
	for range 3 {
		j.do(chromedp.Navigate("about:blank"))
		j.show(path)
		j.run(fmt.Sprintf(`window.took = 0; (() => { const look = () => { if (document.querySelector(%q))
			window.took = performance.now(); else requestAnimationFrame(look); }; look(); })()`, content))
		j.await("window.took && performance.getEntriesByName('first-contentful-paint').length")
		s.add(fmt.Sprintf("first content of %q", path),
			eval[float64](j, "performance.getEntriesByName('first-contentful-paint')[0].startTime"))
		s.add(fmt.Sprintf("own content of %q", path), eval[float64](j, "window.took"))
	}
}

// answers measures how long after a click the page shows what was asked for, in its own clock.
func (j *journey) answers(s speeds) {
	j.show("tree")
	j.awaitText(".vlist", "other")
	for _, step := range []struct{ name, act, shows, back string }{
		{"a znode is shown", `document.querySelector('[data-path="/other"]').click()`,
			`document.querySelector('#text')?.textContent.includes('some data')`,
			`document.querySelector('[data-path="/p0"]').click()`},
		{"200,000 children are open", `document.querySelector('[data-path="/p0"] .twist').click()`,
			`document.querySelector('[data-path="/p0/n000000"]')`,
			`document.querySelector('[data-path="/p0"] .twist').click()`},
		{"the palette is open", `document.querySelector('.find').click()`,
			`document.activeElement.getAttribute('role') === 'combobox'`,
			`document.querySelector('dialog').dispatchEvent(new Event('cancel', {cancelable: true}))`},
	} {
		for range 3 {
			j.run(`window.took = null; (() => { const began = performance.now(); ` + step.act + `;
				const look = () => { if (` + step.shows + `) window.took = performance.now() - began;
					else requestAnimationFrame(look); }; look(); })()`)
			j.await("window.took !== null")
			s.add("after a click "+step.name, eval[float64](j, "window.took"))
			j.run(step.back)
			j.await("!(" + step.shows + ")")
		}
	}
}

// worked is what became of the operations of other clients.
type worked struct {
	persecond float64
	p50, p99  time.Duration
}

func (w worked) String() string {
	return fmt.Sprintf("%.0f operations a second, p50 %v, p99 %v", w.persecond, w.p50.Round(10*time.Microsecond),
		w.p99.Round(10*time.Microsecond))
}

// work lets clients read and write at a rate while fn runs. An operation that is late begins at once, and counts from
// when it was due. So many are in flight that a rate is kept as long as an operation takes less than 10 ms.
func (j *journey) work(t *testing.T, rate int, fn func()) worked {
	const connections, each = 8, 100 // operations a second of a goroutine
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	workers := max(rate/each, connections)
	var clients []*client.Client
	for range connections {
		c, err := client.Dial(t.Context(), j.ensemble.Addr(1))
		require.NoError(t, err)
		defer func() { _ = c.Close() }()
		clients = append(clients, c)
	}
	var mu sync.Mutex
	var all []time.Duration
	var ended sync.WaitGroup
	began := time.Now()
	for worker := range workers {
		c := clients[worker%connections]
		ended.Go(func() {
			var own []time.Duration
			defer func() {
				mu.Lock()
				defer mu.Unlock()
				all = append(all, own...)
			}()
			for n := worker; ; n += workers {
				due := began.Add(time.Duration(n) * time.Second / time.Duration(rate))
				select {
				case <-time.After(time.Until(due)):
				case <-ctx.Done():
					return
				}
				path := fmt.Sprintf("/p0/n%06d", n*7919%min(*manyZnodes, 200_000))
				var err error
				if n/workers%10 == 0 {
					_, err = c.Set(ctx, path, []byte("written"), -1)
				} else {
					_, _, err = c.Get(ctx, path)
				}
				if err == nil { // else it is the end
					own = append(own, time.Since(due))
				}
			}
		})
	}
	fn()
	took := time.Since(began)
	cancel()
	ended.Wait()
	slices.Sort(all)
	require.NotEmpty(t, all)
	return worked{float64(len(all)) / took.Seconds(), all[len(all)/2], all[len(all)*99/100]}
}
