package shell

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/cmd/warren/wording"
)

// Options of a Shell.
type Options struct {
	Servers     string        // connect string, host:port,host:port/chroot
	Timeout     time.Duration // of the session
	ConnectWait time.Duration // how long a command waits for a connection
	ReadOnly    bool          // accept a server without quorum
	TLS         *tls.Config   // nil for none
	Auth        []Auth        // identities of every connection
	SASL        client.SASL   // by which every connection authenticates, nil for none

	Out, Err    io.Writer
	JSON        bool   // one object a line instead of text
	ZkCli       bool   // as zkCli.sh: it says what it connects to, and changes of the session's state are events
	Typed       bool   // commands are typed at a terminal, in Terminal
	Quiet       bool   // no greeting, and no events until printwatches is switched on
	Hints       bool   // say what to do about every error
	Colours     bool   // of Out
	Screen      bool   // Out is a terminal: ls -s shows a table, and control characters of znodes are shown
	ErrColours  bool   // of Err
	Version     string // for the command version
	Build       string // of this program, for the greeting at a terminal
	Pager       bool   // output that is longer than the terminal waits for a key, when commands are typed
	HistoryFile string // for lines typed at a terminal, "" for none
}

// Auth is an identity in the form of addauth.
type Auth struct{ Scheme, Auth string }

// Shell runs commands in a session. It must be closed. Its methods are for one goroutine.
type Shell struct {
	o       Options
	out     *output
	link    *link
	printed atomic.Bool // printwatches

	entered []string // commands of this run, for history and redo
	code    int      // exit code of the last command
	isOver  bool     // quit was entered
}

// New returns a Shell whose session is being opened. An error means that the connect string makes no sense.
func New(o Options) (*Shell, error) {
	s := &Shell{o: o}
	s.printed.Store(!o.Quiet)
	s.out = newOutput(&s.o)
	s.greetAsZkCli("Connecting to " + o.Servers)
	var err error
	if s.link, err = dial(o.Servers, &s.o, s.out, &s.printed); err != nil {
		s.out.close()
		return nil, err
	}
	return s, nil
}

// Close ends the session and everything that the Shell has started.
func (s *Shell) Close() {
	s.link.close(true)
	s.out.close()
}

// greet prints a line for people, and for scripts that wait for it.
func (s *Shell) greet(line string) {
	if !s.o.JSON && !s.o.Quiet {
		_ = s.out.emit(note{line}) // a screen that is gone is noticed by the first result
	}
}

// greetAsZkCli prints a line of zkCli.sh under that name.
func (s *Shell) greetAsZkCli(line string) {
	if s.o.ZkCli {
		s.greet(line)
	}
}

// Command runs one command and returns its exit code. When ctx ends the command is interrupted.
func (s *Shell) Command(ctx context.Context, words []string) int {
	s.run(ctx, words, strings.Join(words, " "))
	return s.code
}

// Script runs the commands of the lines of in until its end, quit, or the end of ctx, and returns the exit code of
// the last one. Blank lines, and lines that begin with #, are skipped. A line may have a megabyte.
func (s *Shell) Script(ctx context.Context, in io.Reader) int {
	s.greetAsZkCli("Welcome to ZooKeeper!")
	s.greetAsZkCli("JLine support is disabled")
	lines, failed, stop := scan(in)
	defer stop()
	for !s.isOver {
		select {
		case line, ok := <-lines:
			if ok {
				s.line(ctx, line)
				continue
			}
			if err := failed(); err != nil {
				f := &failure{text: "commands cannot be read: " + wording.Text(err), isOwn: true}
				if errors.Is(err, bufio.ErrTooLong) {
					f.hint = "a line may have at most a megabyte"
				}
				s.out.fail(f)
				s.code = codeFailed
			}
			return s.code
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errInterrupted) {
				return codeInterrupted
			}
			return codeFailed
		}
	}
	return s.code
}

// scan reads lines in a goroutine, which ends at their end, or with the line after stop; so that waiting for them can
// be given up. Failed tells why they ended, after they have.
func scan(in io.Reader) (lines <-chan string, failed func() error, stop func()) {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, 1<<20)
	c, stopped := make(chan string), make(chan struct{})
	go func() {
		defer close(c)
		for scanner.Scan() {
			select {
			case c <- scanner.Text():
			case <-stopped:
				return
			}
		}
	}()
	return c, scanner.Err, func() { close(stopped) }
}

// line runs the command of one line.
func (s *Shell) line(ctx context.Context, line string) {
	words := splitWords(line)
	if len(words) == 0 || strings.HasPrefix(words[0], "#") {
		return
	}
	s.run(ctx, words, strings.TrimSpace(line))
}

// run runs one command, whose text is kept for redo.
func (s *Shell) run(ctx context.Context, words []string, text string) {
	s.entered = append(s.entered, text)
	err, cause := s.try(ctx, words)
	s.code = codeOK
	if err != nil && !errors.Is(err, errEnough) {
		f := s.describe(err, cause)
		s.code = f.code
		s.out.fail(f)
	}
	s.out.drain()
}

// try runs one command and returns its error, and why its context has ended if it has.
func (s *Shell) try(ctx context.Context, words []string) (err, cause error) {
	c := find(words[0])
	if c == nil {
		if s.o.ZkCli {
			s.out.warn(strings.TrimSuffix(usageList(), "\n"))
		}
		return &failure{text: "Command not found: Command not found " + words[0], hint: "`help` lists the commands",
			code: codeUnknown, isOwn: !s.o.ZkCli}, nil
	}
	if c.needsSession && s.link.isOver() {
		return notConnected(), nil
	}
	a, err := c.flags.parse(words[1:])
	if err != nil {
		if f, ok := errors.AsType[*failure](err); ok && f.hint == "" {
			f.hint = "usage: " + c.usageLine()
		}
		return err, nil
	}
	more := len(a.words) > c.wordsMax
	switch {
	case len(a.words) < c.wordsMin || more && c.refusesMore:
		return s.misused(c.name, c.wordsHint(len(a.words))), nil
	case more && s.o.ZkCli && s.o.Typed:
		s.out.warn(fmt.Sprintf("%q is ignored: %s", a.words[c.wordsMax], c.quoteHint()))
	case more && !s.o.ZkCli:
		return &failure{text: fmt.Sprintf("%s: too many arguments, from %q on", c.name, a.words[c.wordsMax]),
			hint: c.quoteHint(), code: codeFailed, isOwn: true}, nil
	}
	if c.talks {
		var release context.CancelFunc
		ctx, release = s.link.guard(ctx)
		defer release()
		if ctx.Err() != nil {
			return a.unsent(), context.Cause(ctx)
		}
	}
	err = c.run(ctx, s, a)
	return err, context.Cause(ctx)
}
