package sim

import (
	"fmt"
	"strings"
)

// Stats counts what a run has seen, so that a test can tell that it has seen enough.
type Stats struct {
	Runs      [6]int // by the number of voters
	Observers int

	Steps, Elections, Epochs, Delivered, Acked, Crashes, Cuts, Snaps, Truncs, Diffs, Replays, HandOvers, Wipes,
	Hunts, Restored, Syncs, DiskErrors, Reconfigs, Reconfigured, Mastered, Promises, Renewals, Forged, Notified,
	Overtaken, Adopted int

	Left, Returned, ReturnedObserving, Hidden int

	// moments
	Torn, LostAccepted, LostCurrent, LostLineages, WipesElected, WipesInTurn, FirstCrashes, FirstSlow, Identities int

	Exchanged, MetaLost, Protected, Unprotected, Silent, Unknown, Removed, Refusals, Outside, Leaderless, Ensembles int

	Exchanges [exchangeKinds]int // disks, by kind

	Faults      [faultKinds]int // that were drawn, by kind
	Edges       int             // faults right after a message of synchronization
	HealedAfter int64           // time units until convergence; of several runs, the most
}

// Add sums up what two runs have seen.
func (a *Stats) Add(b *Stats) {
	for i := range b.Runs {
		a.Runs[i] += b.Runs[i]
	}
	for i := range b.Faults {
		a.Faults[i] += b.Faults[i]
	}
	for i := range b.Exchanges {
		a.Exchanges[i] += b.Exchanges[i]
	}
	a.Observers += b.Observers
	a.Edges += b.Edges
	for _, c := range []struct{ to, from *int }{
		{&a.Steps, &b.Steps}, {&a.Elections, &b.Elections}, {&a.Epochs, &b.Epochs}, {&a.Delivered, &b.Delivered},
		{&a.Acked, &b.Acked}, {&a.Crashes, &b.Crashes}, {&a.Cuts, &b.Cuts}, {&a.Snaps, &b.Snaps},
		{&a.Truncs, &b.Truncs}, {&a.Diffs, &b.Diffs}, {&a.Replays, &b.Replays}, {&a.HandOvers, &b.HandOvers},
		{&a.Wipes, &b.Wipes}, {&a.Hunts, &b.Hunts}, {&a.Restored, &b.Restored}, {&a.Syncs, &b.Syncs},
		{&a.DiskErrors, &b.DiskErrors}, {&a.Reconfigs, &b.Reconfigs}, {&a.Reconfigured, &b.Reconfigured},
		{&a.Mastered, &b.Mastered}, {&a.Notified, &b.Notified}, {&a.Promises, &b.Promises}, {&a.Renewals, &b.Renewals},
		{&a.Overtaken, &b.Overtaken},
		{&a.Forged, &b.Forged},
		{&a.Left, &b.Left}, {&a.Returned, &b.Returned}, {&a.ReturnedObserving, &b.ReturnedObserving},
		{&a.Hidden, &b.Hidden},
		{&a.Torn, &b.Torn}, {&a.LostAccepted, &b.LostAccepted}, {&a.LostCurrent, &b.LostCurrent},
		{&a.LostLineages, &b.LostLineages}, {&a.WipesElected, &b.WipesElected}, {&a.WipesInTurn, &b.WipesInTurn},
		{&a.FirstCrashes, &b.FirstCrashes}, {&a.FirstSlow, &b.FirstSlow}, {&a.Identities, &b.Identities},
		{&a.Exchanged, &b.Exchanged}, {&a.MetaLost, &b.MetaLost}, {&a.Protected, &b.Protected},
		{&a.Unprotected, &b.Unprotected}, {&a.Silent, &b.Silent}, {&a.Unknown, &b.Unknown}, {&a.Removed, &b.Removed},
		{&a.Refusals, &b.Refusals}, {&a.Outside, &b.Outside}, {&a.Leaderless, &b.Leaderless},
		{&a.Ensembles, &b.Ensembles}, {&a.Adopted, &b.Adopted},
	} {
		*c.to += *c.from
	}
	a.HealedAfter = max(a.HealedAfter, b.HealedAfter)
}

// String is a table, one figure a line.
func (a *Stats) String() string {
	var b strings.Builder
	row := func(what string, n any) { fmt.Fprintf(&b, "  %-44s %12v\n", what, n) }
	row("runs with 1, 3 and 5 voters", fmt.Sprintf("%d, %d, %d", a.Runs[1], a.Runs[3], a.Runs[5]))
	row("observers", a.Observers)
	row("steps", a.Steps)
	row("elections begun", a.Elections)
	row("epochs established", a.Epochs)
	row("txns delivered, by all servers", a.Delivered)
	row("writes acknowledged", a.Acked)
	row("syncs answered", a.Syncs)
	row("synchronized by DIFF", a.Diffs)
	row("synchronized by TRUNC", a.Truncs)
	row("synchronized by SNAP", a.Snaps)
	row("with txns of the log on disk", a.Replays)
	row("observers synchronized by a follower", a.Mastered)
	row("promises to leaders that died at once", a.Promises)
	row("forged introductions", a.Forged)
	row("learners led into a new epoch while they served", a.Renewals)
	row("elections that servers outside have waited for", a.Overtaken)
	row("reconfigurations proposed", a.Reconfigs)
	row("and committed", a.Reconfigured)
	row("members removed and added while hidden", a.Hidden)
	row("disks lost by servers that had left", a.Left)
	row("of these that came back as observers first", a.ReturnedObserving)
	row("and that became voters again", a.Returned)
	row("processes that crashed", a.Crashes)
	row("of these by a failed fsync", a.DiskErrors)
	row("of these in the write of a promise", a.Torn)
	row("acceptedEpochs that a crash has taken", a.LostAccepted)
	row("currentEpochs that a crash has taken", a.LostCurrent)
	row("lineages that a crash has taken", a.LostLineages)
	row("crashes in the first elections", a.FirstCrashes)
	row("starts with a slow disk in the first elections", a.FirstSlow)
	row("identities that were drawn beside the first", a.Identities)
	row("disks lost", a.Wipes)
	row("of these right after an election", a.WipesElected)
	row("of these when the one before was made good", a.WipesInTurn)
	row("crashes of those servers in synchronization", a.Hunts)
	row("and of them up to date again", a.Restored)
	row("servers that could not tell their ensemble", a.Adopted)
	row("connections that broke", a.Cuts)
	if a.Exchanged > 0 {
		a.exchanges(row)
	}
	row("longest way to convergence, simulated ms", a.HealedAfter/100)
	b.WriteString("faults drawn\n")
	for kind, n := range a.Faults {
		row(faultNames[kind], n)
	}
	row("right after a message of synchronization", a.Edges)
	return b.String()
}

// exchanges are the rows of runs in which disks are exchanged.
func (a *Stats) exchanges(row func(string, any)) {
	row("exchanges", a.Exchanged)
	for kind, n := range a.Exchanges {
		row("disks replaced "+exchangeNames[kind], n)
	}
	row("of the copies without meta.db", a.MetaLost)
	row("acknowledged writes on a quorum of disks", a.Protected)
	row("that an exchange has taken from it", a.Unprotected)
	row("exempt: the lineage of the leader is silent", a.Silent)
	row("exempt: their epoch is not known to a quorum", a.Unknown)
	row("committed txns removed from outdated disks", a.Removed)
	row("servers that were told to stay outside", a.Refusals)
	row("servers outside at the end", a.Outside)
	row("runs without a quorum that agrees", a.Leaderless)
	row("new ensembles", a.Ensembles)
}
