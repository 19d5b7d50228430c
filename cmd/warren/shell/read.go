package shell

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto/paths"
)

// dataResult is the answer of get. In JSON the data is text, or base64 if it is not UTF-8; both are absent for null.
type dataResult struct {
	Path   string     `json:"path"`
	Data   *string    `json:"data,omitempty"`
	Base64 *string    `json:"base64,omitempty"`
	Stat   *shownStat `json:"stat,omitempty"`
	text   []byte     // as printed
}

func (r dataResult) appendText(b []byte, c colours) []byte {
	text := c.cyan(c.foreign(string(r.text)))
	if r.Data == nil && r.Base64 == nil {
		text = c.dim(string(r.text)) // null
	}
	return r.Stat.appendText(append(append(b, text...), '\n'), c)
}

func newDataResult(path string, data []byte, stat client.Stat, a *arguments) dataResult {
	r := dataResult{Path: path, Stat: a.stat(stat)}
	encoded := base64.StdEncoding.EncodeToString(data)
	switch {
	case data == nil:
		r.text = []byte("null")
	case utf8.Valid(data) && !a.has("b"):
		r.text, r.Data = data, new(string(data))
	default:
		r.text, r.Base64 = []byte(strings.ToValidUTF8(string(data), "\ufffd")), &encoded
	}
	switch {
	case data == nil:
	case a.has("b"):
		r.text = []byte(encoded)
	case a.has("x"):
		r.text = hexDump(data)
	}
	return r
}

// hexDump draws data as a table. Source: operations 5.5.
func hexDump(data []byte) []byte {
	if len(data) == 0 {
		return nil
	}
	const (
		above = "         +-------------------------------------------------+\n" +
			"         |  0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f |\n"
		frame = "+--------+-------------------------------------------------+----------------+"
	)
	b := []byte(above + frame)
	for at := 0; at < len(data); at += 16 {
		row := data[at:min(at+16, len(data))]
		b = fmt.Appendf(b, "\n|%08x| ", at)
		for _, c := range row {
			b = append(append(b, hex.EncodeToString([]byte{c})...), ' ')
		}
		b = append(append(b, strings.Repeat("   ", 16-len(row))...), '|')
		for _, c := range row {
			if c < 0x20 || c >= 0x7f {
				c = '.'
			}
			b = append(b, c)
		}
		b = append(append(b, strings.Repeat(" ", 16-len(row))...), '|')
	}
	return append(b, "\n"+frame...)
}

// oldForm reports whether a command was given in its old form, with a word instead of a flag, and says so.
func (s *Shell) oldForm(a *arguments, old, now string) bool {
	if len(a.words) < 2 {
		return false
	}
	s.out.warn(fmt.Sprintf("'%s' has been deprecated. Please use '%s' instead.", old, now))
	return true
}

func runGet(ctx context.Context, s *Shell, a *arguments) error {
	isWatched := s.oldForm(a, "get path [watch]", "get [-s] [-w] path") || a.has("w")
	path := a.word(0)
	if err := checkPath(path, false); err != nil {
		return err
	}
	data, stat, err := s.read(ctx, path, isWatched)
	if err != nil {
		return err
	}
	return s.out.emit(newDataResult(path, data, stat, a))
}

// read returns the data of a znode, and watches it if asked to.
func (s *Shell) read(ctx context.Context, path string, isWatched bool) ([]byte, client.Stat, error) {
	if !isWatched {
		return s.link.client.Get(ctx, path)
	}
	data, stat, w, err := s.link.client.GetW(ctx, path)
	if err == nil {
		s.link.watches.hold(path, client.WatcherData, w)
	}
	return data, stat, err
}

// statResult is a Stat.
type statResult struct {
	Path string     `json:"path"`
	Stat *shownStat `json:"stat"`
}

func (r statResult) appendText(b []byte, c colours) []byte { return r.Stat.appendText(b, c) }

func runStat(ctx context.Context, s *Shell, a *arguments) error {
	isWatched := s.oldForm(a, "stat path [watch]", "stat [-w] path") || a.has("w")
	path := a.word(0)
	if err := checkPath(path, false); err != nil {
		return err
	}
	var (
		stat   client.Stat
		exists bool
		err    error
	)
	if isWatched {
		var w *client.Watch
		if stat, exists, w, err = s.link.client.ExistsW(ctx, path); err == nil {
			s.link.watches.hold(path, client.WatcherData, w)
		}
	} else {
		stat, exists, err = s.link.client.Exists(ctx, path)
	}
	switch {
	case err != nil:
		return err
	case !exists:
		return &client.Error{Op: "exists", Path: path, Err: client.ErrNoNode}
	}
	return s.out.emit(statResult{path, (*shownStat)(&stat)})
}

