package shell

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/seed94657493/warren/cmd/warren/wording"
)

// eventsMax bounds the watch events that wait for a screen that does not move. Those beyond it are counted.
const eventsMax = 10_000

// result is what a command has found. It marshals to JSON.
type result interface {
	appendText(b []byte, c colours) []byte
}

// onStderr marks the results that zkCli.sh prints to standard error.
type onStderr interface{ goesToStderr() }

// output is where everything is printed. Its methods may be called concurrently.
type output struct {
	isJSON    bool
	hints     bool
	colours   colours
	errColour colours
	wake      chan struct{} // has one element if events wait
	done      chan struct{} // closed when the printer of events has ended

	mu       sync.Mutex // of the writers; held while they write
	out, err io.Writer
	pages    io.Writer // where results go instead of out while a command of a terminal runs; nil for none

	pendingMu sync.Mutex
	pending   []result
	dropped   int
	closed    bool
}

func newOutput(o *Options) *output {
	p := &output{isJSON: o.JSON, hints: o.Hints || o.JSON, out: o.Out, err: o.Err,
		colours: colours{o.Colours, o.Screen}, errColour: colours{on: o.ErrColours},
		wake: make(chan struct{}, 1), done: make(chan struct{})}
	go p.printEvents()
	return p
}

// post queues an event. It never blocks.
func (p *output) post(e result) {
	p.pendingMu.Lock()
	defer p.pendingMu.Unlock()
	if p.closed {
		return
	}
	if len(p.pending) == eventsMax {
		p.dropped++
		return
	}
	p.pending = append(p.pending, e)
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// printEvents prints events that come while no command prints anything.
func (p *output) printEvents() {
	defer close(p.done)
	for range p.wake {
		p.drain()
	}
}

// close prints what waits and ends the printer.
func (p *output) close() {
	p.pendingMu.Lock()
	p.closed = true
	close(p.wake)
	p.pendingMu.Unlock()
	<-p.done
	p.drain()
}

// drain prints the events that wait.
func (p *output) drain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drainLocked()
}

// drainLocked is drain. REQUIRES: mu.
func (p *output) drainLocked() {
	p.pendingMu.Lock()
	events, dropped := p.pending, p.dropped
	p.pending, p.dropped = nil, 0
	p.pendingMu.Unlock()
	var b []byte
	for _, e := range events {
		b = p.render(b, e)
	}
	if dropped > 0 {
		b = p.render(b,
			note{wording.Count(dropped, "watch event") + " not printed: they came faster than they could be"})
	}
	if len(b) > 0 {
		_, _ = p.out.Write(b) // a screen that is gone is noticed by the next result
	}
}

func (p *output) render(b []byte, r result) []byte {
	if !p.isJSON {
		return r.appendText(b, p.colours)
	}
	text, err := json.Marshal(r)
	if err != nil {
		panic(fmt.Sprintf("shell: marshal %T: %v", r, err)) // results are structs of texts and numbers
	}
	return append(append(b, wording.SafeJSON(text)...), '\n')
}

// emit prints a result, after the events that came before it.
func (p *output) emit(r result) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drainLocked()
	w := p.out
	if p.pages != nil {
		w = p.pages
	}
	if _, ok := r.(onStderr); ok && !p.isJSON {
		w = p.err
	}
	if _, err := w.Write(p.render(nil, r)); err != nil {
		return fmt.Errorf("shell: write the result: %w", err)
	}
	return nil
}

// warn prints a line that is no result. JSON is spared it.
func (p *output) warn(text string) {
	if p.isJSON {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.err, text)
}

// fail prints why a command failed.
func (p *output) fail(f *failure) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drainLocked()
	if p.isJSON {
		text, _ := json.Marshal(struct {
			Error string `json:"error"`
			Hint  string `json:"hint,omitempty"`
			Code  int    `json:"exitCode"`
		}{f.text, f.hint, f.code})
		fmt.Fprintf(p.err, "%s\n", wording.SafeJSON(text))
		return
	}
	b := append(p.errColour.red(f.text), '\n')
	if f.onOut {
		_, _ = p.out.Write(append(p.colours.red(f.text), '\n'))
		b = nil
	}
	if f.hint != "" && (p.hints || f.isOwn) {
		b = append(append(b, p.errColour.dim("  "+f.hint)...), '\n')
	}
	_, _ = p.err.Write(b) // the error cannot be reported
}

// setPages sends results through w, or no longer if w is nil.
func (p *output) setPages(w io.Writer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pages = w
}

// note is a result of one line.
type note struct {
	Text string `json:"text"`
}

func (n note) appendText(b []byte, _ colours) []byte { return append(append(b, n.Text...), '\n') }

// colours says how texts are made for people: whether they are coloured, and whether they go to a screen, where
// control characters would do harm and columns are read more easily than brackets.
type colours struct {
	on       bool
	isScreen bool
}

func (c colours) paint(code, text string) []byte {
	if !c.on || text == "" {
		return []byte(text)
	}
	return []byte("\x1b[" + code + "m" + text + "\x1b[0m")
}

func (c colours) red(text string) []byte    { return c.paint("31", text) }
func (c colours) green(text string) []byte  { return c.paint("32", text) }
func (c colours) yellow(text string) []byte { return c.paint("33", text) }
func (c colours) blue(text string) []byte   { return c.paint("34", text) }
func (c colours) cyan(text string) []byte   { return c.paint("36", text) }
func (c colours) dim(text string) []byte    { return c.paint("2", text) }

// foreign returns a text that a client has stored, on a screen without what acts on that.
func (c colours) foreign(text string) string {
	if !c.isScreen {
		return text
	}
	return wording.Safe(text)
}

// name is foreign for names and paths, in which no line ends.
func (c colours) name(text string) string {
	text = c.foreign(text)
	if c.isScreen {
		text = strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(text)
	}
	return text
}

func (c colours) names(texts []string) []string {
	if !c.isScreen {
		return texts
	}
	shown := make([]string, 0, len(texts))
	for _, text := range texts {
		shown = append(shown, c.name(text))
	}
	return shown
}
