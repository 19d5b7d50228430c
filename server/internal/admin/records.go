package admin

import "encoding/json"

// The records in this file are answers in JSON, or parts of them. Names and order of the keys are ZooKeeper's.
// Source: operations 3.4.

// Configuration is the answer of configuration.
type Configuration struct {
	ClientPort        int    `json:"client_port"`
	DataDir           string `json:"data_dir"`
	DataLogDir        string `json:"data_log_dir"`
	TickTimeMs        int64  `json:"tick_time"`
	MaxClientCnxns    int    `json:"max_client_cnxns"`
	MinSessionTimeout int64  `json:"min_session_timeout"`
	MaxSessionTimeout int64  `json:"max_session_timeout"`
	ServerID          int64  `json:"server_id"`
	ListenBacklog     int    `json:"client_port_listen_backlog"`
	*Membership
}

// Membership is the additional part of configuration for a member of an ensemble.
type Membership struct {
	InitLimit    int `json:"init_limit"`
	SyncLimit    int `json:"sync_limit"`
	ElectionAlg  int `json:"election_alg"`
	ElectionPort int `json:"election_port"`
	QuorumPort   int `json:"quorum_port"`
	PeerType     int `json:"peer_type"`
}

// Connection is one client connection.
type Connection struct {
	Remote      string `json:"remote_socket_address"`
	Interest    int    `json:"interest_ops"`
	Outstanding int    `json:"outstanding_requests"`
	Received    int64  `json:"packets_received"`
	Sent        int64  `json:"packets_sent"`
	*BoundSession
}

// BoundSession is the part of a connection that serves a session. Latencies are ms, Established is ms since 1970,
// LastResponse ms since an arbitrary moment.
type BoundSession struct {
	ID            int64  `json:"session_id"`
	LastOperation string `json:"last_operation"`
	Established   int64  `json:"established"`
	TimeoutMs     int32  `json:"session_timeout"`
	LastCxid      int32  `json:"last_cxid"`
	LastZxid      int64  `json:"last_zxid"`
	LastResponse  int64  `json:"last_response_time"`
	LastLatency   int64  `json:"last_latency"`
	MinLatency    int64  `json:"min_latency"`
	AvgLatency    int64  `json:"avg_latency"`
	MaxLatency    int64  `json:"max_latency"`
}

// Directories is the answer of dirs, in bytes.
type Directories struct {
	Data int64 `json:"datadir_size"`
	Log  int64 `json:"logdir_size"`
}

// Sessions is the answer of dump. Expiry is in ms since an arbitrary moment.
type Sessions struct {
	Expiry     map[int64][]int64  `json:"expiry_time_to_session_ids"`
	Ephemerals map[int64][]string `json:"session_id_to_ephemeral_paths"`
}

// Watch is one session that watches one path.
type Watch struct {
	Session int64
	Path    string
}

// WatchSummary is the answer of watch_summary.
type WatchSummary struct {
	Connections int `json:"num_connections"`
	Paths       int `json:"num_paths"`
	Total       int `json:"num_total_watches"`
}

// Digest is the digest of the tree at a zxid.
type Digest struct {
	Zxid    int64 `json:"zxid"`
	Digest  int64 `json:"digest"`
	Version int32 `json:"digest_version"`
}

// LastSnapshot is the answer of last_snapshot: the zxid in hex digits, and the time in s since 1970. Without
// a snapshot it is NoSnapshot.
type LastSnapshot struct {
	Zxid      string `json:"zxid"`
	Timestamp int64  `json:"timestamp"`
}

// NoSnapshot is the answer of last_snapshot before the first snapshot.
var NoSnapshot = LastSnapshot{Zxid: "ffffffffffffffff", Timestamp: -1}

// Sizes is the last, least and largest size of something in bytes; NoSizes before the first.
type Sizes struct {
	Last int64 `json:"last_buffer_size"`
	Min  int64 `json:"min_buffer_size"`
	Max  int64 `json:"max_buffer_size"`
}

