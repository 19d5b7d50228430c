package system

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/defects"
	"github.com/seed94657493/warren/test/model"
)

// Options describe a run. What is not set is drawn from the seed.
type Options struct {
	Seed  uint64
	Steps int // bouts of requests, and faults, before everything has to recover
	// Servers is how many servers there are; 0 draws 1, 3 or 5.
	Servers int
	// Observers is how many of them, the last, have no vote; -1 draws it.
	Observers int
	// Clients is how many clients there are; 0 draws some.
	Clients int
	// Faults are what may happen; nil is everything.
	Faults []Fault
	// Configure, if not nil, changes the configuration of each server.
	Configure func(*config.Config)
	// Defects are what is wrong with the servers on purpose, in a build with the overlay of test/defects.
	Defects defects.Set
	// Features are what clients use besides; nil draws some.
	Features []Feature
	// Slow is the name of the tasks that are often slow; empty draws it, or none. They are up to Late late, if that
	// is above the usual.
	Slow string
	Late time.Duration
	// Punctual lets no tasks be slow.
	Punctual bool
	// Busy lets every client have many requests on their way.
	Busy bool
	// Idle lets every client ask seldom, and mostly read: what it holds it keeps.
	Idle bool
	// Again lets clients count their requests from 1 again on a new connection, sometimes.
	Again bool
	// Restless lets clients move to another server at every second occasion, and at once.
	Restless bool
	// Mean is the time between two faults; 0 draws it.
	Mean time.Duration
}

// world is one run: the ensemble, its clients, and what is known of them.
type world struct {
	o       Options
	s       *scheduler
	net     *network
	nodes   []*node
	clients []*client
	faults  faults

	sessions    map[proto.SessionID]*session
	connections []*connection
	history     map[proto.Zxid]*txn
	logs        map[proto.Zxid]*logged
	untraced    map[proto.Zxid]*node // committed txns whose logs were not known when their states were met
	burials     []burial
	reigns      []reign
	acked       proto.Zxid // the newest that a client has heard of
	told        proto.Zxid // all had heard of it some time before the end
	steps       int
	replies     int
	outcomes    int // of requests that were not answered, told later
	repeats     int // writes that were sent again because they were not executed
	reconfigs   int
	// cut are the servers that have ended connections after the first reply to a request, though the client was heard
	// and has not asked for it.
	cut     []int
	first   proto.Zxid    // the version that the first leader has given to the first configuration
	members proto.Zxid    // the last configuration that was applied
	lasting time.Duration // until then no client asks for another configuration
	calm    bool          // there are no faults any more, and clients begin nothing new

	tick                   time.Duration
	window                 int     // txns in memory for learners; 0 is the usual
	epochTxns              uint32  // txns that an epoch can have; 0 is the usual
	syncLimit              int     // of ZooKeeper, in ticks
	factor                 float64 // how much of the log learners are sent, as a share of a snapshot
	timeoutMin, timeoutMax time.Duration
	wallMax                time.Duration // wall clocks differ by at most this
	driftMax               float64       // and go this much faster or slower than they should
}

const clientPort = 2181

