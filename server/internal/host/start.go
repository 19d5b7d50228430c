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
	"github.com/seed94657493/warren/server/internal/host/lease"
	"github.com/seed94657493/warren/server/internal/host/succession"
	"github.com/seed94657493/warren/server/internal/keystore"
	"github.com/seed94657493/warren/server/internal/security"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
	"github.com/seed94657493/warren/zab/quorum"
)

// Network replaces functions of package net between the servers of an ensemble, where a field is not nil. See
// peers.Config.
type Network struct {
	Resolve func(ctx context.Context, host string) ([]string, error)
	Dial    func(ctx context.Context, network, address string) (net.Conn, error)
	Listen  func(network, address string) (net.Listener, error)
}

// New returns a host without an agreement.
func New(e *env.Env, d *durable.Disk, clients clients, network Network) *Host {
	m := &Host{
		Env: e, Disk: d, clients: clients, network: network, ID: proto.ServerID(e.Config.OwnID()),
		input: newInput(e.Runtime), periods: periods{figures: e.Metrics.Quorum},
		done:   sched.NewGate(e.Runtime),
		Served: sched.NewGate(e.Runtime), links: newLinks(), states: newArrivals(),
	}
	m.lease = lease.New(m.leaseTime(), lease.Needs{Now: e.Clock.Now, Publish: e.LeaseEnd.Store})
	m.policy = succession.New(succession.Config{TickTime: e.Config.TickTime, Priority: int64(e.Config.Priority),
		Pause: e.Config.PriorityPause})
	m.View.Store(&RoleView{State: zab.Looking, Leader: -1, master: -1})
	return m
}

// Prepare gives the host its agreement, based on the data that recovery has found. From now on other servers of an
// ensemble can hear of this server.
func (m *Host) Prepare(applier applies) error {
	m.periods.role = m.Clock.Steady()
	m.applier = applier
	m.journal = durable.NewJournal(m.Disk, journalOwner{m})
	if m.Config.Distributed() {
		return m.joinEnsemble()
	}
	return m.beAlone()
}

// beAlone makes the agreement of a standalone server.
func (m *Host) beAlone() error {
	q, err := quorum.Majority(m.ID)
	if err != nil {
		return err
	}
	m.Active = &zab.Ensemble{Quorum: q}
	last := m.Store.State.LastZxid()
	m.core, m.reach.delivered = newAlone(m.ID, last), last
	m.status = zab.Status{State: zab.Leading, Leader: m.ID, Master: m.ID}
	m.View.Store(&RoleView{State: zab.Leading, Leader: m.ID, master: m.ID, since: m.periods.role})
	m.lease.Lift()
	return nil
}

// joinEnsemble makes the agreement of a member of an ensemble, which looks for a leader.
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
	m.periods.begin()
	m.reach.delivered = core.Last
	m.View.Store(&RoleView{State: zab.Looking, Leader: -1, master: -1, since: m.periods.role})
	if m.member, err = zab.New(core); err != nil {
		return &durable.DataError{Dir: m.SnapDir(), Err: err}
	}
	m.core = m.member
	if m.peers, err = peers.New(m.PeersConfig()); err != nil {
		return err
	}
	m.setConfig(m.Membership(), false)
	m.Tracker.Follow()
	m.Disk.Snapshotter.Held.Store(true)
	if q := m.Membership(); m.Config.ReconfigEnabled && q.ConfigVersion > m.Config.ConfigVersion {
		m.configured(q) // the files are older
	}
	m.joined.Store(true)
	m.peers.Start()
	return nil
}

// OpenQuorum loads the TLS and SASL material for the ports between the servers of an ensemble.
func (m *Host) OpenQuorum() (*security.Quorum, error) {
	q, err := security.OpenQuorum(security.QuorumOptions{
		Config: m.Config, FS: m.FS, Log: m.Log, Registry: m.Registry,
		Members:    func() []config.Member { return m.Membership().Members },
		Handshakes: m.clients.ServerHandshakes(),
	})
	if err != nil {
		return nil, &env.ConfigError{Err: err}
	}
	return q, nil
}

