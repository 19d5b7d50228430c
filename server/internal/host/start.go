package host

import (
	"cmp"
	"math"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/durable"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/host/lease"
	"github.com/seed94657493/warren/server/internal/host/succession"
	"github.com/seed94657493/warren/server/internal/keystore"
	"github.com/seed94657493/warren/server/internal/security"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
	"github.com/seed94657493/warren/zab/quorum"
)

// New returns a host without an agreement.
func New(e *env.Env, d *durable.Disk, clients clients, network Network) *Host {
	h := &Host{
		setup: setup{Env: e, Disk: d, network: network}, clients: clients, ID: proto.ServerID(e.Config.OwnID()),
		input: newInput(e.Runtime), answers: answers{env: e}, published: published{env: e},
		notices: notices{Env: e, strangers: map[proto.ServerID]time.Time{}, rival: map[proto.ServerID]rival{}},
		periods: periods{figures: e.Metrics.Quorum, log: e.Log},
		done:    sched.NewGate(e.Runtime), Served: sched.NewGate(e.Runtime), links: newLinks(), states: newArrivals(),
	}
	h.lease = lease.New(e.Config.LeaseTime(), lease.Needs{Now: e.Clock.Now, Publish: e.LeaseEnd.Store})
	h.policy = succession.New(succession.Config{TickTime: e.Config.TickTime,
		SyncLimit: time.Duration(e.Config.SyncLimit) * e.Config.TickTime, Priority: int64(e.Config.Priority),
		Pause: e.Config.PriorityPause, EpochTxns: h.epochTxns()})
	h.View.Store(&RoleView{Status: zab.Status{Leader: -1, Master: -1}})
	return h
}

// epochTxns is how many txns an epoch can have.
func (h *Host) epochTxns() uint32 { return cmp.Or(h.EpochTxns, zab.DefaultLimits().CounterMax) }

// Prepare gives the host its agreement, based on the data that recovery has found. From now on other servers of an
// ensemble can hear of this server.
func (h *Host) Prepare(applier applies) error {
	h.periods.role = h.Clock.Steady()
	h.applier = applier
	h.journal = durable.NewJournal(h.Disk, journalOwner{h})
	if h.Config.Distributed() {
		return h.joinEnsemble()
	}
	return h.beAlone()
}

// beAlone makes the agreement of a standalone server.
func (h *Host) beAlone() error {
	q, err := quorum.Majority(h.ID)
	if err != nil {
		return err
	}
	h.Active = &zab.Ensemble{Quorum: q}
	last := h.Store.State.LastZxid()
	h.core, h.reach.delivered = newAlone(h.ID, last), last
	h.status = zab.Status{State: zab.Leading, Leader: h.ID, Master: h.ID}
	h.View.Store(&RoleView{h.status, h.periods.role})
	h.lease.Lift()
	return nil
}

// joinEnsemble makes the agreement of a member of an ensemble, which looks for a leader.
func (h *Host) joinEnsemble() (err error) {
	if h.Security, err = h.OpenQuorum(); err != nil {
		return err
	}
	core, err := h.CoreConfig()
	if err != nil {
		return err
	}
	h.Members.Store(h.QuorumWith(core.Ensemble))
	h.ID, h.Active, h.next = core.ID, core.Ensemble, core.Next
	h.periods.begin()
	h.reach.delivered = core.Last
	h.View.Store(&RoleView{zab.Status{Leader: -1, Master: -1}, h.periods.role})
	if h.member, err = zab.New(core); err != nil {
		return &durable.DataError{Dir: h.SnapDir(), Err: err}
	}
	h.core = h.member
	h.sender = sender{Env: h.Env, disk: h.Disk, member: h.member, applied: h.applier.Do, do: h.Do}
	if h.peers, err = peers.New(h.PeersConfig()); err != nil {
		return err
	}
	setConfig(h.Env, h.Membership(), false)
	h.Tracker.Follow()
	h.Disk.Snapshotter.Held.Store(true)
	if q := h.Membership(); h.Config.ReconfigEnabled && q.ConfigVersion > h.Config.ConfigVersion {
		h.configured(q) // the files are older
	}
	h.published.links = h.peers.Stats
	h.joined.Store(true)
	h.peers.Start()
	return nil
}

// OpenQuorum loads the TLS and SASL material for the ports between the servers of an ensemble.
func (h *Host) OpenQuorum() (*security.Quorum, error) {
	q, err := security.OpenQuorum(security.QuorumOptions{
		Config: h.Config, FS: h.FS, Log: h.Log, Registry: h.Registry,
		Members:    func() []config.Member { return h.Membership().Members },
		Handshakes: h.clients.ServerHandshakes(),
	})
	if err != nil {
		return nil, &env.ConfigError{Err: err}
	}
	return q, nil
}

// OnConfiguration sets fn, which is called with each committed configuration, in an ensemble that can be
// reconfigured.
func (h *Host) OnConfiguration(fn func(*config.Quorum) bool) { h.configured = fn }

// StopPeers ends the connections to other servers.
func (h *Host) StopPeers() {
	if h.peers != nil {
		h.peers.Stop()
	}
}

// WatchKeys reloads the certificates of the ports between servers when their files change, if that is configured.
func (h *Host) WatchKeys() {
	if k := h.Security.Keys(); k != nil && h.Config.SSLQuorumReloadCertFiles {
		h.Spawn("quorum keys", func() { k.Watch(keystore.ReloadInterval, h.Stopping.Done()) })
	}
}

