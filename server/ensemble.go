package server

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/prepare"
	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/keystore"
	"github.com/seed94657493/warren/server/internal/security"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// newMember returns a member without an agreement.
func newMember(e *env, d *disk, clients clients, o Options) *member {
	wake := e.rt.Parker()
	m := &member{
		env: e, disk: d, clients: clients, dial: o.DialPeer, listen: o.ListenPeer, id: proto.ServerID(max(e.cfg.ServerID, 1)),
		batches: flow.NewInbox[*flow.Batch](wake), events: flow.NewInbox[event](wake), wake: wake, done: sched.NewGate(e.rt),
		served: sched.NewGate(e.rt), links: map[zab.LinkID]*peers.Link{}, warren: map[zab.LinkID]bool{},
	}
	m.lease = lease{length: m.leaseTime(), exchanges: map[zab.LinkID]*exchange{}}
	m.received.byLink, m.received.wanted = map[zab.LinkID]*loading{}, map[zab.LinkID]*loading{}
	m.view.Store(&roleView{State: zab.Looking, Leader: -1, Master: -1})
	return m
}

// prepare gives the member its agreement, on what recovery has found. A member of an ensemble is heard by other servers from now on.
func (m *member) prepare(applier applies) error {
	m.since = m.clock.steady()
	m.applier = applier
	m.journal = newJournal(m.disk, m)
	if m.cfg.Distributed() {
		return m.joinEnsemble()
	}
	return m.beAlone()
}

// beAlone makes the member that of a standalone server.
func (m *member) beAlone() error {
	q, err := zab.Majority(m.id)
	if err != nil {
		return err
	}
	m.active = &zab.Ensemble{Quorum: q}
	last := m.store.state.LastZxid()
	m.core, m.delivered = newAlone(m.id, m.active, last), last
	m.status = zab.Status{State: zab.Leading, Leader: m.id, Master: m.id}
	m.view.Store(&roleView{State: zab.Leading, Leader: m.id, Master: m.id, Since: m.since})
	m.lease.endless = true
	return nil
}

// joinEnsemble makes the member one that looks for a leader.
func (m *member) joinEnsemble() (err error) {
	if m.security, err = m.openQuorum(); err != nil {
		return err
	}
	core, err := m.coreConfig()
	if err != nil {
		return err
	}
	m.members.Store(m.quorumWith(core.Ensemble))
	m.id, m.active, m.next = core.ID, core.Ensemble, core.Next
	m.lookedAt, m.lost = m.since, m.since
	m.metrics.quorum.Looking.Inc()
	m.delivered = core.Last
	m.view.Store(&roleView{State: zab.Looking, Leader: -1, Master: -1, Since: m.since})
	if m.core, err = zab.New(core); err != nil {
		return &DataError{m.snapDir(), err}
	}
	if m.peers, err = peers.New(m.peersConfig()); err != nil {
		return err
	}
	m.setConfig(m.membership())
	m.tracker.Follow()
	m.disk.snapshotter.held.Store(true)
	if q := m.membership(); m.cfg.ReconfigEnabled && q.ConfigVersion > m.cfg.ConfigVersion {
		m.configured(q) // the files are older
	}
	m.joined.Store(true)
	m.peers.Start()
	m.start("bind", func() {
		select {
		case err := <-m.peers.Failed():
			m.fail(err)
		case <-m.stopping.Done():
		}
	})
	return nil
}

// openQuorum loads what guards the ports between the servers of an ensemble.
func (m *member) openQuorum() (*security.Quorum, error) {
	return security.OpenQuorum(security.QuorumOptions{
		Config: m.cfg, FS: m.fs, Log: m.log, Registry: m.registry, Dial: m.dial, Listen: m.listen,
		Members: func() []config.Member { return m.membership().Members },
	})
}

// watchKeys reloads the certificates of the ports between servers when their files change, if that is wanted.
func (m *member) watchKeys() {
	if k := m.security.Keys(); k != nil && m.cfg.SSLQuorumReloadCertFiles {
		m.start("quorum keys", func() { k.Watch(keystore.ReloadInterval, m.stopping.Done()) })
	}
}