// OnConfiguration sets fn, which is called with each committed configuration, in an ensemble that can be
// reconfigured.
func (m *Host) OnConfiguration(fn func(*config.Quorum) bool) { m.configured = fn }

// StopPeers ends the connections to other servers.
func (m *Host) StopPeers() {
	if m.peers != nil {
		m.peers.Stop()
	}
}

// WatchKeys reloads the certificates of the ports between servers when their files change, if that is configured.
func (m *Host) WatchKeys() {
	if k := m.Security.Keys(); k != nil && m.Config.SSLQuorumReloadCertFiles {
		m.Spawn("quorum keys", func() { k.Watch(keystore.ReloadInterval, m.Stopping.Done()) })
	}
}

// StartGoroutines starts the host goroutine, the journal and the applier.
func (m *Host) StartGoroutines() {
	m.Runtime.Go("host", m.run)
	m.Runtime.Go("journal", m.journal.Run)
	m.Runtime.Go("applier", m.applier.Run)
}

// CoreConfig is the configuration of the zab.Core: what it starts from.
func (m *Host) CoreConfig() (zab.Config, error) {
	epochs, err := m.Disk.Epochs()
	if err != nil {
		return zab.Config{}, &durable.DataError{Dir: m.SnapDir(), Err: err}
	}
	active, next, err := m.configurations()
	if err != nil {
		return zab.Config{}, err
	}
	// The configuration was committed in an epoch that must not come again. That also holds if the state is an
	// older one that was restored.
	if e := active.Version.Epoch(); m.Config.ReconfigEnabled && e > epochs.Accepted {
		if err := m.Disk.Meta.SetAccepted(e); err != nil {
			return zab.Config{}, &durable.DataError{Dir: m.SnapDir(), Err: err}
		}
		epochs.Accepted = e
	}
	limits := zab.DefaultLimits()
	limits.WindowTxns = m.WindowTxns
	limits.SnapSyncsMax, limits.DiffSyncsMax = m.Config.MaxConcurrentSnapSyncs, m.Config.MaxConcurrentDiffSyncs
	limits.LagBytes = m.masterQueue() / 2
	last := m.Store.State.LastZxid()
	window, before := m.Disk.Recent.Take(last)
	if m.Disk.Missing {
		epochs.Current = 0 // it belongs to a history that is not on this disk any more
	}
	c := zab.Config{
		ID: proto.ServerID(m.Config.ServerID), Ensemble: active, Next: next, Epochs: epochs, Last: last,
		Window: window, Before: before,
		Blank: m.Disk.Blank, Lineage: m.Disk.Lineage(), History: history{m},
		Rand:   rand.New(rand.NewPCG(m.Runtime.Uint64(), m.Runtime.Uint64())),
		Timing: m.coreTiming(), Limits: limits, Masters: m.Config.Quorum.ObserverMasterPort > 0,
		Whole: m.Config.ForceSnapshotSync, Barrier: m.barrier, Sums: sumsOf,
	}
	if m.Config.ReconfigEnabled {
		c.Roster = roster{}
	}
	switch {
	case m.Disk.Missing && c.Roster != nil && active.Version != 0:
		m.Log.Warn("the database is missing, and the ensemble has served: this server does not vote until a leader "+
			"has brought it up to date", zap.Stringer("configuration", active.Version))
	case m.Disk.Missing:
		m.Log.Info(
			"the database is missing: this server does not vote until it knows whether it was lost or " +
				"the ensemble is new")
	case c.Blank:
		m.Log.Info(
			"the database was missing and the synchronization after that has not ended: this server does " +
				"not vote until it has")
	}
	return c, nil
}