// StartGoroutines starts the host goroutine, the journal and the applier.
func (h *Host) StartGoroutines() {
	h.Runtime.Go("host", h.run)
	h.Runtime.Go("journal", h.journal.Run)
	h.Runtime.Go("applier", h.applier.Run)
}

// CoreConfig is the configuration of the zab.Core: what it starts from.
func (h *Host) CoreConfig() (zab.Config, error) {
	epochs, err := h.Disk.Epochs()
	if err != nil {
		return zab.Config{}, &durable.DataError{Dir: h.SnapDir(), Err: err}
	}
	active, next, err := h.configurations()
	if err != nil {
		return zab.Config{}, err
	}
	// The configuration was committed in an epoch that must not come again. That also holds if the state is an
	// older one that was restored.
	if e := active.Version.Epoch(); h.Config.ReconfigEnabled && e > epochs.Accepted {
		if err := h.Disk.Meta.SetAccepted(e); err != nil {
			return zab.Config{}, &durable.DataError{Dir: h.SnapDir(), Err: err}
		}
		epochs.Accepted = e
	}
	limits := zab.DefaultLimits()
	limits.WindowTxns, limits.CounterMax = h.WindowTxns, h.epochTxns()
	limits.SnapSyncsMax, limits.DiffSyncsMax = h.Config.MaxConcurrentSnapSyncs, h.Config.MaxConcurrentDiffSyncs
	limits.LagBytes = h.masterQueue() / 2
	last := h.Store.State.LastZxid()
	window, before := h.Disk.Recent.Take(last)
	if h.Disk.Missing {
		epochs.Current = 0 // it belongs to a history that is not on this disk any more
	}
	c := zab.Config{
		ID: proto.ServerID(h.Config.ServerID), Ensemble: active, Next: next, Epochs: epochs, Last: last,
		Window: window, Before: before,
		Blank: h.Disk.Blank, Lineage: h.Disk.Lineage(), History: h.History(),
		Rand:   rand.New(rand.NewPCG(h.Runtime.Uint64(), h.Runtime.Uint64())),
		Timing: h.coreTiming(), Limits: limits, Masters: h.Config.Quorum.ObserverMasterPort > 0,
		Whole: h.Config.ForceSnapshotSync, Barrier: h.barrier, Sums: sumsOf,
	}
	if h.Config.ReconfigEnabled {
		c.Roster = roster{}
	}
	switch {
	case h.Disk.Missing && c.Roster != nil && active.Version != 0:
		h.Log.Warn("the database is missing, and the ensemble has served: this server does not vote until a leader "+
			"has brought it up to date", zap.Stringer("configuration", active.Version))
	case h.Disk.Missing:
		h.Log.Info(
			"the database is missing: this server does not vote until it knows whether it was lost or " +
				"the ensemble is new")
	case c.Blank:
		h.Log.Info(
			"the database was missing and the synchronization after that has not ended: this server does " +
				"not vote until it has")
	}
	return c, nil
}

// PeersConfig is the configuration of the links between servers: addresses, limits and timeouts.
func (h *Host) PeersConfig() peers.Config {
	q := &h.Config.Quorum
	c := peers.Config{
		ID: h.ID, Handler: memberHandler{h}, Log: h.Log.Named("peers"), Runtime: h.Runtime, Failed: h.Fail,
		Limits:       peers.DefaultLimits(),
		Timeouts:     peers.DefaultTimeouts(h.Config.TickTime, max(q.InitLimit, 1), max(q.SyncLimit, 1)),
		ListenAllIPs: q.QuorumListenOnAllIPs, BindAttempts: q.ElectionPortBindRetry,
		Resolve: h.network.Resolve, Dial: h.network.Dial, Listen: h.network.Listen, Security: h.Security.Peers(),
		Known: h.Disk.Meta.Addresses(), Learned: h.remember,
		Members: h.neighbours(&h.setup), Changes: q.ReconfigEnabled, MasterPort: q.ObserverMasterPort,
		NoKeepAlive: !q.PeerTCPKeepAlive, NagleAccepted: !q.LeaderNoDelay, NagleDialled: !q.FollowerNoDelay,
	}
	largest := h.Config.JuteMaxBuffer + h.Config.JuteMaxBufferExtra // of requests and txns
	c.Limits.DataMax = max(c.Limits.DataMax, min(largest, math.MaxInt32))
	c.Limits.QueueMax += largest
	c.Limits.MasterQueue = h.masterQueue()
	c.Timeouts.Connect = q.CnxTimeout
	if q.QuorumCnxnTimeout > 0 {
		c.Timeouts.Greeting = q.QuorumCnxnTimeout
	}
	return c
}

// Finish ends the service in good order: a leader hands its leadership over, a standalone server finishes the
// requests that it has received. It gives up after a tick and a second.
func (h *Host) Finish() {
	h.handOver()
	limit := h.Config.TickTime + time.Second
	if !h.Handed.WaitFor(limit) {
		h.Log.Warn("stopping before the handover, or the requests in flight, have finished",
			zap.Duration("took", limit))
	}
}

// Keys are the certificates of the ports between servers; nil without TLS there.
func (h *Host) Keys() *keystore.Keys { return h.Security.Keys() }
