package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/cmd/warren/wording"
)

// Signals are what a terminal shell hears from outside. A nil channel is never heard from.
type Signals struct {
	Interrupt <-chan os.Signal // ends the command that runs
	Resize    <-chan os.Signal // the terminal may have another size
}

// screen writes to a terminal: while a line is edited above that line, whose prompt is then up to date again, else as
// it comes.
type screen struct {
	file    *os.File
	editor  *term.Terminal
	prompt  func() string // called with mu
	mu      sync.Mutex
	editing bool
}

// Write writes whole lines.
func (sc *screen) Write(p []byte) (int, error) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	if sc.editing {
		sc.editor.SetPrompt(sc.prompt())
		return sc.editor.Write(p)
	}
	return sc.file.Write(p)
}

func (sc *screen) setEditing(on bool) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	sc.editing = on
	if on {
		sc.editor.SetPrompt(sc.prompt())
	}
}

// change changes what the prompt shows, and draws the prompt and the line again. The line is being edited.
func (sc *screen) change(what func()) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	what()
	sc.editor.SetPrompt(sc.prompt())
	_, _ = sc.editor.Write(nil) // a screen that is gone is noticed by the next result
}

// keysAndScreen is what the line editor works on.
type keysAndScreen struct {
	io.Reader
	io.Writer
}

// Terminal runs the commands that are typed, until quit, Ctrl-D or the end of ctx, and returns the exit code of the
// last one. In and out are the same terminal. Ctrl-C ends the command that runs, or empties the line; it does not end
// the shell. REQUIRES: Options.Typed.
func (s *Shell) Terminal(ctx context.Context, in, out *os.File, signals Signals) int {
	lines, err := readLines(s.o.HistoryFile)
	if err != nil {
		s.out.warn(wording.Text(err))
	}
	sc := &screen{file: out}
	found := &search{lines: lines, screen: sc}
	keys := newKeyboard(ctx, in, found)
	defer close(keys.stop)
	editor := term.NewTerminal(keysAndScreen{keys, out}, "")
	editor.History = lines
	sc.editor = editor
	s.out.mu.Lock()
	s.out.out = sc
	s.out.mu.Unlock()
	defer func() {
		s.out.mu.Lock()
		s.out.out = out
		s.out.mu.Unlock()
	}()
	t := &terminal{s: s, in: in, keys: keys, screen: sc, editor: editor, search: found, signals: signals}
	sc.prompt = t.prompt
	editor.AutoCompleteCallback = func(line string, pos int, key rune) (string, int, bool) {
		return t.key(ctx, line, pos, key)
	}
	s.greet("warren shell " + s.o.Build)
	s.greet("`help` lists the commands, `help create` explains one, Tab completes, Ctrl-D ends the shell")
	stop := t.followSize()
	defer stop()
	for !s.isOver && ctx.Err() == nil {
		line, err := t.readLine()
		if err != nil {
			break
		}
		t.runLine(ctx, line)
	}
	if err := lines.save(); err != nil {
		s.out.warn(wording.Text(err))
	}
	return s.code
}

// terminal is one run of Terminal.
type terminal struct {
	s       *Shell
	in      *os.File
	keys    *keyboard
	screen  *screen
	editor  *term.Terminal
	search  *search
	signals Signals
	waited  time.Duration // of the command that runs, for keys
}