// Stats is the content of server_stats, and of stats without the connections.
type Stats struct {
	Version   string      `json:"version"`
	ReadOnly  bool        `json:"read_only"`
	Server    ServerStats `json:"server_stats"`
	Responses Sizes       `json:"client_response"`          // Server has them as well
	Proposals *Sizes      `json:"proposal_stats,omitempty"` // of a leader
	Znodes    int         `json:"node_count"`
}

// ServerStats is the part server_stats of the answer of the same name. Latencies and Uptime are ms, and AvgLatency
// is printed as Java prints a double.
type ServerStats struct {
	Sent             int64       `json:"packets_sent"`
	Received         int64       `json:"packets_received"`
	SlowSyncs        int64       `json:"fsync_threshold_exceed_count"`
	Responses        Sizes       `json:"client_response_stats"`
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

// Top is the answer of top, Warren's own: what causes most of the requests, bytes and time of this server. Sums are
// means for a second, of requests that fade by the factor e in each window. Without the permissions for a snapshot
// Paths, Sessions and Addresses are nil.
type Top struct {
	Enabled       bool       `json:"enabled"` // by warren.top.enabled
	By            string     `json:"by"`      // the order: requests, bytes or time
	WindowSeconds int        `json:"window_s"`
	OneIn         int64      `json:"sampled_one_in"` // one request of so many is recorded, and counts for all
	Total         TopSums    `json:"total"`
	Operations    []TopEntry `json:"operations"`
	Paths         []TopEntry `json:"paths"`
	Sessions      []TopEntry `json:"sessions"`
	Addresses     []TopEntry `json:"addresses"`
}

// TopSums is what requests cost in each second.
type TopSums struct {
	Requests float64 `json:"requests"`
	Bytes    float64 `json:"bytes"` // of requests and replies
	Millis   float64 `json:"ms"`    // of reads their execution; of writes from their arrival until they are applied
}

// TopEntry is a key with what its requests cost in each second, as TopSums.
type TopEntry struct {
	Key      string  `json:"key"`
	Requests float64 `json:"requests"`
	Bytes    float64 `json:"bytes"`
	Millis   float64 `json:"ms"`
}

// Slow is the answer of slow, Warren's own: the newest operations that took long, the newest first.
type Slow struct {
	ThresholdMs float64         `json:"threshold_ms"` // warren.slow.threshold; 0: none are kept
	Found       int             `json:"found"`        // since the server began
	Operations  []SlowOperation `json:"operations"`
}

// SlowOperation is one operation that took long. Without the permissions for a snapshot Path, Session and Trace are
// empty.
type SlowOperation struct {
	Began     int64       `json:"began"` // ms since 1970
	Operation string      `json:"operation"`
	Path      string      `json:"path,omitempty"` // of longer ones the beginning; of a multi the first
	Session   string      `json:"session,omitempty"`
	Zxid      string      `json:"zxid,omitempty"`
	Error     string      `json:"error,omitempty"`
	Millis    float64     `json:"ms"`
	Slowest   string      `json:"slowest"` // the stage that took longest
	Stages    StageMillis `json:"stages"`
	Trace     string      `json:"trace,omitempty"` // id of its trace, if there are traces
}

// StageMillis is how long the stages of an operation took, in ms. Their sum is the whole time.
type StageMillis struct {
	Queue   float64 `json:"queue"`
	Prepare float64 `json:"prepare"`
	Forward float64 `json:"forward"`
	Sync    float64 `json:"sync"`
	Quorum  float64 `json:"quorum"`
	Apply   float64 `json:"apply"`
	Socket  float64 `json:"socket"`
}

// Ensemble is a member's place in its ensemble.
type Ensemble struct {
	Leader    Leader
	Voters    map[string]Member // by server id
	Observers Observers
	Zab       ZabState
}

// Leader is the answer of leader.
type Leader struct {
	IsLeader bool   `json:"is_leader"`
	ID       int64  `json:"leader_id"`
	IP       string `json:"leader_ip"`
}

// Member is one server of the configuration.
type Member struct {
	ServerAddresses   []string `json:"server_addresses"`
	ElectionAddresses []string `json:"election_addresses"`
	ClientAddress     string   `json:"client_address"`
	LearnerType       string   `json:"learner_type"`
}

// Observers is the answer of observers.
type Observers struct {
	Synced    int        `json:"synced_observers"`
	Observers []Observer `json:"observers"`
}

// Observer is one observer that learns from this server.
type Observer struct {
	Remote           string `json:"remote_socket_address"`
	ID               int64  `json:"sid"`
	Established      int64  `json:"established"`
	QueuedPackets    int    `json:"queued_packets"`
	QueuedBytes      int64  `json:"queued_packets_size"`
	Received         int64  `json:"packets_received"`
	Sent             int64  `json:"packets_sent"`
	Requests         int    `json:"requests"`
	LastProposedZxid int64  `json:"last_zxid"`
}

// ZabState is the answer of zabstate.
type ZabState struct {
	*ZabMember
	Voting bool `json:"voting"`
	// Phase is election, discovery, synchronization or broadcast; empty for a standalone server.
	Phase string `json:"zabstate"`
}

// Addresses is the addresses of one server for one purpose.
type Addresses struct {
	All []string `json:"all_addresses"`
}

// ZabMember is the additional part of zabstate for a member of an ensemble.
type ZabMember struct {
	ID              int64     `json:"myid"`
	IsLeader        bool      `json:"is_leader"`
	QuorumAddress   Addresses `json:"quorum_address"`
	ElectionAddress Addresses `json:"election_address"`
	ClientAddress   string    `json:"client_address"`
	LastZxid        string    `json:"last_zxid"`
	Epoch           int64     `json:"zab_epoch"`
	Counter         int64     `json:"zab_counter"`

	// The following keys are Warren's own: they tell the servers of one host apart.
	ClientPort int `json:"client_port"`
	SecurePort int `json:"secure_client_port"`
	// Known differences of histories. Outside says that the ensemble has a leader which this server cannot
	// follow.
	Outside bool `json:"outside"`
	*ZabOutside
	Strangers []ZabStranger `json:"strangers,omitempty"`

	// Ensemble is the identity of the history, 16 hexadecimal digits; empty if it is not known for certain.
	Ensemble      string `json:"ensemble"`
	AcceptedEpoch int64  `json:"accepted_epoch"`
	CurrentEpoch  int64  `json:"current_epoch"`
	// Blank: the database was missing, and the server does not vote until a leader has synchronized it.
	Blank bool `json:"blank"`
	*ZabSearch
}

// ZabSearch is the additional part of zabstate for a server that looks for a leader.
type ZabSearch struct {
	WaitsFor string `json:"waits_for"`
	// Stuck: no leader can be elected, because the voters that have a database are no quorum.
	Stuck        bool    `json:"stuck"`
	WayOut       string  `json:"way_out"`
	BlankVoters  []int64 `json:"blank_voters"`  // without a database
	EmptyVoters  []int64 `json:"empty_voters"`  // that vote with an empty tree
	SilentVoters []int64 `json:"silent_voters"` // not heard of
}

// ZabOutside is the additional part of zabstate for a server that stays outside the ensemble.
type ZabOutside struct {
	Leader int64  `json:"outside_leader"`
	Reason string `json:"outside_reason"`
	Own    string `json:"own_history"`
	Theirs string `json:"their_history"` // of the leader; empty if the leader does not send it
}

// ZabStranger is a member whose history is known to differ from that of this server.
type ZabStranger struct {
	ID      int64  `json:"myid"`
	Reason  string `json:"reason"`
	History string `json:"history"`
}