func newWorld(o Options) *world {
	drawFeatures(&o)
	o.Again = o.Again || rand.New(rand.NewPCG(o.Seed, 0xa6)).IntN(100) < 5
	s := newScheduler(o.Seed)
	w := &world{o: o, s: s, net: newNetwork(s), sessions: map[proto.SessionID]*session{},
		history: map[proto.Zxid]*txn{}, logs: map[proto.Zxid]*logged{},
		untraced: map[proto.Zxid]*node{}, tick: 100 * time.Millisecond,
		wallMax: time.Minute, driftMax: 0.002}
	w.timeoutMin, w.timeoutMax = 7*w.tick, 30*w.tick
	if more := rand.New(rand.NewPCG(o.Seed, 0xe0)); o.Faults == nil && more.IntN(100) < 15 {
		w.epochTxns = 40 + more.Uint32N(400)
	}
	if w.o.Servers == 0 {
		w.o.Servers = []int{1, 3, 3, 5}[s.rng.IntN(4)]
	}
	if w.o.Clients == 0 {
		w.o.Clients = 2 + s.rng.IntN(6)
	}
	if s.chance(60) {
		s.slow, s.tardiness = tardy[s.rng.IntN(len(tardy))], 5+s.rng.IntN(40)
	}
	if o.Slow != "" {
		s.slow, s.tardiness, s.late = o.Slow, 5+s.rng.IntN(40), max(s.late, o.Late)
	}
	if o.Punctual {
		s.slow = ""
	}
	w.syncLimit = []int{6, 6, 20}[s.rng.IntN(3)]
	w.factor = []float64{0.33, 100}[s.rng.IntN(2)]
	if w.o.Observers < 0 {
		w.o.Observers = 0
		if w.o.Servers == 5 {
			w.o.Observers = s.rng.IntN(3)
		}
	}
	if s.chance(50) {
		w.window = 1 + s.rng.IntN(60) // what a learner lacks comes from the log on disk
	}
	snapCount := 20 + s.rng.IntN(400)
	if s.chance(30) {
		// a learner that comes back is behind the snapshot that its leader has begun with
		snapCount = 2 + s.rng.IntN(10)
	}
	for id := 1; id <= w.o.Servers+w.joiners(); id++ {
		w.nodes = append(w.nodes, &node{w: w, id: id, cfg: w.config(id, snapCount), disk: s.newDisk(id)})
	}
	w.faults = newFaults(w, o.Faults)
	return w
}

// newest is the last txn that any server has applied.
func (w *world) newest() (last proto.Zxid) {
	for zxid := range w.history {
		last = max(last, zxid)
	}
	return last
}

// drift draws how a clock goes.
func (w *world) drift() float64 { return (w.s.rng.Float64()*2 - 1) * w.driftMax }

// initLimit is that of ZooKeeper, in ticks.
const initLimit = 20

// config is the configuration of one server.
func (w *world) config(id, snapCount int) *config.Config {
	c := config.Default()
	c.DataDir, c.DataLogDir = dataDir, dataDir
	c.PreAllocSizeKB, c.DiskWatermark.Bytes = 0, 0
	c.ClientPortAddress, c.ClientPort = hostName(id), clientPort
	c.TickTime = w.tick
	c.MinSessionTimeout, c.MaxSessionTimeout = 2*w.tick, time.Minute
	c.MaxClientCnxns = 0
	c.Admin.Enabled = false
	c.SnapCount, c.SnapshotSizeFactor = snapCount, w.factor
	c.ExtendedTypes = true
	c.Container.CheckInterval = 2 * time.Second
	if w.o.Servers+w.joiners() > 1 {
		c.ServerID = int64(id)
		c.InitLimit, c.SyncLimit, c.ConnectToLearnerMasterLimit = initLimit, w.syncLimit, initLimit
		c.MinNotificationInterval, c.MaxNotificationInterval = 20*time.Millisecond, 200*time.Millisecond
		c.StandaloneEnabled = false
		c.PeerType = w.role(id)
		for n := 1; n <= max(w.o.Servers, id); n++ {
			if n > w.o.Servers && n != id {
				continue // another joiner
			}
			c.Members = append(c.Members, config.Member{Role: w.role(n), ID: int64(n), Weight: 1,
				Addresses: []config.PeerAddress{{Host: hostName(n), QuorumPort: 2888, ElectionPort: 3888}},
				Client:    config.HostPort{Host: hostName(n), Port: clientPort},
				Secure:    config.HostPort{Port: config.PortUnset}})
		}
	}
	w.features(c)
	w.limits(c)
	if w.o.Configure != nil {
		w.o.Configure(c)
	}
	return c
}

// role is the role of a server in its own files.
func (w *world) role(id int) config.Role {
	if id <= w.o.Servers && id > w.o.Servers-w.o.Observers {
		return config.Observer
	}
	return config.Participant
}

// leaseOf is what package server promises of the lease.
func (w *world) leaseOf() lease {
	limit := time.Duration(w.nodes[0].cfg.SyncLimit) * w.tick
	least := max(2*w.tick, limit/3)
	return lease{least: least, most: max(least, limit), drift: w.driftMax}
}

