package words

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/admin"
	"github.com/seed94657493/warren/server/internal/audit"
	"github.com/seed94657493/warren/server/internal/figures"
	"github.com/seed94657493/warren/server/internal/serve"
	"github.com/seed94657493/warren/server/internal/sessions"
)

// AdminNode is a server as the admin commands see it. Some methods of the interface require a serving server. They
// read fields that Start has set before Serving became true, and that stay until the end of the process.
type AdminNode struct{ *Reporter }

var _ admin.Node = AdminNode{}

// traceMaskDefault is ZooKeeper's default: requests, server packets, sessions and warnings. Source: operations 7.2.
const traceMaskDefault = 306

// everyPerm holds every permission.
var everyPerm = []int32{proto.PermRead, proto.PermWrite, proto.PermCreate, proto.PermDelete, proto.PermAdmin}

func isUserAndPassword(auth string) bool { return strings.Contains(auth, ":") }

func (n AdminNode) Serving() bool           { return n.Doors.IsOpen() }
func (n AdminNode) TraceMask() int64        { return n.traceMask.Load() }
func (n AdminNode) SetTraceMask(mask int64) { n.traceMask.Store(mask) }
func (n AdminNode) ReadOnly() bool          { return n.Env.ReadOnly.Load() }

// Draining implements admin.Node.
func (n AdminNode) Draining() bool {
	_, on := n.front.Draining()
	return on
}

// Stalled implements admin.Node.
func (n AdminNode) Stalled() time.Duration { return n.liveness.Stalled() }

// Ensemble implements admin.Node. It is nil on a standalone server, and on a read-only server, which has lost its
// ensemble.
func (n AdminNode) Ensemble() *admin.Ensemble {
	if r, ok := n.Role(); ok && !r.ReadOnly {
		return n.ensemble(&r)
	}
	return nil
}

func (n AdminNode) Environment() (all admin.Properties) {
	n.environment(func(key string, value any) {
		all = append(all, admin.Property{Name: key, Value: fmt.Sprint(value)})
	})
	return all
}

func (n AdminNode) SystemProperties() (all admin.Properties) {
	wd, _ := os.Getwd()
	home, _ := os.UserHomeDir()
	all = admin.Properties{
		{Name: "os.arch", Value: runtime.GOARCH}, {Name: "os.name", Value: runtime.GOOS},
		{Name: "os.version", Value: kernelVersion()}, {Name: "user.dir", Value: wd},
		{Name: "user.home", Value: home}, {Name: "user.name", Value: audit.ProcessUser()},
	}
	for _, p := range n.Config.Properties() {
		all = append(all, admin.Property(p))
	}
	return all
}

func (n AdminNode) Monitor() (all admin.Numbers) {
	line := func(key, value string) {
		text := key == "version" || strings.HasSuffix(key, "_state")
		all = append(all, admin.Number{Name: key, Value: value, Text: text})
	}
	if n.Serving() {
		n.Numbers(line)
		return all
	}
	open, most := fileDescriptors()
	line("version", n.Env.Version)
	line("server_state", n.host.Mode())
	line("uptime", strconv.FormatInt(time.Since(n.Began).Milliseconds(), 10))
	line("open_file_descriptor_count", strconv.FormatInt(open, 10))
	line("max_file_descriptor_count", strconv.FormatInt(most, 10))
	return all
}

func (n AdminNode) Configuration() admin.Configuration {
	plain, _ := n.front.PortNumbers()
	return admin.Configuration{
		ClientPort: plain, DataDir: absolute(n.SnapDir()), DataLogDir: absolute(n.LogDir()),
		TickTimeMs: n.Config.TickTime.Milliseconds(), MaxClientCnxns: n.Config.MaxClientCnxns,
		MinSessionTimeout: n.Config.MinSessionTimeout.Milliseconds(),
		MaxSessionTimeout: n.Config.MaxSessionTimeout.Milliseconds(),
		ListenBacklog:     n.Config.ListenBacklog,
	}
}

func (n AdminNode) ConfigurationText() string { return n.Config.MaskedText() }

// Connections implements admin.Node.
func (n AdminNode) Connections() (plain, secure []admin.Connection) {
	for _, c := range n.front.SortedConns() {
		if c.SecurePort {
			secure = append(secure, factsOf(c))
		} else {
			plain = append(plain, factsOf(c))
		}
	}
	return plain, secure
}

// factsOf is a connection in the form of the command connections, and of the words cons and stat.
func factsOf(c *serve.Conn) admin.Connection {
	v := c.View()
	st := &v.Stats
	f := admin.Connection{Remote: c.Remote.String(), Interest: 1, Outstanding: v.Queued, Received: st.Received,
		Sent: st.Sent}
	if v.Unsent > 0 {
		f.Interest = 5
	}
	s := c.Session.Load()
	if s == nil {
		return f
	}
	f.BoundSession = &admin.BoundSession{
		ID: int64(s.ID), LastOperation: opWord(st.LastOp, st.AnsweredTotal), Established: c.Established.UnixMilli(),
		TimeoutMs: s.TimeoutMs(), LastCxid: st.LastXid, LastZxid: int64(st.LastZxid),
		LastResponse: figures.Ms(st.LastResponse),
		LastLatency:  st.LastLatency, MinLatency: st.MinLatency,
		AvgLatency: st.LatencySum / max(st.AnsweredTotal, 1), MaxLatency: st.MaxLatency,
	}
	return f
}

