package admin

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed94657493/warren/internal/answers"
	"github.com/seed94657493/warren/internal/findings"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/facts"
	"github.com/seed94657493/warren/server/internal/orders"
)

// fakeNode is a Node that says the same every time, and notes what it was told.
type fakeNode struct {
	down      bool
	ensemble  *facts.Quorum
	mask      atomic.Int64
	resets    []string
	authorize func(facts.Credentials) error
	snapshot  func(context.Context) (*orders.Snapshot, error)
	restore   func(io.Reader) (int64, error)
	refused   int
	idsOpen   bool
	insecure  atomic.Int64
	draining  bool
	findings  []findings.Finding
	stalled   time.Duration
	blocked   chan struct{} // if not nil, Directories waits for it
	leaves    bool          // it leads, and leaves clients to others
	entered   chan struct{} // if not nil, Directories says that it runs
}

func (n *fakeNode) Serving() bool      { return !n.down }
func (n *fakeNode) TakesClients() bool { return !n.down && !n.leaves }
func (n *fakeNode) Version() string    { return "3.9.4-abc, built on 2026-01-01 00:00 UTC" }
func (n *fakeNode) Environment() []config.Property {
	return []config.Property{{Name: "zookeeper.version", Value: n.Version()}, {Name: "host.name", Value: "h"},
		{Name: "a", Value: "<&> \"x\"\\"}}
}
func (n *fakeNode) SystemProperties() []config.Property {
	return []config.Property{{Name: "os.name", Value: "linux"}, {Name: "zookeeper.admin.serverPort", Value: "8081"}}
}
func (n *fakeNode) TraceMask() int64        { return n.mask.Load() }
func (n *fakeNode) SetTraceMask(mask int64) { n.mask.Store(mask) }
func (n *fakeNode) Monitor() []facts.Number {
	return []facts.Number{{Name: "version", Value: "3.9.4", Text: true}, {Name: "avg_latency", Value: "0.25"},
		{Name: "znode_count", Value: "5"},
		{Name: "odd", Value: "NaN"}}
}
func (n *fakeNode) Quorum() *facts.Quorum        { return n.ensemble }
func (n *fakeNode) Findings() []findings.Finding { return n.findings }
func (n *fakeNode) ReadOnly() bool               { return false }
func (n *fakeNode) Configuration() facts.Configuration {
	c := facts.Configuration{
		ClientPort: 2181, DataDir: "/d/version-2", DataLogDir: "/l/version-2", TickTimeMs: 2000, MaxClientCnxns: 60,
		MinSessionTimeout: 4000, MaxSessionTimeout: 40000, ListenBacklog: -1,
	}
	if n.ensemble != nil {
		c.ServerID = 1
	}
	return c
}
func (n *fakeNode) ConfigurationText() string { return "tickTime=2000\nclientPort=2181\n" }
func (n *fakeNode) Connections() (plain, secure []facts.Connection) {
	return []facts.Connection{
		{Remote: "127.0.0.1:4001", Interest: 1, Outstanding: 2, Received: 12, Sent: 11,
			BoundSession: &facts.BoundSession{
				ID: 0x1000065c0230000, LastOperation: "GETC", Established: 1795239203112, TimeoutMs: 20000,
				LastCxid: 11, LastZxid: 5, LastResponse: 795211, AvgLatency: 1, MaxLatency: 7,
			}},
		{Remote: "[::1]:4002", Interest: 5},
	}, nil
}
func (n *fakeNode) ResetConnections() { n.resets = append(n.resets, "connections") }
func (n *fakeNode) ResetObservers()   { n.resets = append(n.resets, "observers") }
func (n *fakeNode) Stats() facts.Stats {
	s := facts.Stats{Version: n.Version(), ReadOnly: n.ReadOnly(), Server: facts.ServerStats{
		Sent: 14, Received: 15, Responses: facts.BufferSizes{Last: 16, Min: 16, Max: 202}, Uptime: 12199,
		State:      "standalone",
		AvgLatency: "1.4167", MaxLatency: 7, DataDirSize: 457, LogDirSize: 67108880, LastZxid: 5,
		Connections: 2, AuthFailed: 1,
	}, Responses: facts.BufferSizes{Last: 16, Min: 16, Max: 202}, Znodes: 9}
	if n.ensemble != nil {
		s.Proposals = &facts.BufferSizes{Last: -1, Min: -1, Max: -1}
	}
	return s
}
func (n *fakeNode) ResetStats() { n.resets = append(n.resets, "stats") }
func (n *fakeNode) Directories() facts.Directories {
	if n.entered != nil {
		n.entered <- struct{}{}
	}
	if n.blocked != nil {
		<-n.blocked
	}
	return facts.Directories{Data: 457, Log: 67108880}
}
func (n *fakeNode) SessionIDsOpen() bool { return n.idsOpen }
func (n *fakeNode) Dump() facts.Dump {
	return facts.Dump{Expiry: map[int64][]int64{2672000: {7, 9}},
		Ephemerals: map[int64][]string{7: {"/app/e", "/app/\"f\""}}}
}
func (n *fakeNode) Watches() []facts.Watch {
	return []facts.Watch{{Session: 7, Path: "/a"}, {Session: 7, Path: "/b"}, {Session: 9, Path: "/a"}}
}
func (n *fakeNode) WatchSummary() facts.WatchSummary {
	return facts.WatchSummary{Connections: 2, Paths: 2, Total: 3}
}
func (n *fakeNode) Top(by string, most int, all bool) facts.Top {
	sums := answers.TopSums{Requests: 3.5, Bytes: 200, Millis: 0.25}
	t := facts.Top{Enabled: true, By: by, WindowSeconds: 60, OneIn: 8, Total: sums, Operations: []answers.TopEntry{
		{Key: "getData", TopSums: answers.TopSums{Requests: 3, Bytes: 180, Millis: 0.2}},
		{Key: "exists", TopSums: answers.TopSums{Requests: 0.5, Bytes: 20, Millis: 0.05}}}}
	if all {
		t.Paths = []answers.TopEntry{{Key: "/a<b>", TopSums: sums}}
		t.Sessions = []answers.TopEntry{{Key: "0x1000065c0230000", TopSums: sums}}
		t.Addresses = []answers.TopEntry{{Key: "127.0.0.1", TopSums: sums}}
	}
	t.Operations = t.Operations[:min(most, 2)]
	return t
}
func (n *fakeNode) Slow(most int, all bool) facts.Slow {
	o := facts.SlowOperation{Began: 1795239203112, Operation: "setData", Zxid: "0x100000003", Millis: 812.5,
		Slowest: "sync",
		Stages:  answers.StageMillis{Queue: 0.5, Prepare: 2, Sync: 800, Quorum: 4, Apply: 5, Socket: 1}}
	if all {
		o.Path, o.Session, o.Trace = "/a<b>", "s-0123456789ab", "d0b7c0e9f74f5a01340087115450be2c"
	}
	return facts.Slow{ThresholdMs: 500, Found: 7, Operations: []facts.SlowOperation{o, o}[:min(most, 2)]}
}
func (n *fakeNode) Digests() []facts.Digest {
	return []facts.Digest{{Zxid: 128, Digest: 267004785625, Version: 2}, {Zxid: 256, Digest: -1, Version: 2}}
}
func (n *fakeNode) LastSnapshot() facts.LastSnapshot {
	return facts.LastSnapshot{Zxid: "100000003", Timestamp: 1795239203}
}
func (n *fakeNode) Authorize(c facts.Credentials) error {
	if n.authorize == nil {
		return nil
	}
	return n.authorize(c)
}
func (n *fakeNode) Snapshot(ctx context.Context) (*orders.Snapshot, error) {
	if n.snapshot == nil {
		return fileOf("snapshot bytes"), nil
	}
	return n.snapshot(ctx)
}
func (n *fakeNode) SnapshotRefused() { n.refused++ }
func (n *fakeNode) Restore(_ context.Context, r io.Reader) (int64, error) {
	if n.restore == nil {
		return 0, orders.ErrCannotRestore
	}
	return n.restore(r)
}
func (n *fakeNode) Draining() bool { return n.draining }