// followSize tells the editor how wide the terminal is, now and after every change.
func (t *terminal) followSize() (stop func()) {
	resize := func() {
		if width, height, err := term.GetSize(int(t.screen.file.Fd())); err == nil && width > 0 {
			_ = t.editor.SetSize(width, height)
		}
	}
	resize()
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-t.signals.Resize:
				resize()
			case <-done:
				return
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// readLine lets one line be typed. The terminal is raw meanwhile, and as it was afterwards.
func (t *terminal) readLine() (string, error) {
	fd := int(t.in.Fd())
	cooked, err := term.MakeRaw(fd)
	if err != nil {
		return "", fmt.Errorf("shell: terminal: %w", err)
	}
	t.screen.setEditing(true)
	line, err := t.editor.ReadLine()
	t.screen.setEditing(false)
	if restored := term.Restore(fd, cooked); restored != nil {
		err = errors.Join(err, restored)
	}
	if err != nil {
		fmt.Fprintln(t.screen.file) // the prompt stays behind
	}
	return line, err
}

// prompt is zkCli.sh's, with the state that the last event has told, and with the first of several servers and the
// number of the others; or the search in the history. REQUIRES: the mutex of the screen. Source: operations 5.2.
func (t *terminal) prompt() string {
	if t.search.on {
		return t.search.prompt()
	}
	state := promptState(client.State(t.s.link.state.Load()))
	c := t.s.out.colours
	shown := string(c.yellow(state))
	if state == "CONNECTED" {
		shown = string(c.green(state))
	}
	return fmt.Sprintf("[zk: %s(%s) %d] ", shortServers(t.s.link.servers), shown, len(t.s.entered))
}

// shortServers is a connect string with the first server only, and the number of the others.
func shortServers(connect string) string {
	hosts, root, hasRoot := strings.Cut(connect, "/")
	first, others, several := strings.Cut(hosts, ",")
	if several {
		first = fmt.Sprintf("%s+%d", first, 1+strings.Count(others, ","))
	}
	if hasRoot {
		first += "/" + root
	}
	return first
}

// slow is how long a command takes at least for its time to be shown.
const slow = time.Second

// runLine runs a line, which an interrupt ends.
func (t *terminal) runLine(ctx context.Context, line string) {
	t.waited = 0
	for drained := false; !drained; { // of interrupts from before
		select {
		case <-t.signals.Interrupt:
		default:
			drained = true
		}
	}
	ctx, release := UntilInterrupt(ctx, t.signals.Interrupt)
	defer release()
	pages := &pager{out: t.screen, size: t.size, key: func(prompt string) (rune, error) {
		return t.waitForKey(ctx, prompt)
	}}
	if t.s.o.Pager && commandOf(line) != "watch" { // which shows what happens while it happens
		t.s.out.setPages(pages)
	}
	began := time.Now()
	t.s.line(ctx, line)
	t.s.out.setPages(nil)
	if took := time.Since(began) - t.waited; took >= slow {
		t.s.greet(fmt.Sprintf("took %.1f s", took.Seconds()))
	}
}

// size returns the size of the terminal, or the usual one if the terminal does not know it.
func (t *terminal) size() (width, height int) {
	width, height, err := term.GetSize(int(t.screen.file.Fd()))
	if err != nil || width <= 0 || height <= 1 {
		return 80, 24
	}
	return width, height
}

// waitForKey shows a prompt and waits for a key while a command runs. The terminal is raw meanwhile, so that Ctrl-C is
// a key. A Ctrl-C just before that was a signal, which has ended ctx: it counts as the key.
func (t *terminal) waitForKey(ctx context.Context, prompt string) (rune, error) {
	began := time.Now()
	defer func() { t.waited += time.Since(began) }()
	fd := int(t.in.Fd())
	cooked, err := term.MakeRaw(fd)
	if err != nil {
		return 0, fmt.Errorf("shell: terminal: %w", err)
	}
	_, err = io.WriteString(t.screen, prompt)
	var key rune
	if err == nil {
		key, err = t.keys.next(ctx.Done())
	}
	if errors.Is(err, errStopped) && errors.Is(context.Cause(ctx), errInterrupted) {
		key, err = keyCtrlC, nil
	}
	return key, errors.Join(err, term.Restore(fd, cooked))
}

// key is asked about each key that the editor does not know. Tab completes, and lists the candidates if there is
// nothing to add. Ctrl-R searches the history.
func (t *terminal) key(ctx context.Context, line string, pos int, key rune) (string, int, bool) {
	switch key {
	case keyCtrlR:
		t.search.start(line)
		return "", 0, true
	case '\t':
	default:
		return "", 0, false
	}
	c := t.s.complete(ctx, line, pos)
	if len(c.candidates) > 0 {
		width, _ := t.size()
		_, _ = t.screen.Write([]byte(columns(c.candidates, width))) // what cannot be shown cannot be chosen
	}
	return c.line, c.pos, true
}