// barrier is the txn without effect that proves that the followers have logged all txns before it. Source:
// quorum-protocol 14.3 R7.
func (m *Host) barrier(z proto.Zxid) []byte {
	return prepare.AppendErrorTxn(nil, proto.TxnHeader{Zxid: z, Time: m.Clock.WallMs()}, proto.OK)
}

// A leader is dialled for dialTime, but at least dialsMin times, however long the pauses are. Source:
// quorum-protocol 1.5.
const (
	dialTime = time.Second
	dialsMin = 5
	// dialMax bounds attempts that are not answered: TCP has repeated the first packet once by then.
	dialMax = 1500 * time.Millisecond
)

// quorumMin bounds from below how long a leader waits for a quorum to be heard of.
const quorumMin = time.Second

// coreTiming is the configured times, in ticks of the core.
func (m *Host) coreTiming() zab.Timing {
	q := &m.Config.Quorum
	ticks := func(d time.Duration) int { return max(int(d/coreTick), 1) }
	t := zab.DefaultTiming()
	t.Tick = coreTick
	t.TickTime = max(ticks(m.Config.TickTime), 2)
	t.InitLimit, t.SyncLimit = max(q.InitLimit, 1), max(q.SyncLimit, 1)
	t.ResendMin = ticks(q.MinNotificationInterval)
	t.ResendMax = max(ticks(q.MaxNotificationInterval), t.ResendMin)
	// Without a lease the leader and its learners serve no client, so a leader that hears of no quorum need not wait
	// longer. A pause of the process below quorumMin is no reason to give up.
	t.QuorumLimit = ticks(max(m.leaseTime()+m.Config.TickTime/2, quorumMin))
	t.DialPause = ticks(q.LeaderConnectDelay)
	t.DialAttempts = max(ticks(dialTime)/t.DialPause, dialsMin)
	// A leader to which no way leads is left before long, unless the operator has set a limit of its own.
	if t.DialLimit = q.ConnectToLearnerMasterLimit; t.DialLimit >= t.InitLimit {
		t.DialLimit = min(t.InitLimit, int((dialMax+m.Config.TickTime-1)/m.Config.TickTime))
	}
	t.ObserverDialPause, t.ObserverLookPause = int(q.ObserverReconnectDelay/coreTick),
		int(q.ObserverElectionDelay/coreTick)
	if q.MaxTimeToWaitForEpoch >= 0 {
		t.EpochWait = ticks(q.MaxTimeToWaitForEpoch)
	}
	return t
}

// masterQueue is how many bytes may wait for an observer.
func (m *Host) masterQueue() int {
	return max(int(m.Config.Quorum.ObserverMasterSizeLimit), masterQueueMin)
}

// masterQueueMin is the least effective value of observerMaster.sizeLimit, in bytes: a snapshot must fit in while
// it is sent.
const masterQueueMin = 1 << 20

// remember keeps the addresses of other servers for the next start, which may happen while the name server is away.
func (m *Host) remember(known map[string][]string) {
	if err := m.Disk.Meta.SetAddresses(known); err != nil {
		m.Log.Warn("cannot save the addresses of the other servers, which the next start needs if names do not "+
			"resolve", zap.Error(err))
	}
}

// PeersConfig is the configuration of the links between servers: addresses, limits and timeouts.
func (m *Host) PeersConfig() peers.Config {
	q := &m.Config.Quorum
	c := peers.Config{
		ID: m.ID, Handler: memberHandler{m}, Log: m.Log.Named("peers"), Runtime: m.Runtime, Failed: m.Fail,
		Limits:       peers.DefaultLimits(),
		Timeouts:     peers.DefaultTimeouts(m.Config.TickTime, max(q.InitLimit, 1), max(q.SyncLimit, 1)),
		ListenAllIPs: q.QuorumListenOnAllIPs, BindAttempts: q.ElectionPortBindRetry,
		Resolve: m.network.Resolve, Dial: m.network.Dial, Listen: m.network.Listen, Security: m.Security.Peers(),
		Known: m.Disk.Meta.Addresses(), Learned: m.remember,
		Members: m.neighbours(), Changes: q.ReconfigEnabled, MasterPort: q.ObserverMasterPort,
		NoKeepAlive: !q.PeerTCPKeepAlive, NagleAccepted: !q.LeaderNoDelay, NagleDialled: !q.FollowerNoDelay,
	}
	c.Limits.MasterQueue = m.masterQueue()
	c.Timeouts.Connect = q.CnxTimeout
	if q.QuorumCnxnTimeout > 0 {
		c.Timeouts.Greeting = q.QuorumCnxnTimeout
	}
	return c
}

