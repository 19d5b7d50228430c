package admin

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"time"
)

// fakeNode is a Node that says the same every time, and notes what it was told.
type fakeNode struct {
	down      bool
	ensemble  *Ensemble
	mask      atomic.Int64
	resets    []string
	authorize func(Credentials) error
	snapshot  func(context.Context) (*Snapshot, error)
	restore   func(io.Reader) (int64, error)
	refused   int
	idsOpen   bool
	insecure  atomic.Int64
	draining  bool
	stalled   time.Duration
	blocked   chan struct{} // if not nil, Directories waits for it
	entered   chan struct{} // if not nil, Directories says that it runs
}

func (n *fakeNode) Serving() bool   { return !n.down }
func (n *fakeNode) Version() string { return "3.9.4-abc, built on 2026-01-01 00:00 UTC" }
func (n *fakeNode) Environment() Properties {
	return Properties{{"zookeeper.version", n.Version()}, {"host.name", "h"}, {"a", "<&> \"x\"\\"}}
}
func (n *fakeNode) SystemProperties() Properties {
	return Properties{{"os.name", "linux"}, {"zookeeper.admin.serverPort", "8081"}}
}
func (n *fakeNode) TraceMask() int64        { return n.mask.Load() }
func (n *fakeNode) SetTraceMask(mask int64) { n.mask.Store(mask) }
func (n *fakeNode) Monitor() Numbers {
	return Numbers{{"version", "3.9.4", true}, {"avg_latency", "0.25", false}, {"znode_count", "5", false},
		{"odd", "NaN", false}}
}
func (n *fakeNode) Ensemble() *Ensemble { return n.ensemble }
func (n *fakeNode) ReadOnly() bool      { return false }
func (n *fakeNode) Configuration() Configuration {
	c := Configuration{
		ClientPort: 2181, DataDir: "/d/version-2", DataLogDir: "/l/version-2", TickTimeMs: 2000, MaxClientCnxns: 60,
		MinSessionTimeout: 4000, MaxSessionTimeout: 40000, ListenBacklog: -1,
	}
	if n.ensemble != nil {
		c.ServerID = 1
		c.Membership = &Membership{InitLimit: 10, SyncLimit: 5, ElectionAlg: 3, ElectionPort: 3888, QuorumPort: 2888}
	}
	return c
}
func (n *fakeNode) ConfigurationText() string { return "tickTime=2000\nclientPort=2181\n" }
func (n *fakeNode) Connections() (plain, secure []Connection) {
	return []Connection{
		{Remote: "127.0.0.1:4001", Interest: 1, Outstanding: 2, Received: 12, Sent: 11, BoundSession: &BoundSession{
			ID: 0x1000065c0230000, LastOperation: "GETC", Established: 1795239203112, TimeoutMs: 20000, LastCxid: 11,
			LastZxid: 5, LastResponse: 795211, AvgLatency: 1, MaxLatency: 7,
		}},
		{Remote: "[::1]:4002", Interest: 5},
	}, nil
}
func (n *fakeNode) ResetConnections() { n.resets = append(n.resets, "connections") }
func (n *fakeNode) Stats() Stats {
	s := Stats{Version: n.Version(), ReadOnly: n.ReadOnly(), Server: ServerStats{
		Sent: 14, Received: 15, Responses: Sizes{16, 16, 202}, Uptime: 12199, State: "standalone",
		AvgLatency: "1.4167", MaxLatency: 7, DataDirSize: 457, LogDirSize: 67108880, LastZxid: 5,
		Connections: 2, AuthFailed: 1,
	}, Responses: Sizes{16, 16, 202}, Znodes: 9}
	if n.ensemble != nil {
		s.Proposals = &Sizes{-1, -1, -1}
	}
	return s
}
func (n *fakeNode) ResetStats() { n.resets = append(n.resets, "stats") }
func (n *fakeNode) Directories() Directories {
	if n.entered != nil {
		n.entered <- struct{}{}
	}
	if n.blocked != nil {
		<-n.blocked
	}
	return Directories{Data: 457, Log: 67108880}
}
func (n *fakeNode) SessionIDsOpen() bool { return n.idsOpen }
func (n *fakeNode) Sessions() Sessions {
	return Sessions{Expiry: map[int64][]int64{2672000: {7, 9}},
		Ephemerals: map[int64][]string{7: {"/app/e", "/app/\"f\""}}}
}
func (n *fakeNode) Watches() []Watch {
	return []Watch{{7, "/a"}, {7, "/b"}, {9, "/a"}}
}
func (n *fakeNode) WatchSummary() WatchSummary { return WatchSummary{2, 2, 3} }
func (n *fakeNode) Top(by string, most int, all bool) Top {
	t := Top{Enabled: true, By: by, WindowSeconds: 60, OneIn: 8, Total: TopSums{3.5, 200, 0.25},
		Operations: []TopEntry{{"getData", 3, 180, 0.2}, {"exists", 0.5, 20, 0.05}}}
	if all {
		t.Paths = []TopEntry{{"/a<b>", 3.5, 200, 0.25}}
		t.Sessions = []TopEntry{{"0x1000065c0230000", 3.5, 200, 0.25}}
		t.Addresses = []TopEntry{{"127.0.0.1", 3.5, 200, 0.25}}
	}
	t.Operations = t.Operations[:min(most, 2)]
	return t
}
func (n *fakeNode) Slow(most int, all bool) Slow {
	o := SlowOperation{Began: 1795239203112, Operation: "setData", Zxid: "0x100000003", Millis: 812.5, Slowest: "sync",
		Stages: StageMillis{Queue: 0.5, Prepare: 2, Sync: 800, Quorum: 4, Apply: 5, Socket: 1}}
	if all {
		o.Path, o.Session, o.Trace = "/a<b>", "s-0123456789ab", "d0b7c0e9f74f5a01340087115450be2c"
	}
	return Slow{ThresholdMs: 500, Found: 7, Operations: []SlowOperation{o, o}[:min(most, 2)]}
}
func (n *fakeNode) Digests() []Digest          { return []Digest{{128, 267004785625, 2}, {256, -1, 2}} }
func (n *fakeNode) LastSnapshot() LastSnapshot { return LastSnapshot{"100000003", 1795239203} }
func (n *fakeNode) Authorize(c Credentials) error {
	if n.authorize == nil {
		return nil
	}
	return n.authorize(c)
}
func (n *fakeNode) Snapshot(ctx context.Context) (*Snapshot, error) {
	if n.snapshot == nil {
		return fileOf("snapshot bytes"), nil
	}
	return n.snapshot(ctx)
}
func (n *fakeNode) SnapshotRefused() { n.refused++ }
func (n *fakeNode) Restore(_ context.Context, r io.Reader) (int64, error) {
	if n.restore == nil {
		return 0, ErrCannotRestore
	}
	return n.restore(r)
}
func (n *fakeNode) Draining() bool { return n.draining }

