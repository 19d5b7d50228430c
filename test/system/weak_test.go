//go:build weak

package system

import (
	"errors"
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/internal/weakness"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/zab"
)

var (
	flagDefects = flag.Bool("system.defects", false, "look for every defect, which takes minutes; otherwise for a few")
	flagClean   = flag.Uint64("system.clean", 1, "how many seeds of each run of a defect are tried without the defect")
)

// defect is what the servers of a run have on purpose.
type defect struct {
	name string
	set  weakness.Set
	by   Check   // must notice it
	in   Options // the run in which it shows; what these do not say is drawn from the seed
	fast bool    // it is one of the few
}

// of is a defect of the host.
func of(w weakness.Weakness, by Check, in Options) defect {
	return defect{name: w.String(), set: weakness.Of(w).And(uint32(twofold[w])), by: by, in: in}
}

// twofold are defects from which two guards protect: one of package server, and one of package zab.
var twofold = map[weakness.Weakness]zab.Weakness{
	weakness.DiffTooLate: zab.GapsTaken,
	weakness.FormerLinks: zab.OldLinks,
}

// quick makes a defect one of the few that are looked for in every run of the tests.
func (d defect) quick() defect { d.fast = true; return d }

// The runs in which defects show. Each has no more faults than its defects need.
var (
	calm    = []Fault{}
	crashes = []Fault{Kill, PowerLoss, Outage}
	cuts    = []Fault{Partition, OneWay, Reset, Stall}
	both    = []Fault{Kill, PowerLoss, Outage, Partition, OneWay, Reset, Stall}
	none    = []Feature{}
)

// seldom lets servers write snapshots seldom: what is on the disk at a start is not hidden by a newer one.
func seldom(c *config.Config) { c.SnapCount = 100_000 }

// whole lets leaders send their whole state to every learner.
func whole(c *config.Config) { c.SnapCount, c.ForceSnapshotSync = 100_000, true }

