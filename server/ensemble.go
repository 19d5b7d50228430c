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
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// startMember starts what takes the requests of clients. A member of an ensemble looks for a leader from now on, and serves when it has
// one. A standalone server serves when startMember returns.
func (s *Server) startMember() error {
	m := s.newMember()
	s.member = m // before the core asks for the history
	if !s.cfg.Distributed() {
		if err := m.beAlone(); err != nil {
			return err
		}
		m.startGoroutines()
		m.served.Wait()
		return nil
	}
	if err := m.joinEnsemble(); err != nil {
		return err
	}
	m.startGoroutines()
	return nil
}

// newMember returns a member without an agreement.
func (s *Server) newMember() *member {
	wake := s.rt.Parker()
	m := &member{
		srv: s, id: proto.ServerID(max(s.cfg.ServerID, 1)),
		batches: flow.NewInbox[*flow.Batch](wake), events: flow.NewInbox[event](wake), wake: wake, done: sched.NewGate(s.rt),
		served: sched.NewGate(s.rt), links: map[zab.LinkID]*peers.Link{}, warren: map[zab.LinkID]bool{}, since: s.clock.steady(),
		lease: lease{length: s.leaseTime(), exchanges: map[zab.LinkID]*exchange{}},
	}
	m.received.byLink, m.received.wanted = map[zab.LinkID]*loading{}, map[zab.LinkID]*loading{}
	m.journal = newJournal(m, s.wal, s.replayed)
	m.applier = newApplyQueue(m)
	return m
}

// beAlone makes the member that of a standalone server.
func (m *member) beAlone() error {
	q, err := zab.Majority(m.id)
	if err != nil {
		return err
	}
	m.active = &zab.Ensemble{Quorum: q}
	last := m.srv.store.state.LastZxid()
	m.core, m.delivered = newAlone(m.id, m.active, last), last
	m.status = zab.Status{State: zab.Leading, Leader: m.id, Master: m.id}
	m.view.Store(&roleView{State: zab.Leading, Leader: m.id, Master: m.id, Since: m.since})
	m.lease.endless = true
	return nil
}

// joinEnsemble makes the member one that looks for a leader.
func (m *member) joinEnsemble() error {
	s := m.srv
	core, err := s.coreConfig()
	if err != nil {
		return err
	}
	s.members.Store(s.quorumWith(core.Ensemble))
	m.id, m.active, m.next = core.ID, core.Ensemble, core.Next
	m.lookedAt, m.lost = m.since, m.since
	s.metrics.quorum.Looking.Inc()
	m.delivered = core.Last
	m.view.Store(&roleView{State: zab.Looking, Leader: -1, Master: -1, Since: m.since})
	if m.core, err = zab.New(core); err != nil {
		return &DataError{s.snapDir(), err}
	}
	if m.peers, err = peers.New(s.peersConfig(m)); err != nil {
		return err
	}
	s.setConfig(s.membership())
	s.tracker.Follow()
	s.metrics.quorum.set(m.quorumRole)
	s.snapshotter.held.Store(true)
	if s.cfg.ReconfigEnabled {
		if q := s.membership(); q.ConfigVersion > s.cfg.ConfigVersion {
			s.configured.Put(q) // the files are older
		}
		s.start("configurations", s.runConfigurations)
	}
	m.peers.Start()
	s.start("bind", func() {
		select {
		case err := <-m.peers.Failed():
			s.fail(err)
		case <-s.stopping.Done():
		}
	})
	return nil
}

// startGoroutines starts the node goroutine, the journal and the applier.
func (m *member) startGoroutines() {
	rt := m.srv.rt
	rt.Go("node", m.run)
	rt.Go("journal", m.journal.run)
	rt.Go("applier", func() {
		defer m.srv.applied.Open()
		m.applier.run()
	})
}

// coreConfig is what the agreement starts from.
func (s *Server) coreConfig() (zab.Config, error) {
	epochs, err := s.epochs()
	if err != nil {
		return zab.Config{}, &DataError{s.snapDir(), err}
	}
	active, next, err := s.configurations()
	if err != nil {
		return zab.Config{}, err
	}
	// The configuration was committed in an epoch that must not come again, also if the state is an older one that was restored.
	if e := active.Version.Epoch(); s.cfg.ReconfigEnabled && e > epochs.Accepted {
		if err := s.meta.SetAccepted(e); err != nil {
			return zab.Config{}, &DataError{s.snapDir(), err}
		}
		epochs.Accepted = e
	}
	limits := zab.DefaultLimits()
	limits.WindowTxns = max(limits.WindowTxns, s.cfg.CommitLogCount)
	limits.SnapSyncsMax, limits.DiffSyncsMax = s.cfg.MaxConcurrentSnapSyncs, s.cfg.MaxConcurrentDiffSyncs
	limits.LagBytes = s.masterQueue() / 2
	last := s.store.state.LastZxid()
	window, before := s.recent.Take(last)
	if s.missing {
		epochs.Current = 0 // of a history that is not here any more
	}
	c := zab.Config{
		ID: proto.ServerID(s.cfg.ServerID), Ensemble: active, Next: next, Epochs: epochs, Last: last, Window: window, Before: before,
		Blank: s.blank, Lineage: s.lineage(), History: history{s}, Rand: rand.New(rand.NewPCG(s.rt.Uint64(), s.rt.Uint64())),
		Timing: s.coreTiming(), Limits: limits, Masters: s.cfg.Quorum.ObserverMasterPort > 0,
		Whole: s.cfg.ForceSnapshotSync, Barrier: s.barrier,
	}
	if s.cfg.ReconfigEnabled {
		c.Roster = roster{}
	}
	switch {
	case s.missing:
		s.log.Info("the database is missing: this server does not vote until it knows whether it was lost or the ensemble is new")
	case c.Blank:
		s.log.Info("the database was missing and the synchronization after that has not ended: this server does not vote until it has")
	}
	return c, nil
}