// ConfigText is a configuration as notifications, NEWLEADER and /zookeeper/config carry it. Source: quorum-protocol
// 11.1.
func ConfigText(q *config.Quorum) []byte {
	return fmt.Appendf(nil, "%s\nversion=%x", q.Text(), q.ConfigVersion)
}

// setConfig writes a configuration into its znode, as every member does when it starts and when it has synchronized.
// What clients read at a zxid is the same at all servers: if a reconfiguration of the history has written the same
// there, or a later one, it stays; and if the txn of this one is not applied yet, that will write it. With ahead it is
// written before that if the state has no configuration at all, as ZooKeeper does: clients of a read-only server look
// for the other servers in it.
func (m *Host) setConfig(q *config.Quorum, ahead bool) {
	m.Store.Mu.Lock()
	defer m.Store.Mu.Unlock()
	state, text := m.Store.State, ConfigText(q)
	if q.ReconfigEnabled {
		version := proto.Zxid(q.ConfigVersion)
		e := newestConfiguration(state)
		if version.Counter() != 0 && version > state.LastZxid() && (e != nil || !ahead) {
			return
		}
		if e != nil && (e.Version > version ||
			e.Version == version && bytes.Equal(state.Data(state.Lookup(configPath)), text)) {
			return
		}
	}
	state.SetConfig(text, proto.Zxid(q.ConfigVersion), m.Clock.WallMs())
}

// configPath is the znode that holds the configuration.
var configPath = []byte(datatree.ConfigPath)

// Generation is the number of the present time of service; see Host.
func (m *Host) Generation() int64 { return m.generation.Load() }

// Position is the zxid up to which this server serves the history: its last txn, or the beginning of its leader's
// epoch if that epoch has no txn yet. Servers in Java report the latter to clients as if it were a txn.
func (m *Host) Position() proto.Zxid {
	last := m.Store.LastZxid()
	if v := m.View.Load(); v.Serving {
		return max(last, proto.MakeZxid(v.Epoch, 0))
	}
	return last
}

// Rules reports whether this server decides about sessions and abandoned znodes: as the leader, or as a standalone
// server.
func (m *Host) Rules() bool {
	v := m.View.Load()
	return v.State == zab.Leading && v.Serving
}

// handedOver tells Stop that the host takes part in nothing any more.
func (m *Host) handedOver() { m.Handed.Open() }

// Finish ends the service in good order: a leader hands its leadership over, a standalone server finishes the
// requests that it has received. It gives up after a tick and a second.
func (m *Host) Finish() {
	m.handOver()
	limit := m.Config.TickTime + time.Second
	if !m.Handed.WaitFor(limit) {
		m.Log.Warn("stopping before the handover, or the requests in flight, have finished", zap.Duration("took", limit))
	}
}

// Mode is the server's role as the four-letter words spell it.
func (m *Host) Mode() string {
	if !m.Config.Distributed() {
		return "standalone"
	}
	if m.ReadOnly.Load() {
		return "read-only"
	}
	return [...]string{zab.Looking: "looking", zab.Following: "follower", zab.Leading: "leader",
		zab.Observing: "observer"}[m.View.Load().State]
}

// Keys are the certificates of the ports between servers; nil without TLS there.
func (m *Host) Keys() *keystore.Keys { return m.Security.Keys() }