// defects are the defects of the host, and those of the agreement that test/sim cannot have.
func defects() []defect {
	return []defect{
		of(weakness.PersistedBeforeWrite, NeverBack,
			Options{Servers: 3, Faults: crashes, Mean: 500 * time.Millisecond}),
		of(weakness.SyncedBeforeFdatasync, NeverBack, Options{Servers: 3, Faults: crashes}),
		of(weakness.SnapshotNamedTooFar, SameDigest, Options{Servers: 3, Faults: crashes}),
		of(weakness.TruncKeepsSnapshots, SameDigest,
			Options{Servers: 3, Faults: both, Mean: 500 * time.Millisecond, Configure: seldom}),
		of(weakness.FullDiskForgets, Convergence,
			Options{Servers: 3, Faults: []Fault{FullDisk, Kill, PowerLoss}, Mean: 500 * time.Millisecond}),
		of(weakness.InstallKeepsSnapshots, ModelDigest,
			Options{Servers: 5, Clients: 2, Faults: []Fault{Kill, PowerLoss, SlowNet, SlowDisk, OneWay},
				Mean: 300 * time.Millisecond, Configure: whole}),
		of(weakness.EpochsOutliveDatabase, Convergence,
			Options{Servers: 3, Faults: []Fault{Wipe, SlowNet, OneWay}, Mean: 500 * time.Millisecond}),
		of(weakness.TornBatchRefused, EndsByItself,
			Options{Servers: 3, Faults: []Fault{MidWrite}, Mean: 500 * time.Millisecond, Busy: true}),
		of(weakness.AppliedTwice, SameDigest, Options{Servers: 3, Faults: []Fault{Kill, Wipe, SlowNet}}),
		of(weakness.RevalidationSkipped, SessionEnds, Options{Servers: 3, Faults: calm}),
		of(weakness.ExpiryByFollower, SessionEnds, Options{Servers: 3, Faults: calm}),
		of(weakness.ExpiryOfMoved, SessionEnds, Options{Servers: 3, Faults: calm}),
		of(weakness.EphemeralsLostOnMove, AskedFor, Options{Servers: 3, Faults: calm}),
		of(weakness.ForwardDropped, Writes, Options{Servers: 3, Faults: calm}),
		of(weakness.DiffTooLate, Asserted, Options{Servers: 3, Faults: crashes}),
		of(weakness.SyncWithoutQuorum, ReplyOrder, Options{Servers: 3, Faults: cuts}).quick(),
		of(weakness.SyncOvertakes, Convergence, Options{Servers: 3, Faults: calm, Slow: "applier"}),
		of(weakness.LeaseOutlivesQuorum, SessionEnds, Options{Servers: 3, Clients: 6,
			Faults: []Fault{Stall, Partition}, Mean: 3 * time.Second, Restless: true}),
		of(weakness.GenerationUnchecked, SessionOrder, Options{Servers: 3, Clients: 4,
			Faults: []Fault{HandOver, Reset}, Mean: 300 * time.Millisecond,
			Busy: true, Slow: "journal", Late: time.Second}),
		of(weakness.ServesBeforeApplied, ModelDigest, Options{Servers: 3, Faults: []Fault{Kill, Reset, Partition},
			Mean: 500 * time.Millisecond, Busy: true, Slow: "applier", Late: time.Second}),
		of(weakness.MovedSessionKeepsWrite, SessionOrder,
			Options{Servers: 3, Faults: []Fault{SlowNet, ClientCut}, Restless: true}),
		of(weakness.SnapshotBehind, Asserted, Options{Servers: 3, Faults: []Fault{Kill, Wipe}}).quick(),
		of(weakness.SnapWhileReplaced, ModelDigest, Options{Servers: 3, Faults: []Fault{Partition, Kill, Stall},
			Mean: 300 * time.Millisecond, Busy: true, Slow: "applier", Late: 3 * time.Second, Configure: whole}),
		of(weakness.EarlierReplyTaken, Writes, Options{Servers: 3, Clients: 3, Faults: calm, Slow: "journal",
			Late: 300 * time.Millisecond, Restless: true, Again: true, Steps: 150}),
		of(weakness.EarlyDropped, Convergence, Options{Servers: 3, Faults: []Fault{Kill, Reset},
			Mean: 500 * time.Millisecond, Busy: true, Slow: "applier", Late: time.Second}),
		of(weakness.FormerLinks, SessionOrder,
			Options{Servers: 3, Faults: []Fault{SlowNet, OneWay, Partition, Pause}, Mean: 500 * time.Millisecond}),
		of(weakness.OneFullDiskRefuses, Room, Options{Servers: 3, Faults: []Fault{FullDisk}}),
		of(weakness.MovesUntold, SessionOrder, Options{
			Servers: 3, Faults: []Fault{HandOver, SlowNet}, Mean: 100 * time.Millisecond, Busy: true, Restless: true,
		}),
		of(weakness.KeptFromOthers, SessionOrder, Options{
			Servers: 3, Faults: []Fault{HandOver, SlowNet}, Mean: 100 * time.Millisecond, Busy: true, Restless: true,
		}),
		of(weakness.SessionIDsAgain, SessionIDs, Options{Servers: 3, Faults: crashes}),
		of(weakness.RefusedBeforeEnd, SessionEnds, Options{Servers: 3, Clients: 8,
			Faults: []Fault{HandOver, SlowNet, Pause}, Mean: time.Second, Slow: "host", Late: time.Second}),
		of(weakness.RefusedThoughStays, SessionOrder, Options{Servers: 3, Faults: []Fault{Pause, OneWay, SlowNet},
			Features: []Feature{Local}, Mean: 300 * time.Millisecond, Slow: "host", Restless: true}),
		of(weakness.NoConfigurationShown, Reads, Options{Servers: 3, Faults: both,
			Features: []Feature{Reconfig, ReadOnly}, Mean: 500 * time.Millisecond}),
		of(weakness.LostRequestPassed, SessionOrder, Options{Servers: 3, Faults: []Fault{HandOver, OneWay, SlowNet},
			Mean: 200 * time.Millisecond, Busy: true}),
		of(weakness.LateClockForgives, DeadClients,
			Options{Servers: 3, Faults: calm, Slow: "clock", Late: 500 * time.Millisecond}),
		of(weakness.EventAfterReply, NeverBack, Options{Servers: 1, Faults: calm}).quick(),
		of(weakness.EventWithoutACL, Events, Options{Servers: 1, Faults: calm}),
		of(weakness.EventDropped, Events, Options{Servers: 1, Faults: calm}).quick(),
		of(weakness.WatchNotRegistered, Events, Options{Servers: 1, Faults: calm}),
		of(weakness.ReadOvertakesWrite, NeverBack, Options{Servers: 1, Faults: calm}).quick(),
		of(weakness.ClientAheadAccepted, NeverBack, Options{Servers: 3, Faults: calm}),
		of(weakness.MultiNotUndone, ModelDigest, Options{Servers: 1, Faults: calm}),
		of(weakness.MultiInPart, ModelDigest, Options{Servers: 1, Faults: calm}).quick(),
		{name: "zab.SyncBeforeOwnLog", set: weakness.Of().And(uint32(zab.SyncBeforeOwnLog)), by: ReplyOrder,
			in: Options{Servers: 3, Faults: cuts}},
	}
}

