package facts

import (
	"fmt"
	"time"

	"github.com/seed94657493/warren/server/internal/figures"
)

// Gauge is one number that goes up and down, by ZooKeeper's name.
type Gauge struct {
	Name      string
	Value     float64
	Help      string
	Namespace string // of a quota: the top-level znode; empty for other gauges
	decimal   bool   // mntr prints it with a decimal point
	unlisted  bool   // mntr leaves it out, the exporter does not
}

func whole[T int | int64](name string, value T, help string) Gauge {
	return Gauge{Name: name, Value: float64(value), Help: help}
}

// line is the gauge as mntr prints it.
func (g *Gauge) line() (key, value string) {
	if key = g.Name; g.Namespace != "" {
		key = figures.PlainKey(g.Namespace) + "_" + key
	}
	if g.decimal {
		return key, figures.Decimal(g.Value)
	}
	return key, fmt.Sprintf("%.0f", g.Value)
}

// gauges are the numbers of the server, without those of quotas, whose names are parts of paths.
func (f *Facts) gauges() []Gauge {
	least, mean, most := f.Env.Stats.Latency()
	openFDs, maxFDs := fileDescriptors()
	f.Store.Mu.RLock()
	state := f.Store.State
	nodes, ephemerals, size, sessions := state.NumNodes()+1, state.NumEphemerals(), state.DataSize(),
		state.NumSessions()
	f.Store.Mu.RUnlock()
	watches := f.front.CountWatches()
	lastSize, leastSize, mostSize := f.Env.Stats.Responses.View()
	all := []Gauge{
		{Name: "avg_latency", Value: mean, decimal: true, Help: "Mean latency of all requests, ms."},
		whole("max_latency", most, "Largest latency of a request, ms."),
		whole("min_latency", least, "Least latency of a request, ms."),
		whole("packets_received", f.Env.Stats.Received.Load(), "Frames received from clients."),
		whole("packets_sent", f.front.PacketsSent(), "Frames sent to clients."),
		whole("num_alive_connections", f.front.Conns.Len(), "Open client connections."),
		whole("outstanding_requests", f.InProcess.Load(), "Requests received and not answered."),
		whole("uptime", time.Since(f.Began).Milliseconds(), "Time since the server began, ms."),
		whole("znode_count", nodes, "Znodes in the tree; the root counts twice, as in ZooKeeper."),
		whole("watch_count", watches, "Watches, data and child."),
		whole("ephemerals_count", ephemerals, "Znodes that belong to sessions."),
		whole("approximate_data_size", size, "Bytes of all paths and data."),
		whole("global_sessions", sessions, "Sessions of the ensemble."),
		whole("local_sessions", f.Tracker.Locals(), "Sessions that only this server knows."),
		whole("open_file_descriptor_count", openFDs, "Open file descriptors."),
		whole("max_file_descriptor_count", maxFDs, "Limit of open file descriptors."),
		{Name: "connection_drop_probability", Value: f.front.Throttle.DropProbability(), decimal: true,
			Help: "Share of new connections that are dropped."},
		whole("last_client_response_size", lastSize, "Size of the last reply in bytes, -1 before the first."),
		whole("max_client_response_size", mostSize, "Size of the largest reply in bytes, -1 before the first."),
		whole("min_client_response_size", leastSize, "Size of the smallest reply in bytes, -1 before the first."),
		whole("outstanding_tls_handshake", f.Metrics.TlsUnfinished.Load(),
			"TLS handshakes that have begun and not ended."),
		whole("auth_failed_count", f.Metrics.AuthFailed.Total(), "Credentials refused."),
		whole("non_mtls_remote_conn_count", f.Metrics.PlainRemote.Total(),
			"Connections without TLS from other hosts, ever."),
		whole("non_mtls_local_conn_count", f.Metrics.PlainLocal.Total(),
			"Connections without TLS from this host, ever."),
	}
	return append(all, f.roleGauges()...)
}

// roleGauges are the numbers of the role of an ensemble member. A standalone server has none.
func (f *Facts) roleGauges() []Gauge {
	r, ok := f.Role()
	if !ok {
		return nil
	}
	q := f.Metrics.Quorum
	all := []Gauge{whole("quorum_size", r.Size, "Voters of the current configuration.")}
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
		observers := whole("synced_observers", r.SyncedObservers,
			"Observers that learn from this server and are up to date.")
		observers.unlisted = r.Following && f.Config.Quorum.ObserverMasterPort == 0
		all = append(all, observers)
	}
	return all
}
