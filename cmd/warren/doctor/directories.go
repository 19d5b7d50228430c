package doctor

import (
	"cmp"
	"fmt"

	"github.com/seed94657493/warren/wal/vfs"
)

// remedyHistories is what to do about directories of several histories.
const remedyHistories = "decide which history the ensemble is to have; start its servers first, and on each of the " +
	"others run warren adopt, which sets the directory aside"

// CompareDirectories says which of several data directories is which, and which of them do not belong together.
// logDir is dataLogDir of all of them, "" if each has its log in itself.
func CompareDirectories(fsys vfs.FS, dataDirs []string, logDir string) (f Findings) {
	var all []*Holding
	for _, dir := range dataDirs {
		h, err := ReadHolding(fsys, dir, cmp.Or(logDir, dir))
		if err != nil {
			f.add(Error, "holding", dir, "run it as the user of the server", "what it holds cannot be told: %v", err)
			continue
		}
		f.add(Notice, "holding", dir, "", "%v", h)
		all = append(all, h)
	}
	for i, a := range all {
		for _, b := range all[:i] {
			a.compare(b, &f)
		}
	}
	return f
}

// compare looks whether two directories belong together.
func (h *Holding) compare(other *Holding, f *Findings) {
	subject := fmt.Sprintf("%s, %s", other.DataDir, h.DataDir)
	switch why := other.Differs(h.Provenance); {
	case why != "":
		const what = "their histories differ, as seen from %s: %s"
		f.add(Error, "other-history", subject, remedyHistories, what, other.DataDir, why)
	case h.Instance != "" && h.Instance == other.Instance:
		const remedy = "use one of them at most: a copy does not know what its original has promised since"
		first, second := other, h
		if h.Last < other.Last {
			first, second = h, other
		}
		f.add(Warning, "same-directory", subject, remedy, "one is a copy of the other: %s ends with %v, %s with %v",
			first.DataDir, first.Last, second.DataDir, second.Last)
	case h.ServerID >= 0 && h.ServerID == other.ServerID:
		const remedy = "give every server an id of its own in myid"
		f.add(Warning, "same-id", subject, remedy, "both belong to server %d", h.ServerID)
	}
}
