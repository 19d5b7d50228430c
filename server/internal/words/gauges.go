package words

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/quota"
	"github.com/seed94657493/warren/server/internal/figures"
	"github.com/seed94657493/warren/server/internal/serve"
)

// gauges are the numbers that mntr prints and the exporter exports, by ZooKeeper's names. Source: operations 2.3
// and 4.4.
func (s *Reporter) gauges() []gauge {
	least, mean, most := s.Stats.Latency()
	openFDs, maxFDs := fileDescriptors()
	s.Store.Mu.RLock()
	state := s.Store.State
	nodes, ephemerals, size, sessions := state.NumNodes()+1, state.NumEphemerals(), state.DataSize(),
		state.NumSessions()
	s.front.Watchers.Mu.Lock()
	_, _, watches := s.front.Watchers.Registry.Count()
	s.front.Watchers.Mu.Unlock()
	s.Store.Mu.RUnlock()
	lastSize, leastSize, mostSize := s.Stats.Responses.View()
	all := []gauge{
		{"avg_latency", mean, true, "Mean latency of all requests, ms."},
		{"max_latency", float64(most), false, "Largest latency of a request, ms."},
		{"min_latency", float64(least), false, "Least latency of a request, ms."},
		{"packets_received", float64(s.Stats.Received.Load()), false, "Frames received from clients."},
		{"packets_sent", float64(s.front.PacketsSent()), false, "Frames sent to clients."},
		{"num_alive_connections", float64(s.front.Conns.Len()), false, "Open client connections."},
		{"outstanding_requests", float64(s.InProcess.Load()), false, "Requests received and not answered."},
		{"uptime", float64(time.Since(s.Began).Milliseconds()), false, "Time since the server began, ms."},
		{"znode_count", float64(nodes), false, "Znodes in the tree."},
		{"watch_count", float64(watches), false, "Watches, data and child."},
		{"ephemerals_count", float64(ephemerals), false, "Znodes that belong to sessions."},
		{"approximate_data_size", float64(size), false, "Bytes of all paths and data."},
		{"global_sessions", float64(sessions), false, "Sessions of the ensemble."},
		{"local_sessions", float64(s.Tracker.Locals()), false, "Sessions that only this server knows."},
		{"open_file_descriptor_count", float64(openFDs), false, "Open file descriptors."},
		{"max_file_descriptor_count", float64(maxFDs), false, "Limit of open file descriptors."},
		{"connection_drop_probability", s.front.Throttle.DropProbability(), true,
			"Share of new connections that are dropped."},
		{"last_client_response_size", float64(lastSize), false,
			"Size of the last reply in bytes, -1 before the first."},
		{"max_client_response_size", float64(mostSize), false,
			"Size of the largest reply in bytes, -1 before the first."},
		{"min_client_response_size", float64(leastSize), false,
			"Size of the smallest reply in bytes, -1 before the first."},
		{"outstanding_tls_handshake", float64(s.Metrics.TlsUnfinished.Load()), false,
			"TLS handshakes that have begun and not ended."},
		{"auth_failed_count", float64(s.Metrics.AuthFailed.Total()), false, "Credentials refused."},
		{"non_mtls_remote_conn_count", float64(s.Metrics.PlainRemote.Total()), false,
			"Connections without TLS from other hosts, ever."},
		{"non_mtls_local_conn_count", float64(s.Metrics.PlainLocal.Total()), false,
			"Connections without TLS from this host, ever."},
	}
	return append(all, s.RoleGauges()...)
}

// gauge is one number that goes up and down.
type gauge struct {
	Name    string
	value   float64
	decimal bool // printed with a decimal point
	help    string
}

func (s *Reporter) wordMntr(_ *serve.Conn, out *bytes.Buffer) {
	s.Numbers(func(key, value string) { fmt.Fprintf(out, "zk_%s\t%s\n", key, value) })
}

// Numbers calls line for each line of mntr, without the prefix.
func (s *Reporter) Numbers(line func(key, value string)) {
	line("version", s.Version)
	line("server_state", s.host.Mode())
	if r, ok := s.Role(); ok {
		line("peer_state", r.Peer)
		if r.Observing {
			line("observer_master_id", fmt.Sprint(r.ObserverMaster))
		}
	}
	for _, g := range s.gauges() {
		line(g.Name, g.Text())
	}
	for _, q := range s.Quotas() {
		for _, g := range q.gauges() {
			line(figures.PlainKey(q.Namespace)+"_"+g.Name, g.Text())
		}
	}
	s.Metrics.Pauses.Refresh()
	s.Stats.Lines(line)
}