// startGoroutines starts the node goroutine, the journal and the applier.
func (m *member) startGoroutines() {
	m.rt.Go("host", m.run)
	m.rt.Go("journal", m.journal.run)
	m.rt.Go("applier", m.applier.run)
}

// coreConfig is what the agreement starts from.
func (s *member) coreConfig() (zab.Config, error) {
	epochs, err := s.disk.epochs()
	if err != nil {
		return zab.Config{}, &DataError{s.snapDir(), err}
	}
	active, next, err := s.configurations()
	if err != nil {
		return zab.Config{}, err
	}
	// The configuration was committed in an epoch that must not come again, also if the state is an older one that was restored.
	if e := active.Version.Epoch(); s.cfg.ReconfigEnabled && e > epochs.Accepted {
		if err := s.disk.meta.SetAccepted(e); err != nil {
			return zab.Config{}, &DataError{s.snapDir(), err}
		}
		epochs.Accepted = e
	}
	limits := zab.DefaultLimits()
	limits.WindowTxns = max(limits.WindowTxns, s.cfg.CommitLogCount)
	limits.SnapSyncsMax, limits.DiffSyncsMax = s.cfg.MaxConcurrentSnapSyncs, s.cfg.MaxConcurrentDiffSyncs
	limits.LagBytes = s.masterQueue() / 2
	last := s.store.state.LastZxid()
	window, before := s.disk.recent.Take(last)
	if s.disk.missing {
		epochs.Current = 0 // of a history that is not here any more
	}
	c := zab.Config{
		ID: proto.ServerID(s.cfg.ServerID), Ensemble: active, Next: next, Epochs: epochs, Last: last, Window: window, Before: before,
		Blank: s.disk.blank, Lineage: s.disk.lineage(), History: history{s}, Rand: rand.New(rand.NewPCG(s.rt.Uint64(), s.rt.Uint64())),
		Timing: s.coreTiming(), Limits: limits, Masters: s.cfg.Quorum.ObserverMasterPort > 0,
		Whole: s.cfg.ForceSnapshotSync, Barrier: s.barrier,
	}
	if s.cfg.ReconfigEnabled {
		c.Roster = roster{}
	}
	switch {
	case s.disk.missing:
		s.log.Info("the database is missing: this server does not vote until it knows whether it was lost or the ensemble is new")
	case c.Blank:
		s.log.Info("the database was missing and the synchronization after that has not ended: this server does not vote until it has")
	}
	return c, nil
}

// barrier is the txn without effect that proves that the followers have logged all before it. Source: quorum-protocol 14.3 R7.
func (s *member) barrier(z proto.Zxid) []byte {
	return prepare.AppendErrorTxn(nil, proto.TxnHeader{Zxid: z, Time: s.clock.wallMs()}, proto.OK)
}

// A leader is dialled as often as there is time for, but some times however long the pauses are. Source: quorum-protocol 1.5.
const (
	dialTime = time.Second
	dialsMin = 5
)

// coreTiming is the configured times in ticks of the core.
func (s *member) coreTiming() zab.Timing {
	q := &s.cfg.Quorum
	ticks := func(d time.Duration) int { return max(int(d/coreTick), 1) }
	t := zab.DefaultTiming()
	t.TickTime = max(ticks(s.cfg.TickTime), 2)
	t.InitLimit, t.SyncLimit = max(q.InitLimit, 1), max(q.SyncLimit, 1)
	t.ResendMin = ticks(q.MinNotificationInterval)
	t.ResendMax = max(ticks(q.MaxNotificationInterval), t.ResendMin)
	t.DialPause = ticks(q.LeaderConnectDelay)
	t.DialAttempts = max(ticks(dialTime)/t.DialPause, dialsMin)
	t.DialLimit = q.ConnectToLearnerMasterLimit
	t.ObserverDialPause, t.ObserverLookPause = int(q.ObserverReconnectDelay/coreTick), int(q.ObserverElectionDelay/coreTick)
	if q.MaxTimeToWaitForEpoch >= 0 {
		t.EpochWait = ticks(q.MaxTimeToWaitForEpoch)
	}
	return t
}