// listResult is the children of a znode.
type listResult struct {
	Path     string     `json:"path"`
	Children []string   `json:"children"`
	Stat     *shownStat `json:"stat,omitempty"`
}

func (r listResult) appendText(b []byte, c colours) []byte {
	b = append(append(append(b, '['), strings.Join(c.names(r.Children), ", ")...), ']', '\n')
	return r.Stat.appendText(b, c)
}

// pathResult is the path of a znode.
type pathResult struct {
	Path string `json:"path"`
}

func (r pathResult) appendText(b []byte, c colours) []byte {
	return append(append(b, c.name(r.Path)...), '\n')
}

const listHelp = `usage: ls [options] path
 -?   help
 -R   recurse
 -s   stat
 -w   watch`

func runList(ctx context.Context, s *Shell, a *arguments) error {
	if a.has("?") {
		if err := s.out.emit(note{listHelp}); err != nil {
			return err
		}
	}
	isWatched := s.oldForm(a, "ls path [watch]", "ls [-w] path") || a.has("w")
	path := a.word(0)
	if err := checkPath(path, false); err != nil {
		return err
	}
	if a.has("R") {
		return s.listBelow(ctx, path, isWatched)
	}
	names, stat, err := s.children(ctx, path, isWatched)
	if err != nil {
		return err
	}
	if a.has("s") && s.o.Screen {
		return s.listTable(ctx, path, names, stat)
	}
	return s.out.emit(listResult{path, names, a.stat(stat)})
}

// children returns the sorted names of the children of a znode.
func (s *Shell) children(
	ctx context.Context, path string, isWatched bool,
) (names []string, stat client.Stat, err error) {
	if isWatched {
		var w *client.Watch
		if names, stat, w, err = s.link.client.ChildrenW(ctx, path); err == nil {
			s.link.watches.hold(path, client.WatcherChildren, w)
		}
	} else {
		names, stat, err = s.link.client.Children(ctx, path)
	}
	if names == nil {
		names = []string{} // [] in JSON
	}
	slices.Sort(names)
	return names, stat, err
}

// listBelow prints the paths of a subtree in zkCli.sh's order: a znode's children, then what is below each of them.
func (s *Shell) listBelow(ctx context.Context, root string, isWatched bool) error {
	// As in zkCli.sh, the root is read too: it is refused if it may be listed only, and it gets a data watch besides.
	if _, _, err := s.read(ctx, root, isWatched); err != nil {
		return err
	}
	if err := s.out.emit(pathResult{root}); err != nil {
		return err
	}
	pending := []string{root}
	for len(pending) > 0 {
		path := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		names, _, err := s.children(ctx, path, isWatched)
		if isGone(err) {
			continue
		}
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := s.out.emit(pathResult{paths.ChildOf(path, name)}); err != nil {
				return err
			}
		}
		for _, name := range slices.Backward(names) {
			pending = append(pending, paths.ChildOf(path, name))
		}
	}
	return nil
}

// countResult is a number of znodes.
type countResult struct {
	Path  string `json:"path"`
	Count int    `json:"count"`
}

func (r countResult) appendText(b []byte, _ colours) []byte {
	return append(strconv.AppendInt(b, int64(r.Count), 10), '\n')
}

func runCountChildren(ctx context.Context, s *Shell, a *arguments) error {
	path := a.word(0)
	if err := checkPath(path, false); err != nil {
		return err
	}
	n, err := s.link.client.CountDescendants(ctx, path)
	if err != nil {
		return err
	}
	return s.out.emit(countResult{path, n})
}

// ephemeralsResult is the ephemerals of the session.
type ephemeralsResult struct {
	Ephemerals []string `json:"ephemerals"`
}

func (r ephemeralsResult) appendText(b []byte, c colours) []byte {
	return append(append(append(b, '['), strings.Join(c.names(r.Ephemerals), ", ")...), ']', '\n')
}

func runGetEphemerals(ctx context.Context, s *Shell, a *arguments) error {
	prefix := "/"
	if len(a.words) > 0 {
		prefix = a.word(0)
	}
	if err := checkPath(prefix, false); err != nil {
		return err
	}
	paths, err := s.link.client.Ephemerals(ctx, prefix)
	if err != nil {
		return err
	}
	if paths == nil {
		paths = []string{}
	}
	slices.Sort(paths)
	return s.out.emit(ephemeralsResult{paths})
}
