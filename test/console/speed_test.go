package console

import (
	"context"
	"flag"
	"fmt"
	"slices"
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
	const watched = 15 * time.Second
	alone := j.work(t, *rate, func() { time.Sleep(watched) })
	t.Logf("%d znodes, %v", *manyZnodes, alone)
	visited := j.work(t, *rate, func() {
		for _, path := range []string{"", "tree", "tree?path=%2Fp0", "sessions"} {
			j.paints(t, path)
		}
		j.answers(t)
	})
	t.Logf("with a visitor: %v", visited)
}

// paints measures when a page shows its first content.
func (j *journey) paints(t *testing.T, path string) {
	var all []float64
	for range 11 {
		j.do(chromedp.Navigate("about:blank"))
		j.show(path)
		j.await("performance.getEntriesByName('first-contentful-paint').length")
		all = append(all, eval[float64](j, "performance.getEntriesByName('first-contentful-paint')[0].startTime"))
	}
	slices.Sort(all)
	t.Logf("page %q: first content after %.0f ms (median of %d), at most %.0f ms", path, all[len(all)/2], len(all),
		all[len(all)-1])
	assert.Less(t, all[len(all)/2], 300.0, path)
}

// answers measures how long after a click the page shows what was asked for, in its own clock.
func (j *journey) answers(t *testing.T) {
	j.show("tree")
	j.awaitText(".vlist", "other")
	for _, step := range []struct{ name, act, shows, back string }{
		{"a znode is shown", `document.querySelector('[data-path="/other"]').click()`,
			`document.querySelector('#text')?.textContent.includes('some data')`,
			`document.querySelector('[data-path="/p0"]').click()`},
		{"a znode with 200,000 children is opened", `document.querySelector('[data-path="/p0"] .twist').click()`,
			`document.querySelector('[data-path="/p0/n000000"]')`,
			`document.querySelector('[data-path="/p0"] .twist').click()`},
		{"the palette is open", `document.querySelector('.find').click()`,
			`document.activeElement.getAttribute('role') === 'combobox'`,
			`document.querySelector('dialog').dispatchEvent(new Event('cancel', {cancelable: true}))`},
	} {
		var all []float64
		for range 11 {
			j.run(`window.took = null; (() => { const began = performance.now(); ` + step.act + `;
				const look = () => { if (` + step.shows + `) window.took = performance.now() - began;
					else requestAnimationFrame(look); }; look(); })()`)
			j.await("window.took !== null")
			all = append(all, eval[float64](j, "window.took"))
			j.run(step.back)
			j.await("!(" + step.shows + ")")
		}
		slices.Sort(all)
		t.Logf("%s after %.0f ms (median of %d), at most %.0f ms", step.name, all[len(all)/2], len(all),
			all[len(all)-1])
		assert.Less(t, all[len(all)/2], 100.0, step.name)
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
// when it was due.
func (j *journey) work(t *testing.T, rate int, fn func()) worked {
	const clients = 8
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	var all []time.Duration
	var ended sync.WaitGroup
	began := time.Now()
	for range clients {
		c, err := client.Dial(t.Context(), j.ensemble.Addr(1))
		require.NoError(t, err)
		ended.Go(func() {
			defer func() { _ = c.Close() }()
			var own []time.Duration
			every := time.Second * clients / time.Duration(rate)
			for n := 0; ; n++ {
				due := began.Add(time.Duration(n) * every)
				select {
				case <-time.After(time.Until(due)):
				case <-ctx.Done():
					mu.Lock()
					defer mu.Unlock()
					all = append(all, own...)
					return
				}
				path := fmt.Sprintf("/p0/n%06d", n*7919%min(*manyZnodes, 200_000))
				if n%10 == 0 {
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
