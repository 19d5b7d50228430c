package server

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// startMember makes this server a member of its ensemble: it looks for a leader from now on, and serves when it has one.
func (s *Server) startMember() error {
	core, err := s.coreConfig()
	if err != nil {
		return err
	}
	s.members.Store(s.quorumWith(core.Ensemble))
	m := &member{
		srv: s, id: core.ID, batches: newInbox[*batch](), events: newInbox[event](), done: make(chan struct{}),
		links: map[zab.LinkID]*peers.Link{}, warren: map[zab.LinkID]bool{}, since: time.Now(), lookedAt: time.Now(), active: core.Ensemble, next: core.Next,
		lease: lease{length: s.leaseTime(), exchanges: map[zab.LinkID]*exchange{}},
	}
	m.received.byLink, m.received.wanted = map[zab.LinkID]*loading{}, map[zab.LinkID]*loading{}
	m.lost = m.since
	s.metrics.quorum.looking.Inc()
	m.delivered = core.Last
	m.view.Store(&roleView{State: zab.Looking, Leader: -1, Master: -1, Since: m.since})
	s.member = m // before the core asks for the history
	if m.core, err = zab.New(core); err != nil {
		return &DataError{s.snapDir(), err}
	}
	if m.peers, err = peers.New(s.peersConfig(m)); err != nil {
		return err
	}
	m.journal = newJournal(m, s.wal, s.replayed)
	m.applier = newApplyQueue(m)
	s.setConfig(s.membership())
	s.tracker.follow()
	s.metrics.quorum.set(m.quorumRole)
	s.snapshotter.held.Store(true)
	if s.cfg.ReconfigEnabled {
		if q := s.membership(); q.ConfigVersion > s.cfg.ConfigVersion {
			s.configured.put(q) // the files are older
		}
		s.start("configurations", s.runConfigurations)
	}
	m.peers.Start()
	s.start("bind", func() {
		select {
		case err := <-m.peers.Failed():
			s.fail(err)
		case <-s.stopping:
		}
	})
	go m.run()
	go m.journal.run()
	go func() {
		defer close(s.applied)
		m.applier.run()
	}()
	return nil
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
	window, before := s.recent.take(last)
	if s.missing {
		epochs.Current = 0 // of a history that is not here any more
	}
	c := zab.Config{
		ID: proto.ServerID(s.cfg.ServerID), Ensemble: active, Next: next, Epochs: epochs, Last: last, Window: window, Before: before,
		Blank: s.blank, History: history{s}, Rand: rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())),
		Timing: s.coreTiming(), Limits: limits, Masters: s.cfg.Quorum.ObserverMasterPort > 0,
		Whole: s.cfg.ForceSnapshotSync, Barrier: barrier,
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

// barrier is the txn without effect that proves that the followers have logged all before it. Source: quorum-protocol 14.3 R7.
func barrier(z proto.Zxid) []byte {
	return datatree.AppendErrorTxn(nil, proto.TxnHeader{Zxid: z, Time: time.Now().UnixMilli()}, proto.OK)
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
		ListenAllIPs: q.QuorumListenOnAllIPs, BindAttempts: q.ElectionPortBindRetry, Dial: s.dialPeer, Listen: s.listenPeer,
		Security: s.peerSecurity(), Members: m.neighbours(), Strangers: q.ReconfigEnabled, MasterPort: q.ObserverMasterPort,
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
	if id := state.Lookup([]byte(configPath)); q.ReconfigEnabled && id != 0 {
		if node := state.Node(id); node.Version == -1 && node.Mzxid == proto.Zxid(q.ConfigVersion) && bytes.Equal(state.Data(id), text) {
			return
		}
	}
	state.SetConfig(text, proto.Zxid(q.ConfigVersion), s.clock.wallMs())
}

// generation is the number of the present time of service; see member.
func (s *Server) generation() int64 {
	if s.member == nil {
		return 0
	}
	return s.member.generation.Load()
}

// position is up to where the history that this server serves reaches: its last txn, or the beginning of its leader's epoch if
// that has none yet. Servers in Java tell their clients of the latter as if it were a txn.
func (s *Server) position() proto.Zxid {
	last := s.store.lastZxid()
	if s.member != nil {
		if v := s.member.view.Load(); v.Serving {
			return max(last, proto.MakeZxid(v.Epoch, 0))
		}
	}
	return last
}

// decides reports whether this server decides what becomes of abandoned znodes: alone, or as the leader.
func (s *Server) decides() bool {
	if s.member == nil {
		return true
	}
	v := s.member.view.Load()
	return v.State == zab.Leading && v.Serving
}

// handedOver tells Stop that the member takes part in nothing any more.
func (s *Server) handedOver() { s.handOnce.Do(func() { close(s.handed) }) }

// leaveEnsemble hands the leadership over, if this server has it, and waits until that is done or has taken too long.
func (s *Server) leaveEnsemble() {
	began := time.Now()
	s.member.handOver()
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.TickTime+time.Second)
	defer cancel()
	select {
	case <-s.handed:
		s.log.Info("left the ensemble", zap.Duration("took", time.Since(began)))
	case <-s.member.done:
	case <-ctx.Done():
		s.log.Warn("leaving the ensemble without having handed over", zap.Duration("took", time.Since(began)))
	}
}

// mode is the server's role as the four-letter words spell it.
func (s *Server) mode() string {
	if s.member == nil {
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
