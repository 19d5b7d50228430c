package shell

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"
)

// keyboard reads a terminal in a goroutine of its own, so that waiting for a key can be given up. Ctrl-C becomes the
// keys that empty the line and enter it. While the history is searched, keys change the search instead of the line.
type keyboard struct {
	chunks chan []byte
	done   <-chan struct{} // the shell is to end
	stop   chan struct{}   // closed when nothing is read any more
	typed  []byte          // keys of the person that nothing has looked at
	rest   []byte          // keys for the editor
	search *search
}

var errStopped = errors.New("stopped")

func newKeyboard(ctx context.Context, in *os.File, s *search) *keyboard {
	k := &keyboard{chunks: make(chan []byte), done: ctx.Done(), stop: make(chan struct{}), search: s}
	go k.read(in)
	return k
}

// read ends with the file, or at the first key after the shell has ended.
func (k *keyboard) read(in *os.File) {
	defer close(k.chunks)
	for {
		b := make([]byte, 256)
		n, err := in.Read(b)
		if n > 0 {
			select {
			case k.chunks <- b[:n]:
			case <-k.stop:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// The keys that are more than characters.
const (
	keyCtrlC     = 3
	keyCtrlG     = 7
	keyCtrlH     = 8
	keyCtrlR     = 18
	keyEscape    = 27
	keyBackspace = 127

	clearLine = "\x05\x15"       // to the end, delete to the start
	emptyLine = clearLine + "\r" // the same, and enter
)

// fill waits until there is a key in typed, or until done is closed.
func (k *keyboard) fill(done <-chan struct{}) error {
	if len(k.typed) > 0 {
		return nil
	}
	select {
	case chunk, ok := <-k.chunks:
		if !ok {
			return io.EOF
		}
		k.typed = chunk
		return nil
	case <-done:
		return errStopped
	}
}

// next waits for a key, or until done is closed. A character of several bytes is one key.
func (k *keyboard) next(done <-chan struct{}) (rune, error) {
	for {
		if err := k.fill(done); err != nil {
			return 0, err
		}
		if utf8.FullRune(k.typed) {
			r, n := utf8.DecodeRune(k.typed)
			k.typed = k.typed[n:]
			return r, nil
		}
		begun := k.typed
		k.typed = nil
		if err := k.fill(done); err != nil {
			return 0, err
		}
		k.typed = append(begun, k.typed...)
	}
}

// Read returns keys for the editor. The keys behind Ctrl-R wait until the editor has seen it, which begins the search.
func (k *keyboard) Read(p []byte) (int, error) {
	if len(k.rest) == 0 && k.search.isOn() {
		if err := k.searchHistory(); err != nil {
			return 0, err
		}
	}
	if len(k.rest) == 0 {
		if err := k.fill(k.done); err != nil {
			return 0, err
		}
		for len(k.typed) > 0 {
			c := k.typed[0]
			k.typed = k.typed[1:]
			if c == keyCtrlC {
				k.rest = append(k.rest, emptyLine...)
				continue
			}
			k.rest = append(k.rest, c)
			if c == keyCtrlR {
				break
			}
		}
	}
	n := copy(p, k.rest)
	k.rest = k.rest[n:]
	return n, nil
}

// searchHistory lets keys change the search until one ends it. The line that was found is typed into the editor, and
// the key as well, so that Enter runs the line and an arrow moves in it.
func (k *keyboard) searchHistory() error {
	k.search.begin()
	for {
		key, err := k.next(k.done)
		if err != nil {
			k.search.end()
			return err
		}
		switch {
		case key == keyCtrlR:
			k.search.older()
		case key == keyBackspace || key == keyCtrlH:
			k.search.shorten()
		case key == keyCtrlC || key == keyCtrlG:
			k.rest = append(k.rest, k.search.cancel()...)
			return nil
		case unicode.IsControl(key):
			k.rest = append(k.rest, k.search.end()...)
			if key != keyEscape || len(k.typed) > 0 { // Escape alone, which begins no other key, is used up
				k.rest = append(k.rest, byte(key))
			}
			return nil
		default:
			k.search.extend(key)
		}
	}
}

// search is a search in the history of typed lines, from the newest to the oldest, for those that contain a text. The
// goroutine that edits lines changes it. The prompt shows it.
type search struct {
	lines  *typedLines
	screen *screen

	// Guarded by the mutex of the screen.
	on       bool
	text     string
	found    string // "" for nothing
	at       int    // of found in the history, counted from the newest
	failed   bool
	original string // the line that was typed before
}

func (s *search) isOn() bool {
	s.screen.mu.Lock()
	defer s.screen.mu.Unlock()
	return s.on
}

// start switches the search on, while a line is in the editor. The editor does not draw it before begin.
func (s *search) start(line string) {
	s.screen.mu.Lock()
	defer s.screen.mu.Unlock()
	s.on, s.text, s.found, s.at, s.failed, s.original = true, "", "", 0, false, line
}

func (s *search) begin() { s.screen.change(func() {}) }

// look searches from the i-th line on.
func (s *search) look(i int) {
	for ; i < s.lines.Len(); i++ {
		line := s.lines.At(i)
		// A line with control characters cannot be typed into the editor.
		if strings.Contains(line, s.text) && !strings.ContainsFunc(line, unicode.IsControl) {
			s.found, s.at, s.failed = line, i, false
			return
		}
	}
	s.failed = true
}

func (s *search) extend(key rune) {
	s.screen.change(func() {
		s.text += string(key)
		s.look(s.at)
	})
}

func (s *search) shorten() {
	s.screen.change(func() {
		_, n := utf8.DecodeLastRuneInString(s.text)
		s.text, s.found, s.at, s.failed = s.text[:len(s.text)-n], "", 0, false
		if s.text != "" {
			s.look(0)
		}
	})
}

// older goes to the next older line, which is another one.
func (s *search) older() {
	s.screen.change(func() {
		if s.text == "" {
			return
		}
		from, last := s.at, s.found
		for s.failed = false; !s.failed && s.found == last; {
			from++
			s.look(from)
			from = max(from, s.at)
		}
	})
}

// end ends the search and returns the keys that type what was found.
func (s *search) end() string { return s.leave(func() string { return s.found }) }

// cancel ends the search and returns the keys that type what was there before.
func (s *search) cancel() string { return s.leave(func() string { return s.original }) }

func (s *search) leave(line func() string) (keys string) {
	s.screen.change(func() {
		s.on = false
		keys = clearLine + line()
	})
	return keys
}

// prompt is what bash shows. REQUIRES: the mutex of the screen.
func (s *search) prompt() string {
	failed := ""
	if s.failed {
		failed = "failed "
	}
	return "(" + failed + "reverse-i-search)`" + s.text + "': " + s.found
}