// lineage is where the history of this server comes from, as far as meta.db knows. Of a database that is missing only the identity of
// the ensemble is left. Without meta.db that identity is in the snapshot.
func (s *Server) lineage() *zab.Lineage {
	l, err := s.keptLineage()
	if err != nil {
		s.log.Warn("the lineage in meta.db cannot be read: the histories of the servers are compared without it", zap.Error(err))
	}
	switch {
	case s.missing:
		return &zab.Lineage{Ensemble: l.Ensemble, Final: l.Final}
	case l.Empty() && s.origin != 0:
		return &zab.Lineage{Ensemble: s.origin, Final: true}
	}
	return l
}

// keptLineage is the lineage in meta.db, an empty one if there is none.
func (s *Server) keptLineage() (*zab.Lineage, error) {
	text := s.meta.Lineage()
	if text == "" {
		return &zab.Lineage{}, nil
	}
	l, err := zab.ParseLineage([]byte(text))
	if err != nil {
		return &zab.Lineage{}, err
	}
	return l, nil
}

// ensembleIdentity is the identity of the ensemble, 0 if this server does not know it for sure.
func (s *Server) ensembleIdentity() uint64 {
	if l, err := s.keptLineage(); err == nil && l.Final {
		return l.Ensemble
	}
	return 0
}

// barrier is the txn without effect that proves that the followers have logged all before it. Source: quorum-protocol 14.3 R7.
func (s *Server) barrier(z proto.Zxid) []byte {
	return prepare.AppendErrorTxn(nil, proto.TxnHeader{Zxid: z, Time: s.clock.wallMs()}, proto.OK)
}

// A leader is dialled as often as there is time for, but some times however long the pauses are. Source: quorum-protocol 1.5.
const (
	dialTime = time.Second
	dialsMin = 5
)

// coreTiming is the configured times in ticks of the core.
func (s *Server) coreTiming() zab.Timing {
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
func (s *Server) peersConfig(m *member) peers.Config {
	q := &s.cfg.Quorum
	c := peers.Config{
		ID: m.id, Handler: memberHandler{m}, Log: s.log.Named("peers"), Limits: peers.DefaultLimits(),
		Timeouts:     peers.DefaultTimeouts(s.cfg.TickTime, max(q.InitLimit, 1), max(q.SyncLimit, 1)),
		ListenAllIPs: q.QuorumListenOnAllIPs, BindAttempts: q.ElectionPortBindRetry,
		Dial: s.quorum.Dial, Listen: s.quorum.Listen, Security: s.quorum.Peers(),
		Members: m.neighbours(), Strangers: q.ReconfigEnabled, MasterPort: q.ObserverMasterPort,
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
func (s *Server) setConfig(q *config.Quorum) {
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

// generation is the number of the present time of service; see member.
func (s *Server) generation() int64 { return s.member.generation.Load() }

// position is up to where the history that this server serves reaches: its last txn, or the beginning of its leader's epoch if
// that has none yet. Servers in Java tell their clients of the latter as if it were a txn.
func (s *Server) position() proto.Zxid {
	last := s.store.lastZxid()
	if v := s.member.view.Load(); v.Serving {
		return max(last, proto.MakeZxid(v.Epoch, 0))
	}
	return last
}

// decides reports whether this server decides what becomes of abandoned znodes: alone, or as the leader.
func (s *Server) decides() bool {
	v := s.member.view.Load()
	return v.State == zab.Leading && v.Serving
}

// handedOver tells Stop that the member takes part in nothing any more.
func (s *Server) handedOver() { s.handed.Open() }

// finish ends the service in good order, or takes too long: a leader hands its leadership over, a standalone server finishes what was
// received.
func (s *Server) finish() {
	s.member.handOver()
	limit := s.cfg.TickTime + time.Second
	if !s.handed.WaitFor(limit) {
		s.log.Warn("stopping without having handed over, or finished", zap.Duration("took", limit))
	}
}

// mode is the server's role as the four-letter words spell it.
func (s *Server) mode() string {
	if !s.cfg.Distributed() {
		return "standalone"
	}
	if s.readOnly.Load() {
		return "read-only"
	}
	switch s.member.view.Load().State {
	case zab.Leading:
		return "leader"
	case zab.Observing:
		return "observer"
	case zab.Following:
		return "follower"
	}
	return "looking"
}

// Serving reports whether clients are accepted now.
func (s *Server) Serving() bool { return s.serving.Load() && s.mayAnswer() }