// peersConfig is where the members are.
func (s *member) peersConfig() peers.Config {
	q := &s.cfg.Quorum
	c := peers.Config{
		ID: s.id, Handler: memberHandler{s}, Log: s.log.Named("peers"), Limits: peers.DefaultLimits(),
		Timeouts:     peers.DefaultTimeouts(s.cfg.TickTime, max(q.InitLimit, 1), max(q.SyncLimit, 1)),
		ListenAllIPs: q.QuorumListenOnAllIPs, BindAttempts: q.ElectionPortBindRetry,
		Dial: s.security.Dial, Listen: s.security.Listen, Security: s.security.Peers(),
		Members: s.neighbours(), Strangers: q.ReconfigEnabled, MasterPort: q.ObserverMasterPort,
		NoKeepAlive: !q.PeerTCPKeepAlive, NagleAccepted: !q.LeaderNoDelay, NagleDialled: !q.FollowerNoDelay,
	}
	c.Limits.MasterQueue = s.masterQueue()
	c.Timeouts.Connect = q.CnxTimeout
	if q.QuorumCnxnTimeout > 0 {
		c.Timeouts.Greeting = q.QuorumCnxnTimeout
	}
	return c
}

// configText is a configuration as notifications, NEWLEADER and /zookeeper/config carry it. Source: quorum-protocol 11.1.
func configText(q *config.Quorum) []byte {
	return fmt.Appendf(nil, "%s\nversion=%x", q.Text(), q.ConfigVersion)
}

// setConfig writes a configuration into its znode, as every member does when it starts and when it has synchronised. What a
// reconfiguration has written there stays.
func (s *member) setConfig(q *config.Quorum) {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	state, text := s.store.state, configText(q)
	if id := state.Lookup([]byte(datatree.ConfigPath)); q.ReconfigEnabled && id != 0 {
		if node := state.Node(id); node.Version == -1 && node.Mzxid == proto.Zxid(q.ConfigVersion) && bytes.Equal(state.Data(id), text) {
			return
		}
	}
	state.SetConfig(text, proto.Zxid(q.ConfigVersion), s.clock.wallMs())
}

// Generation is the number of the present time of service; see member.
func (s *member) Generation() int64 { return s.generation.Load() }

// position is up to where the history that this server serves reaches: its last txn, or the beginning of its leader's epoch if
// that has none yet. Servers in Java tell their clients of the latter as if it were a txn.
func (s *member) position() proto.Zxid {
	last := s.store.lastZxid()
	if v := s.view.Load(); v.Serving {
		return max(last, proto.MakeZxid(v.Epoch, 0))
	}
	return last
}

// rules reports whether this server decides what becomes of abandoned znodes: alone, or as the leader.
func (s *member) rules() bool {
	v := s.view.Load()
	return v.State == zab.Leading && v.Serving
}

// handedOver tells Stop that the member takes part in nothing any more.
func (s *member) handedOver() { s.handed.Open() }

// finish ends the service in good order, or takes too long: a leader hands its leadership over, a standalone server finishes what was
// received.
func (s *member) finish() {
	s.handOver()
	limit := s.cfg.TickTime + time.Second
	if !s.handed.WaitFor(limit) {
		s.log.Warn("stopping without having handed over, or finished", zap.Duration("took", limit))
	}
}

// mode is the server's role as the four-letter words spell it.
func (s *member) mode() string {
	if !s.cfg.Distributed() {
		return "standalone"
	}
	if s.readOnly.Load() {
		return "read-only"
	}
	switch s.view.Load().State {
	case zab.Leading:
		return "leader"
	case zab.Observing:
		return "observer"
	case zab.Following:
		return "follower"
	}
	return "looking"
}
