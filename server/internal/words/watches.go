package words

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/facts"
)

// The words about watches.

func (w *Words) wchs(_ asker, out *bytes.Buffer) {
	s := w.WatchSummary()
	fmt.Fprintf(out, "%d connections watching %d paths\nTotal watches:%d\n", s.Connections, s.Paths, s.Total)
}

func (w *Words) wchc(_ asker, out *bytes.Buffer) {
	writeGroups(out, w.Watches(), w.watchSession, watchPath)
}

func (w *Words) wchp(_ asker, out *bytes.Buffer) {
	writeGroups(out, w.Watches(), watchPath, w.watchSession)
}

func (w *Words) watchSession(one facts.Watch) proto.SessionID {
	return w.shownID(proto.SessionID(one.Session))
}

func watchPath(one facts.Watch) string { return one.Path }

// writeGroups writes the watches by head, and below each head the other half of its watches, both in order.
func writeGroups[H, E cmp.Ordered](out *bytes.Buffer, all []facts.Watch, head func(facts.Watch) H,
	entry func(facts.Watch) E) {
	slices.SortFunc(all, func(a, b facts.Watch) int {
		return cmp.Or(cmp.Compare(head(a), head(b)), cmp.Compare(entry(a), entry(b)))
	})
	for i, one := range all {
		if i == 0 || head(all[i-1]) != head(one) {
			fmt.Fprintln(out, head(one))
		}
		fmt.Fprintf(out, "\t%v\n", entry(one))
	}
	out.WriteByte('\n')
}
