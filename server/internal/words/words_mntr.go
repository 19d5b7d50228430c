package words

import (
	"bytes"
	"fmt"
	"time"

	"github.com/seed94657493/warren/server/internal/figures"
	"github.com/seed94657493/warren/server/internal/serve"
)

// gauges is the numbers that mntr prints and the metrics export, by ZooKeeper's names. Source:
// operations 2.3 and 4.4.
func (s *Reporter) gauges() []gauge {
	least, mean, most := s.Stats.Latency()
	openFDs, maxFDs := fileDescriptors()
	s.Store.Mu.RLock()
	state := s.Store.State
	nodes, ephemerals, size, sessions := state.NumNodes()+1, state.NumEphemerals(), state.DataSize(), state.NumSessions()
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
		{"last_client_response_size", float64(lastSize), false, "Size of the last reply in bytes, -1 before the first."},
		{"max_client_response_size", float64(mostSize), false, "Size of the largest reply in bytes, -1 before the first."},
		{"min_client_response_size", float64(leastSize), false, "Size of the smallest reply in bytes, -1 before the first."},
		{"outstanding_tls_handshake", float64(s.Metrics.TlsUnfinished.Load()), false, "TLS handshakes that have begun and not ended."},
		{"auth_failed_count", float64(s.Metrics.AuthFailed.Total()), false, "Credentials refused."},
		{"non_mtls_remote_conn_count", float64(s.Metrics.PlainRemote.Total()), false, "Connections without TLS from other hosts, ever."},
		{"non_mtls_local_conn_count", float64(s.Metrics.PlainLocal.Total()), false, "Connections without TLS from this host, ever."},
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

// Numbers is the lines of mntr, without their prefix.
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