func (n *fakeNode) Stalled() time.Duration { return n.stalled }
func (n *fakeNode) RestoreRefused()        { n.refused++ }
func (n *fakeNode) InsecureConnection()    { n.insecure.Add(1) }

func fileOf(bytes string) *orders.Snapshot {
	return &orders.Snapshot{Zxid: 0x100000003, Size: int64(len(bytes)), Body: io.NopCloser(strings.NewReader(bytes))}
}

var errDisk = errors.New("disk on fire")

// member is a fakeNode that leads an ensemble.
func member() *fakeNode {
	peers, elections := []string{"10.0.0.1:2888"}, []string{"10.0.0.1:3888"}
	return &fakeNode{ensemble: &facts.Quorum{
		Leader: facts.Leader{IsLeader: true, ID: 1, IP: "10.0.0.1"},
		Voters: map[string]facts.ServerLine{"1": {ServerAddresses: peers, ElectionAddresses: elections,
			ClientAddress: "0.0.0.0:2181", LearnerType: "PARTICIPANT"}},
		Observers: facts.Observers{Synced: 1, Observers: []facts.Observer{{
			Remote: "10.0.0.4:5000", ID: 4, Established: 1795239203112, Received: 3, Sent: 4,
			LastProposedZxid: 0x100000003,
		}}},
		Zab: facts.ZabState{ZabMember: &facts.ZabMember{
			ID: 1, IsLeader: true, QuorumAddress: facts.Addresses{All: peers},
			ElectionAddress: facts.Addresses{All: elections}, ClientAddress: "0.0.0.0:2181",
			LastZxid: "0x100000003", Epoch: 1, Counter: 3,
		}, Voting: true, Phase: "broadcast"},
	}}
}
