package host

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/prepare"
	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/durable"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/keystore"
	"github.com/seed94657493/warren/server/internal/security"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// New returns a member without an agreement.
func New(e *env.Env, d *durable.Disk, clients clients, dial func(ctx context.Context, network, address string) (net.Conn, error),
	listen func(network, address string) (net.Listener, error)) *Host {
	wake := e.Runtime.Parker()
	m := &Host{
		Env: e, Disk: d, clients: clients, dial: dial, listen: listen, ID: proto.ServerID(max(e.Config.ServerID, 1)),
		batches: flow.NewInbox[*flow.Batch](wake), events: flow.NewInbox[event](wake), wake: wake, done: sched.NewGate(e.Runtime),
		Served: sched.NewGate(e.Runtime), links: map[zab.LinkID]*peers.Link{}, warren: map[zab.LinkID]bool{},
	}
	m.lease = lease{length: m.leaseTime(), exchanges: map[zab.LinkID]*exchange{}}
	m.received.byLink, m.received.wanted = map[zab.LinkID]*durable.Loading{}, map[zab.LinkID]*durable.Loading{}
	m.View.Store(&RoleView{State: zab.Looking, Leader: -1, master: -1})
	return m
}

// Prepare gives the member its agreement, on what recovery has found. A member of an ensemble is heard by other servers from now on.
func (m *Host) Prepare(applier applies) error {
	m.since = m.Clock.Steady()
	m.applier = applier
	m.journal = durable.NewJournal(m.Disk, m)
	if m.Config.Distributed() {
		return m.joinEnsemble()
	}
	return m.beAlone()
}

// beAlone makes the member that of a standalone server.
func (m *Host) beAlone() error {
	q, err := zab.Majority(m.ID)
	if err != nil {
		return err
	}
	m.Active = &zab.Ensemble{Quorum: q}
	last := m.Store.State.LastZxid()
	m.core, m.delivered = newAlone(m.ID, m.Active, last), last
	m.status = zab.Status{State: zab.Leading, Leader: m.ID, Master: m.ID}
	m.View.Store(&RoleView{State: zab.Leading, Leader: m.ID, master: m.ID, since: m.since})
	m.lease.endless = true
	return nil
}

// joinEnsemble makes the member one that looks for a leader.
func (m *Host) joinEnsemble() (err error) {
	if m.Security, err = m.OpenQuorum(); err != nil {
		return err
	}
	core, err := m.CoreConfig()
	if err != nil {
		return err
	}
	m.Members.Store(m.QuorumWith(core.Ensemble))
	m.ID, m.Active, m.next = core.ID, core.Ensemble, core.Next
	m.lookedAt, m.lost = m.since, m.since
	m.Metrics.Quorum.Looking.Inc()
	m.delivered = core.Last
	m.View.Store(&RoleView{State: zab.Looking, Leader: -1, master: -1, since: m.since})
	if m.core, err = zab.New(core); err != nil {
		return &durable.DataError{Dir: m.SnapDir(), Err: err}
	}
	if m.peers, err = peers.New(m.PeersConfig()); err != nil {
		return err
	}
	m.setConfig(m.Membership())
	m.Tracker.Follow()
	m.Disk.Snapshotter.Held.Store(true)
	if q := m.Membership(); m.Config.ReconfigEnabled && q.ConfigVersion > m.Config.ConfigVersion {
		m.configured(q) // the files are older
	}
	m.joined.Store(true)
	m.peers.Start()
	return nil
}

// OpenQuorum loads what guards the ports between the servers of an ensemble.
func (m *Host) OpenQuorum() (*security.Quorum, error) {
	return security.OpenQuorum(security.QuorumOptions{
		Config: m.Config, FS: m.FS, Log: m.Log, Registry: m.Registry, Dial: m.dial, Listen: m.listen,
		Members: func() []config.Member { return m.Membership().Members },
	})
}

// OnConfiguration lets fn be called with each configuration that was committed, in an ensemble that can be reconfigured.
func (m *Host) OnConfiguration(fn func(*config.Quorum) bool) { m.configured = fn }

// StopPeers ends the connections to other servers.
func (m *Host) StopPeers() {
	if m.peers != nil {
		m.peers.Stop()
	}
}

// WatchKeys reloads the certificates of the ports between servers when their files change, if that is wanted.
func (m *Host) WatchKeys() {
	if k := m.Security.Keys(); k != nil && m.Config.SSLQuorumReloadCertFiles {
		m.Spawn("quorum keys", func() { k.Watch(keystore.ReloadInterval, m.Stopping.Done()) })
	}
}

// StartGoroutines starts the node goroutine, the journal and the applier.
func (m *Host) StartGoroutines() {
	m.Runtime.Go("host", m.run)
	m.Runtime.Go("journal", m.journal.Run)
	m.Runtime.Go("applier", m.applier.Run)
}

