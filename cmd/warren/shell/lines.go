package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// linesMax bounds the history of typed lines, lineBytesMax one of them.
const (
	linesMax     = 1000
	lineBytesMax = 4096
)

// typedLines are the lines typed at a terminal, in this run and before, newest last. A line that may hold a password
// is not kept. It is a term.History, used by the goroutine that edits lines.
type typedLines struct {
	lines []string
	file  string // "" for none
	fresh int    // lines that the file does not have
}

// readLines reads the history. A file that is missing is an empty one, and nothing is kept in a device. Of a file that
// is too long the end is taken.
func readLines(file string) (*typedLines, error) {
	h := &typedLines{}
	if file == "" {
		return h, nil
	}
	var ok bool
	if h.file, ok = Replaceable(file); !ok {
		h.file = "" // such as /dev/null
		return h, nil
	}
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return h, nil
	}
	if err != nil {
		return h, fmt.Errorf("history cannot be read: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return h, fmt.Errorf("history cannot be read: %w", err)
	}
	const bytesMax = linesMax * lineBytesMax
	from := max(info.Size()-bytesMax, 0)
	text := make([]byte, info.Size()-from)
	n, err := f.ReadAt(text, from)
	if n < len(text) {
		return h, fmt.Errorf("history cannot be read: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasSuffix(line, "\n") {
			h.keep(strings.TrimSuffix(line, "\n"))
		}
	}
	return h, nil
}

// keep appends a line, unless it is blank, too long or the last one again.
func (h *typedLines) keep(line string) bool {
	if strings.TrimSpace(line) == "" || len(line) > lineBytesMax ||
		len(h.lines) > 0 && h.lines[len(h.lines)-1] == line {
		return false
	}
	h.lines = append(h.lines, line)
	if extra := len(h.lines) - linesMax; extra > 0 {
		h.lines = append(h.lines[:0], h.lines[extra:]...)
	}
	return true
}

// Add takes the newest line.
func (h *typedLines) Add(line string) {
	if commandOf(line) != "addauth" && h.keep(line) { // that has a password
		h.fresh = min(h.fresh+1, linesMax)
	}
}

func (h *typedLines) Len() int { return len(h.lines) }

// At returns the i-th line, counted from the newest.
func (h *typedLines) At(i int) string { return h.lines[len(h.lines)-1-i] }

// save appends the new lines to what the file has now: other shells may have added to it meanwhile. The file is
// replaced at once.
func (h *typedLines) save() error {
	if h.file == "" || h.fresh == 0 {
		return nil
	}
	now, err := readLines(h.file)
	if err != nil {
		return err
	}
	for _, line := range h.lines[len(h.lines)-min(h.fresh, len(h.lines)):] {
		now.keep(line)
	}
	fail := func(err error) error { return fmt.Errorf("history cannot be saved: %w", err) }
	dir := filepath.Dir(h.file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fail(err)
	}
	f, err := os.CreateTemp(dir, ".history-*") // readable by its owner only
	if err != nil {
		return fail(err)
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(strings.Join(now.lines, "\n") + "\n")
	if err := errors.Join(err, f.Close()); err != nil {
		return fail(err)
	}
	if err := os.Rename(f.Name(), h.file); err != nil {
		return fail(err)
	}
	h.fresh = 0
	return nil
}