// applied takes a txn that a server has applied. No two servers may differ.
func (w *world) applied(n *node, zxid proto.Zxid, payload []byte, digest int64) {
	// the leader of this epoch has the server's history, or has corrected it
	if n.last == 0 || n.last.Epoch() != zxid.Epoch() {
		w.adopt(n, zxid-1)
	}
	t := w.history[zxid]
	switch {
	case zxid <= n.last:
		w.s.fail(OneHistory, "server %d applies %v after %v", n.id, zxid, n.last)
	case t == nil:
		w.history[zxid] = &txn{zxid, bytes.Clone(payload), digest, true, w.s.now, n.id}
		w.s.tracef("s%d: applies %v first", n.id, zxid)
	case !bytes.Equal(t.payload, payload):
		w.s.fail(OneHistory, "server %d applies %x at %v, server %d applied %x", n.id, payload, zxid, t.by, t.payload)
	case !t.known:
		t.digest, t.known, t.by = digest, true, n.id
	case t.digest != digest:
		w.s.fail(SameDigest, "server %d has the digest %d at %v, server %d had %d", n.id, digest, zxid, t.by, t.digest)
	}
	n.last = zxid
	w.noteFirst(n)
	w.noteMembers(w.history[zxid])
}

// run does it all, and returns what was wrong.
func (w *world) run() error {
	unguard := w.s.guard()
	defer unguard()
	defer w.end()
	interrupted := slices.Contains(w.faults.kinds, MidWrite) && w.s.chance(20) // the first start
	// the operator says that the servers are new
	marked := w.o.Servers == 1 || len(w.o.Features) > 0 || !w.s.chance(20)
	for _, n := range w.nodes {
		if marked {
			if err := n.disk.found(); err != nil {
				return err
			}
		}
		if interrupted {
			n.disk.interrupt = 1 + w.s.rng.IntN(firstMax)
		}
		n.start()
	}
	for id := range w.o.Clients {
		w.clients = append(w.clients, w.newClient(id))
	}
	w.faults.begin()
	w.watch()
	for w.steps < w.o.Steps && w.s.step() && w.s.now < runMax {
	}
	w.settle()
	w.bury()
	unguard()
	if w.s.failure != nil {
		return w.s.failure
	}
	if err := w.check(); err != nil {
		return err
	}
	if w.o.Seed%4 != 0 {
		return nil
	}
	return w.drained()
}

// drained lets all clients go. Then every session ends at all members.
func (w *world) drained() error {
	for _, c := range w.clients {
		c.p.kill()
		w.net.unplug(c.host, true)
	}
	for until := w.s.now + settleMax; w.s.failure == nil; {
		w.s.runFor(time.Second)
		i := slices.IndexFunc(w.votersAndObservers(), func(n *node) bool { return n.srv.Status().Sessions > 0 })
		switch {
		case i < 0:
			return nil
		case w.s.now > until:
			return broken(DeadClients, "server %d has sessions, and no client is there any more",
				w.votersAndObservers()[i].id)
		}
	}
	return w.s.failure
}

// Bounds of a run, in simulated time.
const (
	runMax    = 30 * time.Minute // for the steps
	settleMax = 2 * time.Minute  // until all is well after the last fault
)

// watch looks after servers that end by themselves, and starts those again that are down because of a fault.
func (w *world) watch() {
	for _, n := range w.nodes {
		n.look()
		if n.leads() {
			w.reigns = append(w.reigns, reign{n.id, n.srv.Status().Epoch, w.s.now})
		}
	}
	w.s.plan(w.tick, nil, "watch", w.watch)
}

// settle ends the faults, and lets the ensemble recover: servers agree, and clients have their answers. Tasks are late
// no more, because late tasks end links as other faults do.
func (w *world) settle() {
	w.s.tracef("the faults end")
	w.calm, w.s.punctual = true, true
	w.faults.end()
	for until := w.s.now + settleMax; w.s.failure == nil; {
		w.s.runFor(w.tick)
		why := w.unsettled()
		if why == "" {
			w.told = w.votersAndObservers()[0].srv.Status().Zxid
			w.s.runFor(time.Second) // what is on its way arrives
			if w.unsettled() == "" {
				return
			}
		}
		if w.s.now > until {
			w.s.fail(Convergence, "%v after the last fault %s", settleMax, why)
		}
	}
}