// CoreConfig is what the agreement starts from.
func (s *Host) CoreConfig() (zab.Config, error) {
	epochs, err := s.Disk.Epochs()
	if err != nil {
		return zab.Config{}, &durable.DataError{Dir: s.SnapDir(), Err: err}
	}
	active, next, err := s.configurations()
	if err != nil {
		return zab.Config{}, err
	}
	// The configuration was committed in an epoch that must not come again, also if the state is an older one that was restored.
	if e := active.Version.Epoch(); s.Config.ReconfigEnabled && e > epochs.Accepted {
		if err := s.Disk.Meta.SetAccepted(e); err != nil {
			return zab.Config{}, &durable.DataError{Dir: s.SnapDir(), Err: err}
		}
		epochs.Accepted = e
	}
	limits := zab.DefaultLimits()
	limits.WindowTxns = max(limits.WindowTxns, s.Config.CommitLogCount)
	limits.SnapSyncsMax, limits.DiffSyncsMax = s.Config.MaxConcurrentSnapSyncs, s.Config.MaxConcurrentDiffSyncs
	limits.LagBytes = s.masterQueue() / 2
	last := s.Store.State.LastZxid()
	window, before := s.Disk.Recent.Take(last)
	if s.Disk.Missing {
		epochs.Current = 0 // of a history that is not here any more
	}
	c := zab.Config{
		ID: proto.ServerID(s.Config.ServerID), Ensemble: active, Next: next, Epochs: epochs, Last: last, Window: window, Before: before,
		Blank: s.Disk.Blank, Lineage: s.Disk.Lineage(), History: history{s}, Rand: rand.New(rand.NewPCG(s.Runtime.Uint64(), s.Runtime.Uint64())),
		Timing: s.coreTiming(), Limits: limits, Masters: s.Config.Quorum.ObserverMasterPort > 0,
		Whole: s.Config.ForceSnapshotSync, Barrier: s.barrier,
	}
	if s.Config.ReconfigEnabled {
		c.Roster = roster{}
	}
	switch {
	case s.Disk.Missing:
		s.Log.Info("the database is missing: this server does not vote until it knows whether it was lost or the ensemble is new")
	case c.Blank:
		s.Log.Info("the database was missing and the synchronization after that has not ended: this server does not vote until it has")
	}
	return c, nil
}

// barrier is the txn without effect that proves that the followers have logged all before it. Source: quorum-protocol 14.3 R7.
func (s *Host) barrier(z proto.Zxid) []byte {
	return prepare.AppendErrorTxn(nil, proto.TxnHeader{Zxid: z, Time: s.Clock.WallMs()}, proto.OK)
}

// A leader is dialled as often as there is time for, but some times however long the pauses are. Source: quorum-protocol 1.5.
const (
	dialTime = time.Second
	dialsMin = 5
)

// coreTiming is the configured times in ticks of the core.
func (s *Host) coreTiming() zab.Timing {
	q := &s.Config.Quorum
	ticks := func(d time.Duration) int { return max(int(d/coreTick), 1) }
	t := zab.DefaultTiming()
	t.TickTime = max(ticks(s.Config.TickTime), 2)
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

// PeersConfig is where the members are.
func (s *Host) PeersConfig() peers.Config {
	q := &s.Config.Quorum
	c := peers.Config{
		ID: s.ID, Handler: memberHandler{s}, Log: s.Log.Named("peers"), Runtime: s.Runtime, Failed: s.Fail,
		Limits:       peers.DefaultLimits(),
		Timeouts:     peers.DefaultTimeouts(s.Config.TickTime, max(q.InitLimit, 1), max(q.SyncLimit, 1)),
		ListenAllIPs: q.QuorumListenOnAllIPs, BindAttempts: q.ElectionPortBindRetry,
		Dial: s.Security.Dial, Listen: s.Security.Listen, Security: s.Security.Peers(),
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

// ConfigText is a configuration as notifications, NEWLEADER and /zookeeper/config carry it. Source: quorum-protocol 11.1.
func ConfigText(q *config.Quorum) []byte {
	return fmt.Appendf(nil, "%s\nversion=%x", q.Text(), q.ConfigVersion)
}

// setConfig writes a configuration into its znode, as every member does when it starts and when it has synchronised. What a
// reconfiguration has written there stays.
func (s *Host) setConfig(q *config.Quorum) {
	s.Store.Mu.Lock()
	defer s.Store.Mu.Unlock()
	state, text := s.Store.State, ConfigText(q)
	if id := state.Lookup([]byte(datatree.ConfigPath)); q.ReconfigEnabled && id != 0 {
		if node := state.Node(id); node.Version == -1 && node.Mzxid == proto.Zxid(q.ConfigVersion) && bytes.Equal(state.Data(id), text) {
			return
		}
	}
	state.SetConfig(text, proto.Zxid(q.ConfigVersion), s.Clock.WallMs())
}

// Generation is the number of the present time of service; see member.
func (s *Host) Generation() int64 { return s.generation.Load() }

// Position is up to where the history that this server serves reaches: its last txn, or the beginning of its leader's epoch if
// that has none yet. Servers in Java tell their clients of the latter as if it were a txn.
func (s *Host) Position() proto.Zxid {
	last := s.Store.LastZxid()
	if v := s.View.Load(); v.Serving {
		return max(last, proto.MakeZxid(v.Epoch, 0))
	}
	return last
}

// Rules reports whether this server decides what becomes of abandoned znodes: alone, or as the leader.
func (s *Host) Rules() bool {
	v := s.View.Load()
	return v.State == zab.Leading && v.Serving
}

// handedOver tells Stop that the member takes part in nothing any more.
func (s *Host) handedOver() { s.Handed.Open() }

// Finish ends the service in good order, or takes too long: a leader hands its leadership over, a standalone server finishes what was
// received.
func (s *Host) Finish() {
	s.handOver()
	limit := s.Config.TickTime + time.Second
	if !s.Handed.WaitFor(limit) {
		s.Log.Warn("stopping without having handed over, or finished", zap.Duration("took", limit))
	}
}

// Mode is the server's role as the four-letter words spell it.
func (s *Host) Mode() string {
	if !s.Config.Distributed() {
		return "standalone"
	}
	if s.ReadOnly.Load() {
		return "read-only"
	}
	switch s.View.Load().State {
	case zab.Leading:
		return "leader"
	case zab.Observing:
		return "observer"
	case zab.Following:
		return "follower"
	}
	return "looking"
}

// Keys are the certificates of the ports between servers; nil without TLS there.
func (m *Host) Keys() *keystore.Keys { return m.Security.Keys() }
