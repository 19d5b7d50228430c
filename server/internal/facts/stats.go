package facts

import (
	"encoding/json"
	"time"

	"github.com/seed94657493/warren/server/internal/figures"
)

// Stats is the content of server_stats, and of stats without the connections. The sizes of the directories are left
// out, since they cost a look at the disk: see Directories.
type Stats struct {
	Version   string       `json:"version"`
	ReadOnly  bool         `json:"read_only"`
	Server    ServerStats  `json:"server_stats"`
	Responses BufferSizes  `json:"client_response"`          // Server has them as well
	Proposals *BufferSizes `json:"proposal_stats,omitempty"` // of a leader
	Znodes    int          `json:"node_count"`
}

// ServerStats is the part server_stats of the answer of the same name. Latencies and Uptime are ms, and AvgLatency
// is printed as Java prints a double.
type ServerStats struct {
	Sent             int64       `json:"packets_sent"`
	Received         int64       `json:"packets_received"`
	SlowSyncs        int64       `json:"fsync_threshold_exceed_count"`
	Responses        BufferSizes `json:"client_response_stats"`
	ProviderNull     bool        `json:"provider_null"`
	Uptime           int64       `json:"uptime"`
	State            string      `json:"server_state"`
	Outstanding      int64       `json:"outstanding_requests"`
	MinLatency       int64       `json:"min_latency"`
	AvgLatency       json.Number `json:"avg_latency"`
	MaxLatency       int64       `json:"max_latency"`
	DataDirSize      int64       `json:"data_dir_size"`
	LogDirSize       int64       `json:"log_dir_size"`
	LastZxid         int64       `json:"last_processed_zxid"`
	Connections      int         `json:"num_alive_client_connections"`
	AuthFailed       int64       `json:"auth_failed_count"`
	NonMTLSRemote    int64       `json:"non_mtlsremote_conn_count"`
	NonMTLSLocalConn int64       `json:"non_mtlslocal_conn_count"`
}

// BufferSizes is the last, least and largest size of something in bytes; -1 before the first.
type BufferSizes struct {
	Last int64 `json:"last_buffer_size"`
	Min  int64 `json:"min_buffer_size"`
	Max  int64 `json:"max_buffer_size"`
}

func sizesOf(s *figures.Sizes) BufferSizes {
	last, least, most := s.View()
	return BufferSizes{Last: last, Min: least, Max: most}
}

// Stats returns how much the server has done, and how fast.
func (f *Facts) Stats() Stats {
	responses := sizesOf(&f.Env.Stats.Responses)
	var proposals *BufferSizes
	if role, ok := f.Role(); ok && role.Leading {
		proposals = new(sizesOf(&f.Metrics.Quorum.ProposalSize))
	}
	least, mean, most := f.Env.Stats.Latency()
	f.Store.Mu.RLock()
	znodes := f.Store.State.NumNodes() + 1 // ZooKeeper counts the root twice
	f.Store.Mu.RUnlock()
	return Stats{
		Version: f.Version, ReadOnly: f.ReadOnly(),
		Server: ServerStats{
			Sent: f.front.PacketsSent(), Received: f.Env.Stats.Received.Load(), SlowSyncs: f.Metrics.SlowSyncs.Total(),
			Responses: responses, Uptime: time.Since(f.Began).Milliseconds(), State: f.host.Mode(),
			Outstanding: f.InProcess.Load(), MinLatency: least, AvgLatency: json.Number(figures.Decimal(mean)),
			MaxLatency: most, LastZxid: int64(f.Store.LastZxid()),
			Connections: f.front.Conns.Len(),
			AuthFailed:  f.Metrics.AuthFailed.Total(), NonMTLSRemote: f.Metrics.PlainRemote.Total(),
			NonMTLSLocalConn: f.Metrics.PlainLocal.Total(),
		},
		Responses: responses, Proposals: proposals, Znodes: znodes,
	}
}

// ResetStats restarts the figures of the server, as srst does.
func (f *Facts) ResetStats() {
	f.Env.Stats.Reset()
	f.front.ForgetSent()
}

// ResetConnections restarts the figures of each connection, as crst does.
func (f *Facts) ResetConnections() { f.front.ResetConnections() }
