package system

import (
	"errors"
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/defects"
)

var (
	flagDefects = flag.Bool("system.defects", false, "look for every defect, which takes minutes; otherwise for a few")
	flagClean   = flag.Uint64("system.clean", 1, "how many seeds of each run of a defect are tried without the defect")
)

// defect is what the servers of a run have on purpose.
type defect struct {
	name string
	set  defects.Set
	by   Check   // must notice it
	in   Options // the run in which it shows; what these do not say is drawn from the seed
	fast bool    // it is one of the few
}

// of is a defect of the server.
func of(d defects.Defect, by Check, in Options) defect {
	set := defects.Of(d)
	if guard, ok := twofold[d]; ok {
		set = defects.Of(d, guard)
	}
	return defect{name: d.String(), set: set, by: by, in: in}
}

// twofold are defects from which two guards protect. The other one is often of package zab.
var twofold = map[defects.Defect]defects.Defect{
	defects.DiffTooLate: defects.GapsTaken,
	defects.FormerLinks: defects.OldLinks,
	// a session that nobody has asked for counts as silent later than its connection is kept
	defects.SilentReclaimed: defects.AbandonedAtOnce,
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

// patient lets leases last, and with them the connections that are kept.
func patient(c *config.Config) { c.SyncLimit = 50 }

// rows are the defects of the host, and those of the agreement that test/sim cannot have.
func rows() []defect {
	return []defect{
		of(defects.PersistedBeforeWrite, OneHistory, Options{Servers: 1, Faults: []Fault{SlowDisk, PowerLoss},
			Mean: 500 * time.Millisecond, Punctual: true}),
		of(defects.SyncedBeforeFdatasync, ModelDigest, Options{Servers: 3, Faults: []Fault{SlowDisk, Outage},
			Mean: 500 * time.Millisecond, Punctual: true}),
		of(defects.SnapshotNamedTooFar, SameDigest, Options{Servers: 3, Faults: crashes}),
		of(defects.TruncKeepsSnapshots, EndsByItself,
			Options{Servers: 3, Faults: both, Mean: 500 * time.Millisecond, Configure: seldom}),
		of(defects.FullDiskForgets, Convergence,
			Options{Servers: 3, Faults: []Fault{FullDisk, Kill, PowerLoss}, Mean: 500 * time.Millisecond}),
		of(defects.InstallKeepsSnapshots, ModelDigest,
			Options{Servers: 5, Clients: 2, Faults: []Fault{Kill, PowerLoss, SlowNet, SlowDisk, OneWay},
				Mean: 300 * time.Millisecond, Configure: whole}),
		of(defects.EpochsOutliveDatabase, Convergence,
			Options{Servers: 3, Faults: []Fault{Wipe, SlowNet, OneWay}, Mean: 500 * time.Millisecond}),
		of(defects.TornBatchRefused, EndsByItself,
			Options{Servers: 3, Faults: []Fault{MidWrite}, Mean: 500 * time.Millisecond, Busy: true}),
		of(defects.AppliedTwice, SameDigest, Options{Servers: 3, Faults: []Fault{Kill, Wipe, SlowNet}}),
		of(defects.RevalidationSkipped, SessionEnds, Options{Servers: 3, Faults: calm}),
		of(defects.ExpiryByFollower, SessionEnds, Options{Servers: 3, Faults: calm}),
		of(defects.ExpiryOfMoved, SessionEnds, Options{Servers: 3, Faults: calm}),
		of(defects.EphemeralsLostOnMove, AskedFor, Options{Servers: 3, Faults: calm}),
		of(defects.ForwardDropped, Writes, Options{Servers: 3, Faults: calm}),
		of(defects.DiffTooLate, Asserted, Options{Servers: 3, Faults: crashes}),
		of(defects.SyncWithoutQuorum, ReplyOrder, Options{Servers: 3, Faults: cuts}).quick(),
		of(defects.SyncOvertakes, Convergence, Options{Servers: 3, Faults: calm, Slow: "applier"}),
		// who waits for a write, or goes elsewhere, does not hear what a server without a lease says
		of(defects.LeaseOutlivesQuorum, SessionEnds, Options{Servers: 3, Clients: 6, Faults: []Fault{Partition},
			Mean: 2 * time.Second, Idle: true, Configure: func(c *config.Config) { c.SyncLimit = 20 }}),
		of(defects.GenerationUnchecked, SessionOrder, Options{Servers: 3, Clients: 4,
			Faults: []Fault{HandOver, Reset}, Mean: 300 * time.Millisecond,
			Busy: true, Slow: "journal", Late: time.Second}),
		of(defects.ServesBeforeApplied, ModelDigest, Options{Servers: 3, Faults: []Fault{Kill, Reset, Partition},
			Mean: 500 * time.Millisecond, Busy: true, Slow: "applier", Late: time.Second}),
		of(defects.MovedSessionKeepsWrite, SessionOrder,
			Options{Servers: 3, Faults: []Fault{SlowNet, ClientCut}, Restless: true}),
		of(defects.SnapshotBehind, Asserted, Options{Servers: 3, Faults: []Fault{Kill, Wipe}}).quick(),
		of(defects.SnapWhileReplaced, Asserted, Options{Servers: 3, Faults: []Fault{Partition, Kill, Stall},
			Mean: 300 * time.Millisecond, Busy: true, Slow: "applier", Late: 3 * time.Second, Configure: whole}),
		of(defects.EarlyDropped, Convergence, Options{Servers: 3, Faults: []Fault{Kill, Reset},
			Mean: 500 * time.Millisecond, Busy: true, Slow: "applier", Late: time.Second}),
		of(defects.FormerLinks, SessionOrder,
			Options{Servers: 3, Faults: []Fault{SlowNet, OneWay, Partition, Pause}, Mean: 500 * time.Millisecond}),
		// much is written, for longer than a fault has consequences
		of(defects.OneFullDiskRefuses, Room, Options{Servers: 3, Clients: 2, Faults: []Fault{FullDisk},
			Mean: 3 * time.Second, Busy: true, Punctual: true}),
		of(defects.MovesUntold, SessionOrder, Options{
			Servers: 3, Faults: []Fault{HandOver, SlowNet, ClientCut}, Mean: 100 * time.Millisecond, Busy: true,
			Restless: true, Configure: patient,
		}),
		of(defects.KeptFromOthers, SessionOrder, Options{
			Servers: 3, Faults: []Fault{HandOver, SlowNet}, Mean: 100 * time.Millisecond, Busy: true, Restless: true,
		}),
		of(defects.MovesUnnoted, SessionOrder, Options{Servers: 3, Faults: []Fault{Strand},
			Mean: 300 * time.Millisecond, Busy: true, Restless: true}),
		of(defects.HistoryUnread, SessionOrder, Options{Servers: 3, Faults: []Fault{Strand},
			Mean: 300 * time.Millisecond, Busy: true, Restless: true}),
		of(defects.OwedForgotten, ReplyOrder, Options{Servers: 3, Faults: []Fault{Kill}, Mean: 300 * time.Millisecond,
			Busy: true}),
		of(defects.AskedTwice, AskedFor, Options{Servers: 3, Faults: []Fault{Kill}, Mean: 300 * time.Millisecond,
			Busy: true}),
		of(defects.GrantUnawaited, AskedFor, Options{Servers: 3, Faults: []Fault{Reset}, Mean: 100 * time.Millisecond,
			Busy: true}),
		of(defects.KeptOverSnap, Events, Options{Servers: 3, Faults: []Fault{Kill, SlowNet},
			Mean: 300 * time.Millisecond, Busy: true, Configure: whole}),
		of(defects.SessionIDsAgain, SessionIDs, Options{Servers: 3, Faults: crashes}),
		of(defects.RefusedBeforeEnd, SessionEnds, Options{Servers: 3, Clients: 8,
			Faults: []Fault{HandOver, SlowNet, Pause}, Mean: time.Second, Slow: "host", Late: time.Second}),
		of(defects.RefusedThoughStays, SessionOrder, Options{Servers: 3, Faults: []Fault{Pause, OneWay, SlowNet},
			Features: []Feature{Local}, Mean: 300 * time.Millisecond, Slow: "host", Restless: true}),
		of(defects.NoConfigurationShown, Reads, Options{Servers: 3, Faults: both,
			Features: []Feature{Reconfig, ReadOnly}, Mean: 500 * time.Millisecond}),
		of(defects.LostRequestPassed, SessionOrder, Options{Servers: 3, Faults: []Fault{HandOver, OneWay, SlowNet},
			Mean: 200 * time.Millisecond, Busy: true, Configure: patient}),
		of(defects.SilentUndelivered, SessionEnds, Options{Servers: 3, Clients: 8, Faults: []Fault{Kill, ClientCut},
			Mean: 200 * time.Millisecond, Restless: true}),
		of(defects.SilentUnnoted, SessionEnds, Options{Servers: 3, Clients: 8, Faults: []Fault{Kill, ClientCut},
			Mean: 500 * time.Millisecond, Idle: true}),
		of(defects.SilentReclaimed, SessionEnds, Options{Servers: 3, Clients: 8, Faults: []Fault{Kill},
			Mean: 2 * time.Second, Idle: true}),
		of(defects.SilentOverruled, SessionEnds, Options{Servers: 5, Clients: 12,
			Faults: []Fault{Kill, Strand, SlowNet, ClientCut}, Mean: 500 * time.Millisecond, Idle: true}),
		of(defects.RefusalsUntold, AskedFor, Options{Servers: 3, Faults: []Fault{ClientCut},
			Features: []Feature{Outcomes}, Mean: 200 * time.Millisecond}).quick(),
		of(defects.LateClockForgives, DeadClients,
			Options{Servers: 3, Faults: calm, Slow: "clock", Late: 500 * time.Millisecond}),
		of(defects.EventAfterReply, NeverBack, Options{Servers: 1, Faults: calm}).quick(),
		of(defects.EventWithoutACL, Events, Options{Servers: 1, Faults: calm}),
		of(defects.EventDropped, Events, Options{Servers: 1, Faults: calm}).quick(),
		of(defects.WatchNotRegistered, Events, Options{Servers: 1, Faults: calm}),
		of(defects.ReadOvertakesWrite, NeverBack, Options{Servers: 1, Faults: calm}).quick(),
		of(defects.MultiNotUndone, ModelDigest, Options{Servers: 1, Faults: calm}),
		of(defects.MultiInPart, ModelDigest, Options{Servers: 1, Faults: calm}).quick(),
		{name: "zab.SyncBeforeOwnLog", set: defects.Of(defects.SyncBeforeOwnLog), by: ReplyOrder,
			in: Options{Servers: 3, Faults: cuts}, fast: true}, // and shows that a core gets the defects of its server
	}
}

// harmless are defects of the host from which another guard protects, with that guard.
var harmless = map[defects.Defect]string{
	defects.FirstSnapshotLate: "a server without a database gets the whole state of its leader, which becomes " +
		"its first snapshot",
	defects.DetachedLogKept: "package wal gives no place beyond a gap of the log",
	defects.MarkerRemovedEarly: "servers without a database and without the mark see that no voter has " +
		"anything, and vote",
	defects.SupersededTaken: "what the earlier connection has sent is taken before the session goes on, if fewer " +
		"than 40,000 txns are in flight",
	defects.EarlierReplyTaken: "a client goes on at another server when all that it has asked for before is " +
		"delivered there, unless the leader is in Java",
	defects.ClientAheadAccepted: "a client goes on at another server when the txn that tells of its move is applied " +
		"there",
	defects.TailUnread: "no server applies a txn that its own log does not have yet",
	defects.AbandonedAtOnce: "a connection whose session counts as silent does not go on, and its client connects " +
		"again",
	defects.CommitsOutliveLeader: "each epoch begins with a txn, which is behind all that a former " +
		"leader has told of",
}

// TestEachDefectHasARow checks that every defect of the host is looked for, or that it is said why not.
func TestEachDefectHasARow(t *testing.T) {
	all := rows()
	for _, d := range defects.Server() {
		looked := slices.ContainsFunc(all, func(r defect) bool { return r.name == d.String() })
		require.NotEqual(t, looked, harmless[d] != "", "%v", d)
	}
}

const (
	defectSeeds = 1500 // within so many seeds each defect is noticed
	defectSteps = 300
)

// TestDefectsAreFound runs servers that have one defect each until the check that must notice it does. It notices
// nothing of servers without the defect.
func TestDefectsAreFound(t *testing.T) {
	if !defects.Built {
		t.Skip("it takes the overlay of test/defects")
	}
	for _, d := range rows() {
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
				o.Defects = d.set
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
				o.Defects = defects.Set{}
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
	for _, d := range rows() {
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
