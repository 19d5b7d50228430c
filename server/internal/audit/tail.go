package audit

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/seed94657493/warren/wal/vfs"
)

// Entry is a line of the audit log. Fields that a line lacks are empty.
type Entry struct {
	At        int64 // ms since 1970; 0 if the line does not tell
	User      string
	IP        string
	Session   string
	Operation string
	Znode     string
	Result    string
	Detail    string // the other fields, as name=value
}

// tailBytes is how much of the end of a file Tail reads.
const tailBytes = 256 << 10

// Tail returns the newest lines of the audit log in a file, the newest first: at most so many, of the last tailBytes
// of the file and, if that has fewer, of the one before it. It may be called while the log is written.
func Tail(fsys vfs.FS, file string, most int) ([]Entry, error) {
	all := []Entry{}
	for _, name := range []string{path(file), path(file) + ".1"} {
		text, err := endOf(fsys, name)
		if errors.Is(err, os.ErrNotExist) {
			continue // before the first line, or a log that has not become large
		}
		if err != nil {
			return nil, err
		}
		for len(text) > 0 && len(all) < most {
			at := bytes.LastIndexByte(text, '\n')
			if e, ok := parse(string(text[at+1:])); ok {
				all = append(all, e)
			}
			text = text[:max(at, 0)]
		}
	}
	return all, nil
}

// endOf returns whole lines from the end of a file.
func endOf(fsys vfs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	from := max(0, size-tailBytes)
	text := make([]byte, size-from)
	n, err := f.ReadAt(text, from)
	if n < len(text) && err != nil {
		return nil, err
	}
	if from > 0 {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return text[:bytes.LastIndexByte(text, '\n')+1], nil
}

// parse reads a line. It reports false if that is none of an audit log.
func parse(line string) (e Entry, ok bool) {
	head, fields, ok := strings.Cut(line, ": ")
	if !ok || len(head) < len(stamp) {
		return e, false
	}
	if at, err := time.ParseInLocation(stamp, head[:len(stamp)], time.Local); err == nil {
		e.At = at.UnixMilli()
	}
	known := map[string]*string{"user": &e.User, "ip": &e.IP, "session": &e.Session, "operation": &e.Operation,
		"znode": &e.Znode, "result": &e.Result}
	for field := range strings.SplitSeq(fields, "\t") {
		name, value, _ := strings.Cut(field, "=")
		if to := known[name]; to != nil {
			*to = value
		} else {
			e.Detail = strings.TrimSpace(e.Detail + " " + field)
		}
	}
	return e, e.Operation != ""
}
