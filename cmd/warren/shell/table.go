package shell

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/internal/znodetext"
	"github.com/seed94657493/warren/proto/paths"
)

const (
	tableMax  = 1000 // children in a table: each costs a request
	statsMost = 32   // of those requests, how many are in flight
)

// child is a row of the table that ls -s shows on a screen.
type child struct {
	name   string
	stat   client.Stat
	exists bool
	err    error
}

// tableResult is the answer of ls -s on a screen: the children in columns, and the Stat of their parent.
type tableResult struct {
	children []child
	more     int // children that are not in the table
	stat     shownStat
}

func (r tableResult) appendText(b []byte, c colours) []byte {
	rows := [][]string{{"NAME", "KIND", "VERSION", "BYTES", "CHILDREN", "MODIFIED"}}
	for _, n := range r.children {
		if n.exists {
			rows = append(rows, []string{c.name(n.name), kindOf(&n.stat), strconv.Itoa(int(n.stat.Version)),
				strconv.Itoa(int(n.stat.DataLength)), strconv.Itoa(int(n.stat.NumChildren)),
				time.UnixMilli(n.stat.Mtime).Format(time.DateTime)})
		}
	}
	if len(rows) == 1 {
		return r.stat.appendText(append(b, "no children\n"...), c)
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, text := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(text))
		}
	}
	for at, row := range rows {
		for i, text := range row {
			gap := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text))
			isNumber := i >= 2 && i <= 4
			if isNumber {
				b = append(b, gap...)
			}
			switch {
			case at == 0:
				b = append(b, c.dim(text)...)
			case i == 0 && row[1] == znodetext.Ephemeral:
				b = append(b, c.yellow(text)...)
			case i == 0 && row[4] != "0":
				b = append(b, c.blue(text)...)
			default:
				b = append(b, text...)
			}
			if i == len(row)-1 {
				break
			}
			if !isNumber {
				b = append(b, gap...)
			}
			b = append(b, "  "...)
		}
		b = append(b, '\n')
	}
	if r.more > 0 {
		b = append(b, c.dim(fmt.Sprintf("... and %d more: `ls` without -s lists all names", r.more))...)
		b = append(b, '\n')
	}
	return r.stat.appendText(append(b, '\n'), c)
}

// listTable prints the children of a znode as a table. Those that are deleted meanwhile are left out.
func (s *Shell) listTable(ctx context.Context, path string, names []string, stat client.Stat) error {
	r := tableResult{children: make([]child, min(len(names), tableMax)), stat: shownStat(stat)}
	r.more = len(names) - len(r.children)
	var all sync.WaitGroup
	free := make(chan struct{}, statsMost)
	for i := range r.children {
		n := &r.children[i]
		n.name = names[i]
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			n.stat, n.exists, n.err = s.link.client.Exists(ctx, paths.ChildOf(path, n.name))
		})
	}
	all.Wait()
	for i := range r.children {
		if err := r.children[i].err; err != nil {
			return err
		}
	}
	return s.out.emit(r)
}