// harmless are defects of the host from which another guard protects, with that guard.
var harmless = map[weakness.Weakness]string{
	weakness.FirstSnapshotLate: "a server without a database gets the whole state of its leader, which becomes " +
		"its first snapshot",
	weakness.DetachedLogKept: "package wal gives no place beyond a gap of the log",
	weakness.MarkerRemovedEarly: "servers without a database and without the mark see that no voter has " +
		"anything, and vote",
	weakness.SupersededTaken: "what the earlier connection has sent is taken before the session goes on, if fewer " +
		"than 40,000 txns are in flight",
	weakness.CommitsOutliveLeader: "each epoch begins with a txn, which is behind all that a former " +
		"leader has told of",
}

// TestEachDefectHasARow checks that every defect of the host is looked for, or that it is said why not.
func TestEachDefectHasARow(t *testing.T) {
	rows := defects()
	for _, w := range weakness.All() {
		looked := slices.ContainsFunc(rows, func(d defect) bool { return d.name == w.String() })
		require.NotEqual(t, looked, harmless[w] != "", "%v", w)
	}
}

const (
	defectSeeds = 500 // within so many seeds each defect is noticed
	defectSteps = 300
)

// TestDefectsAreFound runs servers that have one defect each until the check that must notice it does. It notices
// nothing of servers without the defect.
func TestDefectsAreFound(t *testing.T) {
	for _, d := range defects() {
		if !d.fast && !*flagDefects {
			continue
		}
		t.Run(d.name, func(t *testing.T) {
			o := d.in
			if o.Steps == 0 {
				o.Steps = defectSteps
			}
			if o.Features == nil {
				o.Features = none
			}
			began := time.Now()
			for o.Seed = 1; o.Seed <= defectSeeds; o.Seed++ {
				o.Weakness = d.set
				var b *Broken
				err := newWorld(o).run()
				switch {
				case err == nil:
					continue
				case !errors.As(err, &b):
					require.NoError(t, err)
				case b.Check != d.by:
					continue
				}
				t.Logf("| %s | test/system | %s | %d | %.1f s |", d.name, b.Check, o.Seed, time.Since(began).Seconds())
				text, _, _ := strings.Cut(err.Error(), "\n")
				t.Logf("%.300s", text)
				o.Weakness = weakness.Set{}
				require.NoError(t, newWorld(o).run(), "without the defect")
				return
			}
			require.Fail(t, "nothing was noticed", "%d seeds, %v", defectSeeds, time.Since(began))
		})
	}
}

// TestDefectRunsAreClean runs servers without a defect in the runs in which defects show. Each of them has a fault
// more often, or a task that is later, than the runs of TestSystem. In every third seed the host is slow as well, and
// processes pause while the leadership is handed over.
func TestDefectRunsAreClean(t *testing.T) {
	for _, d := range defects() {
		t.Run(d.name, func(t *testing.T) {
			for seed := uint64(1); seed <= *flagClean; seed++ {
				o := d.in
				o.Steps, o.Seed = defectSteps, seed
				if seed%2 == 0 && o.Features == nil {
					o.Features = none
				}
				if seed%3 == 1 {
					o.Slow, o.Late = "host", time.Second
					o.Faults = append(slices.Clone(o.Faults), Pause, HandOver)
				}
				require.NoError(t, newWorld(o).run(), "seed %d", seed)
			}
		})
	}
}
