package server

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/admin"
	"github.com/seed94657493/warren/server/internal/figures"
	"github.com/seed94657493/warren/server/internal/sessions"
)

// adminNode is a Server as the admin commands see it. What the interface asks of a serving server touches fields that
// Start has set before serving became true; they stay until the end of the process.
type adminNode struct{ *monitor }

var _ admin.Node = adminNode{}

// traceMaskDefault is ZooKeeper's: requests, server packets, sessions and warnings. Source: operations 7.2.
const traceMaskDefault = 306

// everyPerm is the permissions one by one.
var everyPerm = []int32{proto.PermRead, proto.PermWrite, proto.PermCreate, proto.PermDelete, proto.PermAdmin}

func isUserAndPassword(auth string) bool { return strings.Contains(auth, ":") }

func (n adminNode) Serving() bool           { return n.serving.Load() }
func (n adminNode) Version() string         { return n.version }
func (n adminNode) TraceMask() int64        { return n.traceMask.Load() }
func (n adminNode) SetTraceMask(mask int64) { n.traceMask.Store(mask) }
func (n adminNode) ReadOnly() bool          { return n.readOnly.Load() }

// Ensemble implements admin.Node: a standalone server is in none, and a read-only one has lost it.
func (n adminNode) Ensemble() *admin.Ensemble {
	if r, ok := n.role(); ok {
		return r.Ensemble
	}
	return nil
}

// ResetObservers implements admin.Node: a standalone server has none.
func (n adminNode) ResetObservers() {}

func (n adminNode) Environment() (all []admin.Property) {
	n.environment(func(key string, value any) { all = append(all, admin.Property{Name: key, Value: fmt.Sprint(value)}) })
	return all
}

func (n adminNode) SystemProperties() (all []admin.Property) {
	wd, _ := os.Getwd()
	home, _ := os.UserHomeDir()
	all = append(all, admin.Property{Name: "os.arch", Value: runtime.GOARCH}, admin.Property{Name: "os.name", Value: runtime.GOOS},
		admin.Property{Name: "os.version", Value: kernelVersion()}, admin.Property{Name: "user.dir", Value: wd},
		admin.Property{Name: "user.home", Value: home}, admin.Property{Name: "user.name", Value: os.Getenv("USER")})
	for _, p := range n.cfg.Properties() {
		all = append(all, admin.Property(p))
	}
	return all
}

func (n adminNode) Monitor() (all []admin.Number) {
	line := func(key, value string) {
		text := key == "version" || strings.HasSuffix(key, "_state")
		all = append(all, admin.Number{Name: key, Value: value, Text: text})
	}
	if n.Serving() {
		n.numbers(line)
		return all
	}
	open, most := fileDescriptors()
	line("version", n.version)
	line("server_state", n.host.mode())
	line("uptime", strconv.FormatInt(time.Since(n.began).Milliseconds(), 10))
	line("open_file_descriptor_count", strconv.FormatInt(open, 10))
	line("max_file_descriptor_count", strconv.FormatInt(most, 10))
	return all
}

func (n adminNode) Configuration() admin.Configuration {
	plain, _ := n.front.portNumbers()
	return admin.Configuration{
		ClientPort: plain, DataDir: absolute(n.snapDir()), DataLogDir: absolute(n.logDir()),
		TickTimeMs: n.cfg.TickTime.Milliseconds(), MaxClientCnxns: n.cfg.MaxClientCnxns,
		MinSessionTimeout: n.cfg.MinSessionTimeout.Milliseconds(), MaxSessionTimeout: n.cfg.MaxSessionTimeout.Milliseconds(),
		ListenBacklog: n.cfg.ListenBacklog,
	}
}

func (n adminNode) ConfigurationText() string { return n.cfg.MaskedText() }

// Connections implements admin.Node.
func (n adminNode) Connections() (plain, secure []admin.Connection) {
	for _, c := range n.front.sortedConns() {
		if c.securePort {
			secure = append(secure, factsOf(c))
		} else {
			plain = append(plain, factsOf(c))
		}
	}
	return plain, secure
}

// facts is the connection as the command connections shows it, and as cons and stat do.
func factsOf(c *conn) admin.Connection {
	v := c.view()
	st := &v.stats
	f := admin.Connection{Remote: c.remote.String(), Interest: 1, Outstanding: v.queued, Received: st.Received, Sent: st.Sent}
	if v.pending {
		f.Interest = 5
	}
	s := v.session
	if s == nil {
		return f
	}
	f.BoundSession = &admin.BoundSession{
		ID: int64(s.ID), LastOperation: opWord(st.LastOp, st.AnsweredTotal), Established: c.established.UnixMilli(),
		TimeoutMs: s.TimeoutMs(), LastCxid: st.LastXid, LastZxid: int64(st.LastZxid),
		LastResponse: figures.Ms(st.LastResponse),
		LastLatency:  st.LastLatency, MinLatency: st.MinLatency,
		AvgLatency: st.LatencySum / max(st.AnsweredTotal, 1), MaxLatency: st.MaxLatency,
	}
	return f
}

