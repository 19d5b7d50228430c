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
	s.Store.Mu.RUnlock()
	watches := s.front.CountWatches()
	lastSize, leastSize, mostSize := s.Stats.Responses.View()
	all := []gauge{
		{"avg_latency", mean, true, "Mean latency of all requests, ms."},
		whole("max_latency", most, "Largest latency of a request, ms."),
		whole("min_latency", least, "Least latency of a request, ms."),
		whole("packets_received", s.Stats.Received.Load(), "Frames received from clients."),
		whole("packets_sent", s.front.PacketsSent(), "Frames sent to clients."),
		whole("num_alive_connections", s.front.Conns.Len(), "Open client connections."),
		whole("outstanding_requests", s.InProcess.Load(), "Requests received and not answered."),
		whole("uptime", time.Since(s.Began).Milliseconds(), "Time since the server began, ms."),
		whole("znode_count", nodes, "Znodes in the tree."),
		whole("watch_count", watches, "Watches, data and child."),
		whole("ephemerals_count", ephemerals, "Znodes that belong to sessions."),
		whole("approximate_data_size", size, "Bytes of all paths and data."),
		whole("global_sessions", sessions, "Sessions of the ensemble."),
		whole("local_sessions", s.Tracker.Locals(), "Sessions that only this server knows."),
		whole("open_file_descriptor_count", openFDs, "Open file descriptors."),
		whole("max_file_descriptor_count", maxFDs, "Limit of open file descriptors."),
		{"connection_drop_probability", s.front.Throttle.DropProbability(), true,
			"Share of new connections that are dropped."},
		whole("last_client_response_size", lastSize, "Size of the last reply in bytes, -1 before the first."),
		whole("max_client_response_size", mostSize, "Size of the largest reply in bytes, -1 before the first."),
		whole("min_client_response_size", leastSize, "Size of the smallest reply in bytes, -1 before the first."),
		whole("outstanding_tls_handshake", s.Metrics.TlsUnfinished.Load(),
			"TLS handshakes that have begun and not ended."),
		whole("auth_failed_count", s.Metrics.AuthFailed.Total(), "Credentials refused."),
		whole("non_mtls_remote_conn_count", s.Metrics.PlainRemote.Total(),
			"Connections without TLS from other hosts, ever."),
		whole("non_mtls_local_conn_count", s.Metrics.PlainLocal.Total(),
			"Connections without TLS from this host, ever."),
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

func whole[T int | int64](name string, value T, help string) gauge {
	return gauge{Name: name, value: float64(value), help: help}
}

func (s *Reporter) wordMntr(_ asker, out *bytes.Buffer) {
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
	all := []gauge{whole("quorum_size", r.Size, "Voters of the current configuration.")}
	if r.Leading {
		last, least, most := q.ProposalSize.View()
		all = append(all,
			whole("learners", r.Learners, "Learners that are connected to this leader."),
			whole("synced_followers", r.SyncedFollowers, "Followers that are up to date."),
			whole("synced_non_voting_followers", r.NonVoting,
				"Followers that are up to date and not in the configuration."),
			whole("pending_syncs", r.PendingSyncs, "Requests sync that wait for an answer."),
			whole("leader_uptime", r.LeaderUptime.Milliseconds(), "Time since this server began to lead, ms."),
			whole("last_proposal_size", last, "Size of the last proposal in bytes, -1 before the first."),
			whole("min_proposal_size", least, "Size of the smallest proposal in bytes, -1 before the first."),
			whole("max_proposal_size", most, "Size of the largest proposal in bytes, -1 before the first."))
	}
	if r.Leading || r.Following {
		all = append(all,
			whole("synced_observers", r.SyncedObservers, "Observers that learn from this server and are up to date."))
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
			whole("quota_count_limit_per_namespace", q.CountLimit,
				"Znodes that quotas allow, by the first element of the path."),
			whole("quota_bytes_limit_per_namespace", q.ByteLimit,
				"Bytes that quotas allow, by the first element of the path."))
	}
	if q.Used {
		all = append(all,
			whole("quota_count_usage_per_namespace", q.CountUse,
				"Znodes under quotas, by the first element of the path."),
			whole("quota_bytes_usage_per_namespace", q.ByteUse,
				"Bytes under quotas, by the first element of the path."))
	}
	return all
}
