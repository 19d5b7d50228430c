package shell

import (
	"errors"
	"io"
	"strings"
	"unicode/utf8"
)

// errEnough ends a command of whose output no more is wanted.
var errEnough = errors.New("enough")

// pager writes the output of one command to a screen, and waits for a key whenever the screen is full. The command
// waits meanwhile, so nothing is kept in memory. It is for one goroutine.
type pager struct {
	out  io.Writer
	size func() (width, height int)
	key  func(prompt string) (rune, error) // shows a prompt and waits for a key; an interrupt is Ctrl-C

	row    int // rows that are full since the last key
	column int
	isOff  bool // the rest is wanted at once
	err    error
}

const pagerPrompt = "-- more: Space a screen, Enter a line, a all, q enough --"

// Write writes output. The screen waits only if there is more to show.
func (p *pager) Write(b []byte) (int, error) {
	if p.err != nil {
		return 0, p.err
	}
	width, height := p.size()
	begin := 0
	for i := 0; i < len(b); {
		if n := escapeLength(b[i:]); n > 0 {
			i += n
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		if r != '\n' && p.column == width {
			p.row, p.column = p.row+1, 0
		}
		if !p.isOff && p.row >= height-1 {
			if _, err := p.out.Write(b[begin:i]); err != nil {
				return begin, err
			}
			begin = i
			if p.err = p.wait(height); p.err != nil {
				return begin, p.err
			}
		}
		switch r {
		case '\n':
			p.row, p.column = p.row+1, 0
		case '\t':
			p.column = min((p.column/8+1)*8, width)
		default:
			p.column++
		}
		i += n
	}
	if _, err := p.out.Write(b[begin:]); err != nil {
		return begin, err
	}
	return len(b), nil
}

// escapeLength returns the length of the colour at the beginning of b, 0 if there is none.
func escapeLength(b []byte) int {
	if len(b) < 2 || b[0] != keyEscape || b[1] != '[' {
		return 0
	}
	for i, c := range b[2:] {
		if c >= '@' && c <= '~' {
			return i + 3
		}
	}
	return 0
}

// wait asks how much more is wanted.
func (p *pager) wait(height int) error {
	newLine := ""
	if p.column > 0 { // a long line goes on
		newLine = "\n"
	}
	for prompt := newLine + pagerPrompt; ; prompt = "" {
		key, err := p.key(prompt)
		if err != nil {
			return err
		}
		switch key {
		case ' ', 'f':
			p.row = 0
		case '\r', '\n', 'j':
			p.row = height - 2
		case 'a', 'G':
			p.isOff = true
		case 'q', 'Q', keyCtrlC, 4:
			err = errEnough
		default:
			continue
		}
		p.column = 0
		if _, writeErr := io.WriteString(p.out, "\r"+strings.Repeat(" ", len(pagerPrompt))+"\r"); writeErr != nil {
			return writeErr
		}
		return err
	}
}