func (n adminNode) ResetConnections() { n.front.resetConnections() }

func (n adminNode) ResetStats() { n.resetStats() }

// sizesOf is sizes as the admin commands show them.
func sizesOf(s *figures.Sizes) admin.Sizes {
	last, least, most := s.View()
	return admin.Sizes{Last: last, Min: least, Max: most}
}

func (n adminNode) Stats() admin.Stats {
	responses := sizesOf(&n.stats.Responses)
	var proposals *admin.Sizes
	if role, ok := n.role(); ok && role.Leading {
		of := sizesOf(&n.metrics.quorum.ProposalSize)
		proposals = &of
	}
	least, mean, most := n.stats.Latency()
	snaps, logs := n.dirSizes()
	n.store.mu.RLock()
	znodes := n.store.state.NumNodes() + 1 // ZooKeeper counts the root twice
	n.store.mu.RUnlock()
	return admin.Stats{
		Server: admin.ServerStats{
			Sent: n.front.packetsSent(), Received: n.stats.Received.Load(), SlowSyncs: n.metrics.slowSyncs.Total(),
			Responses: responses, Uptime: time.Since(n.began).Milliseconds(), State: n.host.mode(),
			Outstanding: n.inProcess.Load(), MinLatency: least, AvgLatency: admin.Decimal(mean), MaxLatency: most,
			DataDirSize: snaps, LogDirSize: logs, LastZxid: int64(n.store.lastZxid()), Connections: n.front.conns.len(),
			AuthFailed: n.metrics.authFailed.Total(), NonMTLSRemote: n.metrics.plainRemote.Total(),
			NonMTLSLocalConn: n.metrics.plainLocal.Total(),
		},
		Responses: responses, Proposals: proposals, Znodes: znodes,
	}
}

func (n adminNode) Directories() admin.Directories {
	snaps, logs := n.dirSizes()
	return admin.Directories{Data: snaps, Log: logs}
}

func (n adminNode) Sessions() admin.Sessions {
	d := admin.Sessions{Expiry: map[int64][]int64{}, Ephemerals: map[int64][]string{}}
	for at, ids := range n.tracker.Expiries(func(*sessions.Session) bool { return true }) {
		ms := figures.Ms(at)
		for _, id := range ids {
			d.Expiry[ms] = append(d.Expiry[ms], int64(id))
		}
	}
	n.store.mu.RLock()
	defer n.store.mu.RUnlock()
	state := n.store.state
	state.EachSession(func(id proto.SessionID, _ int32) {
		state.EachEphemeral(id, func(node datatree.NodeID) {
			d.Ephemerals[int64(id)] = append(d.Ephemerals[int64(id)], string(state.AppendPath(nil, node)))
		})
	})
	return d
}

func (n adminNode) Watches() []admin.Watch {
	pairs := n.dataWatches()
	all := make([]admin.Watch, len(pairs))
	for i, p := range pairs {
		all[i] = admin.Watch{Session: int64(p.session), Path: p.path}
	}
	return all
}

func (n adminNode) WatchSummary() admin.WatchSummary {
	n.store.mu.RLock()
	defer n.store.mu.RUnlock()
	n.store.watchMu.Lock()
	defer n.store.watchMu.Unlock()
	watchers, paths, total := n.store.watches.CountData()
	return admin.WatchSummary{Connections: watchers, Paths: paths, Total: total}
}

func (n adminNode) Digests() (all []admin.Digest) {
	for _, d := range n.digests.List() {
		all = append(all, admin.Digest{Zxid: int64(d.Zxid), Digest: d.Digest, Version: proto.DigestVersion})
	}
	return all
}

func (n adminNode) LastSnapshot() admin.LastSnapshot {
	all, err := n.disk.snaps.List()
	if err != nil || len(all) == 0 {
		return admin.NoSnapshot
	}
	last := admin.LastSnapshot{Zxid: strconv.FormatUint(uint64(all[0].Zxid), 16), Timestamp: -1}
	if info, err := n.fs.Stat(filepath.Join(n.snapDir(), all[0].Name)); err == nil {
		last.Timestamp = info.ModTime().Unix()
	}
	return last
}

func (n adminNode) Authorize(c admin.Credentials) error {
	ids, ok := n.identities(c)
	switch {
	case !ok:
		n.metrics.authFailed.Inc()
		return admin.ErrNotAuthenticated
	case !n.ownsRoot(ids):
		return admin.ErrNotAuthorized
	}
	return nil
}

func (n adminNode) Snapshot(ctx context.Context) (*admin.Snapshot, error) {
	d := n.disk.snapshotter.order(ctx)
	if d.err != nil {
		return nil, d.err
	}
	return &admin.Snapshot{Zxid: int64(d.meta.Zxid), Size: d.meta.Size, Body: d.file}, nil
}

func (n adminNode) SnapshotRefused() { n.metrics.snapshotRefused.Inc() }