func (n *fakeNode) Stalled() time.Duration { return n.stalled }
func (n *fakeNode) RestoreRefused()        { n.refused++ }
func (n *fakeNode) InsecureConnection()    { n.insecure.Add(1) }

func fileOf(bytes string) *Snapshot {
	return &Snapshot{Zxid: 0x100000003, Size: int64(len(bytes)), Body: io.NopCloser(strings.NewReader(bytes))}
}

var errDisk = errors.New("disk on fire")

// member is a fakeNode that leads an ensemble.
func member() *fakeNode {
	return &fakeNode{ensemble: &Ensemble{
		Leader: Leader{true, 1, "10.0.0.1"},
		Voters: map[string]Member{"1": {[]string{"10.0.0.1:2888"}, []string{"10.0.0.1:3888"},
			"0.0.0.0:2181", "PARTICIPANT"}},
		Observers: Observers{1, []Observer{{
			Remote: "10.0.0.4:5000", ID: 4, Established: 1795239203112, Received: 3, Sent: 4,
			LastProposedZxid: 0x100000003,
		}}},
		Zab: ZabState{&ZabMember{
			ID: 1, IsLeader: true, QuorumAddress: Addresses{[]string{"10.0.0.1:2888"}},
			ElectionAddress: Addresses{[]string{"10.0.0.1:3888"}}, ClientAddress: "0.0.0.0:2181",
			LastZxid: "0x100000003", Epoch: 1, Counter: 3,
		}, true, "broadcast"},
	}}
}
