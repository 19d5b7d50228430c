package zab

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/seed94657493/warren/proto"
)

// Config is what a core knows at its start. The core does not change it, and the host must not change it
// afterwards.
type Config struct {
	ID proto.ServerID
	// Ensemble is the committed configuration, as far as this server knows. Next is the last one in its history
	// if that is newer: whether it is committed is not known. Source: quorum-protocol 11.3.
	Ensemble *Ensemble
	Next     *Ensemble
	// Roster reads configurations. It is nil if the ensemble never changes: then this server must be part of it,
	// and the configurations in messages of other servers are ignored. ZooKeeper: reconfigEnabled.
	Roster Roster

	// Epochs and Last are durable: as read from the disk after a torn tail was cut. Last is the zxid of the last
	// txn in the log, or of the snapshot if that is newer; 0 for an empty database. All of it has been applied to
	// the state, provisionally: nothing may be served and no snapshot be written before Status.Serving.
	Epochs Epochs
	Last   proto.Zxid

	// Window is the newest part of the log, without a gap, ending at Last; it may be empty. Before is the zxid
	// that precedes it, Last if it is empty.
	Window []Txn
	Before proto.Zxid

	// Blank says that the database is missing (now or at an earlier start) though it may have existed, and that
	// no leader has told this server since that it counts again. The server may have promised and acknowledged
	// things that it no longer knows. The host keeps Blank on the disk from before anything makes the database
	// exist until Persist.Initialize. The present content of the database (Epochs, Last) is what leaders have
	// sent since the loss. Source: blank.go; quorum-protocol 14.3 R16.
	Blank bool

	// Lineage is where the history comes from, as far as that is known; nil is the same as an empty one. For a
	// missing database only the identity of the ensemble is known.
	Lineage *Lineage

	History History
	Rand    *rand.Rand // the only source of randomness; owned by the core
	Timing  Timing
	Limits  Limits

	// Masters says that this server, while it is an observer, learns from a follower if one takes it. ZooKeeper:
	// observerMasterPort. Source: quorum-protocol 12.2.
	Masters bool

	// Whole says that this server brings every learner of its own up to date by SNAP. ZooKeeper: forceSnapshotSync.
	Whole bool

	// Barrier makes a txn without effect. A leader that has followers which are not Warren proposes it first, to
	// prove that their history is on the disk. nil is no such txn. Source: quorum-protocol 14.3 R7.
	Barrier func(proto.Zxid) []byte

	// Sums returns the checksums of the payload of a txn. nil stands for payloads without a digest.
	Sums func(payload []byte) Sums
}

// Timing is in calls of Core.Tick ("ticks" below); a tick of 10 ms is a good choice. One tick of ZooKeeper is
// TickTime ticks.
type Timing struct {
	// Tick is the length of a tick, for what is said of times in reasons and logs; 0 says them in ticks.
	Tick time.Duration

	TickTime     int // ticks in ZooKeeper's tickTime
	InitLimit    int // in units of TickTime, as in zoo.cfg
	SyncLimit    int // in units of TickTime, as in zoo.cfg
	FinalizeWait int // ticks to wait for a better vote once a quorum agrees; ZooKeeper's is 200 ms
	ResendMin    int // ticks between repeated notifications, doubling; ZooKeeper's is 200 ms
	ResendMax    int // up to this many; ZooKeeper's is 60 s
	DialPause    int // ticks between attempts to connect to the leader
	DialAttempts int
	DialLimit    int // in units of TickTime, for all attempts; 0 is InitLimit. ZooKeeper: connectToLearnerMasterLimit

	// An observer waits a random part of these ticks before it connects to a leader (ObserverDialPause), and
	// before it looks for a leader again after it has lost one (ObserverLookPause), so that many observers do not
	// come at once. 0 is no wait. Source: quorum-protocol 1.1, 12.1.
	ObserverDialPause, ObserverLookPause int

	// QuorumLimit is how many ticks an established leader leads without hearing of a quorum; 0 is until its
	// learners have been silent for their own limit. A leader that hears nothing, although it is heard, holds its
	// followers until then.
	QuorumLimit int

	// EpochWait is how many ticks a leader waits for a quorum of FOLLOWERINFO although a voter that elected it
	// looks for a leader again; 0 is the usual limit. Source: quorum-protocol 5.3.
	EpochWait int
}

// DefaultTiming is ZooKeeper's default for a tick of 10 ms: tickTime 2 s, initLimit 10, syncLimit 5. FinalizeWait
// is shorter than ZooKeeper's. That makes a worse choice of leader more likely, never an unsafe one.
func DefaultTiming() Timing {
	return Timing{TickTime: 200, InitLimit: 10, SyncLimit: 5, FinalizeWait: 4, ResendMin: 20, ResendMax: 6000,
		DialPause: 2, DialAttempts: 50}
}