// unsettled returns what is not well yet.
func (w *world) unsettled() string {
	nodes := w.votersAndObservers()
	first := nodes[0]
	for _, n := range nodes {
		switch {
		case !n.serves():
			return fmt.Sprintf("server %d does not serve", n.id)
		case n.srv.Status().Zxid != first.srv.Status().Zxid:
			return fmt.Sprintf("servers %d and %d are at %v and %v", n.id, first.id, n.srv.Status().Zxid,
				first.srv.Status().Zxid)
		case n.srv.Status().Digest != first.srv.Status().Digest:
			w.s.fail(SameDigest, "servers %d and %d have different digests at %v", n.id, first.id, n.srv.Status().Zxid)
		}
		if why := n.holds(); why != "" {
			return why
		}
	}
	for _, c := range w.clients {
		switch {
		case c.p.dead:
		case c.alone != 0 && !w.leadersServe() && w.nodes[c.alone-1].leads(): // it knows no other server
		case c.session == nil || c.conn == nil || c.broken || !c.conn.isOpen || c.conn.readOnly:
			return fmt.Sprintf("client %d has no connection", c.id)
		case len(c.conn.pending) > 0:
			return fmt.Sprintf("client %d waits for the reply to %v", c.id, c.conn.pending[0].op)
		case c.session.seen > first.srv.Status().Zxid || !c.settled():
			return fmt.Sprintf("client %d has not asked since", c.id)
		}
	}
	return ""
}

// settled reports whether a client was answered since the faults ended. It asks, if not.
func (c *client) settled() bool {
	if c.last != nil && c.last.conn == c.conn {
		return c.last.reply != nil
	}
	c.wants = true
	return false
}

// check looks at what is known of the run.
func (w *world) check() error {
	for _, n := range w.nodes {
		// A server that is no member any more may be down, or have txns that no leader has confirmed.
		if n.srv != nil && n.srv.Status().Serving {
			w.adopt(n, n.srv.Status().Zxid)
		}
	}
	w.adoptLate()
	r := w.replay()
	if err := r.run(); err != nil || r.ambiguous {
		return err
	}
	if err := w.buried(r.expiries); err != nil {
		return err
	}
	if err := w.refusals(); err != nil {
		return err
	}
	for _, e := range r.expiries {
		if err := w.leaseOf().early(e); err != nil {
			return err
		}
	}
	// A session that is made global when its client comes to another server is not known there yet.
	for _, id := range slices.Sorted(maps.Keys(w.sessions)) {
		if s := w.sessions[id]; s.expired && !r.ended[id] && !r.isLocal(s) && !r.locals {
			return broken(SessionEnds, "session %v was said to have expired, and has not", id)
		}
	}
	if err := w.configurations(); err != nil {
		return err
	}
	n := w.votersAndObservers()[0]
	if st := n.srv.Status(); len(r.txns) > 0 && st.Zxid != r.txns[len(r.txns)-1].zxid || st.Digest != r.m.Digest() {
		return broken(ModelDigest, "server %d ends at %v with the digest %d, the model after %d txns with %d", n.id,
			st.Zxid, st.Digest, len(r.txns), r.m.Digest())
	}
	return nil
}

// replay returns what is to be replayed of the run.
func (w *world) replay() *replay {
	first := w.nodes[0].cfg
	r := &replay{sessions: w.sessions, connections: w.connections, told: w.told, refuses: w.faults.full,
		locals: w.has(Local) && first.Distributed(), upgrades: first.LocalSessionsUpgradingEnabled,
		members: w.founding(), m: model.New(model.Config{ExtendedTypes: true, ReconfigEnabled: w.has(Reconfig),
			MaxContainerNeverUsedMs: config.Default().Container.MaxNeverUsed.Milliseconds()})}
	for _, zxid := range slices.Sorted(maps.Keys(w.history)) {
		r.txns = append(r.txns, w.history[zxid])
	}
	return r
}

// end ends all processes.
func (w *world) end() {
	for _, c := range w.clients {
		c.p.kill()
	}
	for _, n := range w.nodes {
		if n.p != nil {
			n.p.kill()
		}
	}
}