// Text is the value as mntr prints it.
func (g gauge) Text() string {
	if g.decimal {
		return figures.Decimal(g.value)
	}
	return fmt.Sprintf("%.0f", g.value)
}

// RoleGauges are the numbers of the role of an ensemble member. A standalone server has none.
func (s *Reporter) RoleGauges() []gauge {
	r, ok := s.Role()
	if !ok {
		return nil
	}
	q := s.Metrics.Quorum
	all := []gauge{{"quorum_size", float64(r.Size), false, "Voters of the current configuration."}}
	if r.Leading {
		last, least, most := q.ProposalSize.View()
		all = append(all,
			gauge{"learners", float64(r.Learners), false, "Learners that are connected to this leader."},
			gauge{"synced_followers", float64(r.SyncedFollowers), false, "Followers that are up to date."},
			gauge{"synced_non_voting_followers", float64(r.NonVoting), false,
				"Followers that are up to date and not in the configuration."},
			gauge{"pending_syncs", float64(r.PendingSyncs), false, "Requests sync that wait for an answer."},
			gauge{"leader_uptime", float64(r.LeaderUptime.Milliseconds()), false,
				"Time since this server began to lead, ms."},
			gauge{"last_proposal_size", float64(last), false,
				"Size of the last proposal in bytes, -1 before the first."},
			gauge{"min_proposal_size", float64(least), false,
				"Size of the smallest proposal in bytes, -1 before the first."},
			gauge{"max_proposal_size", float64(most), false,
				"Size of the largest proposal in bytes, -1 before the first."})
	}
	if r.Leading || r.Following {
		all = append(all, gauge{"synced_observers", float64(r.SyncedObservers), false,
			"Observers that learn from this server and are up to date."})
	}
	return all
}

// QuotaUse is the sum of the limits and of the use of all quotas below one top-level znode. Source: operations 2.3,
// server-semantics 8.1.
type QuotaUse struct {
	Namespace             string
	Limited               bool // it has a limits node
	Used                  bool // it has a stats node
	CountLimit, ByteLimit int64
	CountUse, ByteUse     int64
}

// quotasMax bounds how many quotas are read for one scrape.
const quotasMax = 10_000

// Quotas are the quotas of the tree, by namespace.
func (s *Reporter) Quotas() []*QuotaUse {
	s.Store.Mu.RLock()
	defer s.Store.Mu.RUnlock()
	state := s.Store.State
	root := state.Lookup([]byte(quota.Root))
	if root == 0 {
		return nil
	}
	all := map[string]*QuotaUse{}
	seen := 0
	state.EachChild(root, func(top datatree.NodeID) bool {
		use := &QuotaUse{Namespace: string(state.Name(top))}
		use.gather(state, top, &seen)
		if use.Limited || use.Used {
			all[use.Namespace] = use
		}
		return seen < quotasMax
	})
	sorted := make([]*QuotaUse, 0, len(all))
	for _, use := range all {
		sorted = append(sorted, use)
	}
	slices.SortFunc(sorted, func(a, b *QuotaUse) int { return strings.Compare(a.Namespace, b.Namespace) })
	return sorted
}

// gather adds the quotas at and below a znode of the quota tree.
func (q *QuotaUse) gather(state *datatree.State, id datatree.NodeID, seen *int) {
	state.EachChild(id, func(child datatree.NodeID) bool {
		if *seen++; *seen > quotasMax {
			return false
		}
		switch name := state.Name(child); string(name) {
		case quota.LimitsName:
			count, size := quota.Parse(state.Data(child)).Effective()
			q.Limited, q.CountLimit, q.ByteLimit = true, q.CountLimit+count, q.ByteLimit+size
		case quota.StatsName:
			used := quota.Parse(state.Data(child))
			q.Used, q.CountUse, q.ByteUse = true, q.CountUse+used.Count, q.ByteUse+used.Bytes
		default:
			q.gather(state, child, seen)
		}
		return true
	})
}

func (q *QuotaUse) gauges() (all []gauge) {
	if q.Limited {
		all = append(all,
			gauge{"quota_count_limit_per_namespace", float64(q.CountLimit), false,
				"Znodes that quotas allow, by the first element of the path."},
			gauge{"quota_bytes_limit_per_namespace", float64(q.ByteLimit), false,
				"Bytes that quotas allow, by the first element of the path."})
	}
	if q.Used {
		all = append(all,
			gauge{"quota_count_usage_per_namespace", float64(q.CountUse), false,
				"Znodes under quotas, by the first element of the path."},
			gauge{"quota_bytes_usage_per_namespace", float64(q.ByteUse), false,
				"Bytes under quotas, by the first element of the path."})
	}
	return all
}