// told is a number of ticks as people read it.
func (t *Timing) told(ticks int64) string {
	if t.Tick == 0 {
		return fmt.Sprintf("%d ticks", ticks)
	}
	return (time.Duration(ticks) * t.Tick).String()
}

// Limits bound memory.
type Limits struct {
	WindowTxns  int    // committed txns kept to bring learners up to date; ZooKeeper's commitLogCount
	WindowBytes int    // and their bytes
	InFlight    int    // proposals that are not committed yet: above it Propose answers ErrBusy
	LinksMax    int    // connections of learners
	LagBytes    int    // of txns that an observer of this follower may lag behind while it synchronises
	CounterMax  uint32 // the counter that is never proposed: 0xffffffff; only tests set less

	// SnapSyncsMax and DiffSyncsMax are how many learners may be brought up to date at a time, by SNAP and
	// otherwise. An observer beyond that is disconnected and connects again later. Followers are counted but
	// never disconnected for it. 0 is no limit. Source: quorum-protocol 6.5.
	SnapSyncsMax, DiffSyncsMax int
}

// DefaultLimits returns the limits that suit a server with a gigabyte of memory.
func DefaultLimits() Limits {
	return Limits{WindowTxns: 5000, WindowBytes: 64 << 20, InFlight: 50_000, LinksMax: 1000, LagBytes: 16 << 20,
		CounterMax: counterMax}
}

// validate returns an error for the first rule that the configuration breaks.
func (c *Config) validate() error {
	t, l := c.Timing, c.Limits
	switch {
	case c.Ensemble == nil || c.Ensemble.Quorum == nil || c.Next != nil && c.Next.Quorum == nil:
		return fmt.Errorf("zab: Ensemble is missing, or has no Quorum")
	case c.ID < 0:
		return fmt.Errorf("zab: server id %d is negative", c.ID)
	case c.History == nil || c.Rand == nil:
		return fmt.Errorf("zab: History or Rand is missing")
	case c.Roster == nil && !c.Ensemble.Votes(c.ID) && !c.Ensemble.Observes(c.ID):
		return fmt.Errorf("zab: server %d is not in the ensemble", c.ID)
	case c.Roster == nil && c.Next != nil:
		return fmt.Errorf("zab: a reconfiguration is pending, but Roster is missing")
	case t.TickTime < 2 || t.InitLimit < 1 || t.SyncLimit < 1 || t.FinalizeWait < 1 || t.ResendMin < 1 ||
		t.ResendMax < t.ResendMin || t.DialPause < 1 || t.DialAttempts < 1:
		return fmt.Errorf("zab: Timing %+v: TickTime is at least 2, the others 1, ResendMax at least ResendMin", t)
	case t.DialLimit < 0 || t.ObserverDialPause < 0 || t.ObserverLookPause < 0 || t.EpochWait < 0 || t.QuorumLimit < 0:
		return fmt.Errorf("zab: Timing %+v: DialLimit, the pauses of observers, EpochWait and QuorumLimit "+
			"are at least 0", t)
	case l.SnapSyncsMax < 0 || l.DiffSyncsMax < 0:
		return fmt.Errorf("zab: Limits %+v: SnapSyncsMax and DiffSyncsMax are at least 0", l)
	case l.WindowTxns < 1 || l.WindowBytes < 1 || l.InFlight < 1 || l.LinksMax < 1 || l.LagBytes < 1 ||
		l.CounterMax < 2:
		return fmt.Errorf("zab: Limits %+v: all are at least 1, CounterMax 2", l)
	case c.Epochs.Accepted < c.Epochs.Current:
		return fmt.Errorf("zab: acceptedEpoch %d is below currentEpoch %d", c.Epochs.Accepted, c.Epochs.Current)
	case c.Epochs.Current < 0 || c.Last < 0:
		return fmt.Errorf("zab: currentEpoch %d or last zxid %v is negative", c.Epochs.Current, c.Last)
	case c.Last.Epoch() > c.Epochs.Accepted:
		return fmt.Errorf("zab: the last txn %v is of an epoch above acceptedEpoch %d: the epochs are not of this log",
			c.Last, c.Epochs.Accepted)
	}
	for _, id := range c.Ensemble.Observers {
		if c.Ensemble.Votes(id) {
			return fmt.Errorf("zab: server %d is a voter and an observer", id)
		}
	}
	last := c.Before
	for _, txn := range c.Window {
		if !succeeds(last, txn.Zxid) {
			return fmt.Errorf("zab: the log has %v after %v", txn.Zxid, last)
		}
		last = txn.Zxid
	}
	if last != c.Last {
		return fmt.Errorf("zab: the window ends at %v, the log at %v", last, c.Last)
	}
	return nil
}