func (n AdminNode) ResetConnections() { n.front.ResetConnections() }

func (n AdminNode) ResetStats() { n.resetStats() }

// sizesOf are sizes in the form of the admin commands.
func sizesOf(s *figures.Sizes) admin.Sizes {
	last, least, most := s.View()
	return admin.Sizes{Last: last, Min: least, Max: most}
}

func (n AdminNode) Stats() admin.Stats {
	responses := sizesOf(&n.Env.Stats.Responses)
	var proposals *admin.Sizes
	if role, ok := n.Role(); ok && role.Leading {
		of := sizesOf(&n.Metrics.Quorum.ProposalSize)
		proposals = &of
	}
	least, mean, most := n.Env.Stats.Latency()
	snaps, logs := n.dirSizes()
	n.Store.Mu.RLock()
	znodes := n.Store.State.NumNodes() + 1 // ZooKeeper counts the root twice
	n.Store.Mu.RUnlock()
	return admin.Stats{
		Version: n.Env.Version, ReadOnly: n.ReadOnly(),
		Server: admin.ServerStats{
			Sent: n.front.PacketsSent(), Received: n.Env.Stats.Received.Load(), SlowSyncs: n.Metrics.SlowSyncs.Total(),
			Responses: responses, Uptime: time.Since(n.Began).Milliseconds(), State: n.host.Mode(),
			Outstanding: n.InProcess.Load(), MinLatency: least, AvgLatency: json.Number(figures.Decimal(mean)),
			MaxLatency: most, DataDirSize: snaps, LogDirSize: logs, LastZxid: int64(n.Store.LastZxid()),
			Connections: n.front.Conns.Len(),
			AuthFailed:  n.Metrics.AuthFailed.Total(), NonMTLSRemote: n.Metrics.PlainRemote.Total(),
			NonMTLSLocalConn: n.Metrics.PlainLocal.Total(),
		},
		Responses: responses, Proposals: proposals, Znodes: znodes,
	}
}

func (n AdminNode) Directories() admin.Directories {
	snaps, logs := n.dirSizes()
	return admin.Directories{Data: snaps, Log: logs}
}

func (n AdminNode) SessionIDsOpen() bool { return n.front.SessionIDsOpen() }

func (n AdminNode) Sessions() admin.Sessions {
	d := admin.Sessions{Expiry: map[int64][]int64{}, Ephemerals: map[int64][]string{}}
	for at, ids := range n.Tracker.Expiries(func(*sessions.Session) bool { return true }) {
		ms := figures.Ms(at)
		for _, id := range ids {
			d.Expiry[ms] = append(d.Expiry[ms], int64(id))
		}
	}
	n.Store.Mu.RLock()
	defer n.Store.Mu.RUnlock()
	state := n.Store.State
	state.EachSession(func(id proto.SessionID, _ int32) {
		state.EachEphemeral(id, func(node datatree.NodeID) {
			d.Ephemerals[int64(id)] = append(d.Ephemerals[int64(id)], string(state.AppendPath(nil, node)))
		})
	})
	return d
}

func (n AdminNode) Digests() (all []admin.Digest) {
	for _, d := range n.Env.Digests.List() {
		all = append(all, admin.Digest{Zxid: int64(d.Zxid), Digest: d.Digest, Version: proto.DigestVersion})
	}
	return all
}

func (n AdminNode) LastSnapshot() admin.LastSnapshot {
	all, err := n.disk.Snaps.List()
	if err != nil || len(all) == 0 {
		return admin.NoSnapshot
	}
	last := admin.LastSnapshot{Zxid: strconv.FormatUint(uint64(all[0].Zxid), 16), Timestamp: -1}
	if info, err := n.FS.Stat(filepath.Join(n.SnapDir(), all[0].Name)); err == nil {
		last.Timestamp = info.ModTime().Unix()
	}
	return last
}

func (n AdminNode) Authorize(c admin.Credentials) error {
	guesses := c.Scheme == auth.SchemeDigest
	if guesses && !n.front.Guesses.Has(c.Remote, n.Runtime.Now()) {
		n.Metrics.AuthFailed.Inc()
		return admin.ErrTooManyGuesses
	}
	ids, ok := n.identities(c)
	switch {
	case !ok:
		n.Metrics.AuthFailed.Inc()
		return admin.ErrNotAuthenticated
	case n.ownsRoot(ids):
		return nil
	case guesses && !n.isNamed(ids):
		n.front.Guesses.Fail(c.Remote, n.Runtime.Now())
	}
	return admin.ErrNotAuthorized
}

func (n AdminNode) Snapshot(ctx context.Context) (*admin.Snapshot, error) {
	d := n.disk.Snapshotter.Order(ctx)
	if d.Err != nil {
		return nil, d.Err
	}
	return &admin.Snapshot{Zxid: int64(d.Meta.Zxid), Size: d.Meta.Size, Body: d.File}, nil
}

func (n AdminNode) SnapshotRefused() { n.Metrics.SnapshotRefused.Inc() }
