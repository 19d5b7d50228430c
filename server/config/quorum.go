package config

import "time"

// Role is the role of a member in the ensemble.
type Role uint8

// The roles of members.
const (
	Participant Role = iota // votes and may lead
	Observer                // receives INFORM, never votes
)

// String returns the role as zoo.cfg spells it.
func (r Role) String() string {
	if r == Observer {
		return "observer"
	}
	return "participant"
}

// NoServerID is the ServerID of a server without an id.
const NoServerID = -1

// Quorum holds the settings of the ensemble: the id of this server, the members, and their connections.
type Quorum struct {
	// ServerID is the id of this server, if there is no file myid; NoServerID if none is given. 0 is an id like any
	// other. The container images take it from ZOO_MY_ID. Key myid; default none.
	ServerID int64
	// Members are the server lines in the order of their ids.
	Members []Member
	// Groups are the group lines in the order of their ids; empty without the hierarchical verifier.
	Groups []Group
	// Hierarchical is true as soon as any group or weight line exists.
	Hierarchical bool
	// DynamicConfigFile is the file that holds the lines of servers, groups and weights, if zoo.cfg does not. Key
	// dynamicConfigFile; default none.
	DynamicConfigFile string
	// ConfigVersion is the hexadecimal suffix of DynamicConfigFile, the zxid of the reconfig that wrote it; 0 if
	// it has none. With ReconfigEnabled a newer configuration in meta.db replaces the file.
	ConfigVersion int64

	// InitLimit is how many ticks a follower has to connect and to be brought up to date. Key initLimit; required in
	// an ensemble.
	InitLimit int
	// SyncLimit is how many ticks a follower may be silent. Key syncLimit; required in an ensemble.
	SyncLimit int
	// ConnectToLearnerMasterLimit is how many ticks the connecting part of InitLimit may take. If it is InitLimit, a
	// leader that does not answer is dialled for a tick, and for 1.5 s at least. Key connectToLearnerMasterLimit;
	// default InitLimit, also for 0.
	ConnectToLearnerMasterLimit int
	// StandaloneEnabled lets a single participant run without the quorum code. Key standaloneEnabled; default true.
	StandaloneEnabled bool
	// ReconfigEnabled permits the reconfig operation and the rewriting of zoo.cfg, and lets servers that are in
	// no configuration yet learn from the leader. It must be the same at all servers. Key reconfigEnabled;
	// default false.
	ReconfigEnabled bool
	// PeerType is the role of this server, if its own server line has none. Key peerType; default participant.
	PeerType Role
	// QuorumListenOnAllIPs binds the quorum and election ports to the wildcard address. Key quorumListenOnAllIPs;
	// default false.
	QuorumListenOnAllIPs bool
	// ObserverMasterPort is the port on which followers serve observers, at the hosts of their server lines.
	// Observers then learn from a follower, or from the leader if no follower takes them. All servers need the
	// same number; 0 is off. Key observerMasterPort; default 0.
	ObserverMasterPort int
	// ObserverMasterSizeLimit bounds the bytes that wait for an observer at its observer master: a slower one is
	// disconnected. Less than 1 MiB counts as that. Key observerMaster.sizeLimit; default 32 MiB.
	ObserverMasterSizeLimit int64
	// SyncEnabled makes observers keep logs and snapshots. Key syncEnabled, or observer.syncEnabled, which goes
	// first; default true.
	SyncEnabled bool
	// Priority is the server's priority as a leader: a leader hands over to a follower with a higher priority than its
	// own, if that could lead as well as any other. Key warren.priority; default 0. Warren's own.
	Priority int
	// PriorityPause is how long such a follower must have been up to date, and the leader must have led, before that.
	// It doubles each time that the leader hands over to the same server again within an hour. Key
	// warren.priorityPauseMs; default 30s. Warren's own.
	PriorityPause time.Duration
	// LeaderServes is whether a leader accepts clients. With no, a leader that was elected with clients keeps them,
	// and hands over to a follower without clients after warren.priorityPauseMs. Key leaderServes, yes or no; default
	// yes.
	LeaderServes bool
	// CnxTimeout is the time to open an election connection. Key cnxTimeout, in seconds; default 5s.
	CnxTimeout time.Duration
	// QuorumCnxnTimeout is how long the handshake of an election connection may take, TLS and SASL included. Key
	// quorumCnxnTimeoutMs; default SyncLimit ticks, also for 0 and less.
	QuorumCnxnTimeout time.Duration
	// ElectionPortBindRetry is how often, a second apart, binding the election port is tried before exit 14; 0 is
	// forever. Key electionPortBindRetry; default 3.
	ElectionPortBindRetry int
	// PeerTCPKeepAlive sets SO_KEEPALIVE on election and quorum sockets, so that peers are found that
	// vanished without closing their connection: a follower leaves a leader whose machine is gone when its lease ends,
	// and not after syncLimit. Key tcpKeepAlive; default true, ZooKeeper's is false.
	PeerTCPKeepAlive bool
	// MinNotificationInterval is the first pause before notifications are sent again. Key
	// fastleader.minNotificationInterval; default 200ms.
	MinNotificationInterval time.Duration
	// MaxNotificationInterval is the longest pause before notifications are sent again. Key
	// fastleader.maxNotificationInterval; default 60s.
	MaxNotificationInterval time.Duration
	// MaxTimeToWaitForEpoch is how long a leader without a quorum continues although a voter that elected it looks for
	// a leader again. Key leader.maxTimeToWaitForEpoch (maxTimeToWaitForEpoch); default InitLimit ticks, also for less
	// than 0.
	MaxTimeToWaitForEpoch time.Duration
	// MaxConcurrentSnapSyncs is how many learners a leader sends its whole state at a time: an observer beyond that
	// is disconnected and connects again later. Key leader.maxConcurrentSnapSyncs (maxConcurrentSnapSyncs); default
	// 10.
	MaxConcurrentSnapSyncs int
	// MaxConcurrentDiffSyncs is how many learners a leader sends a part of its log at a time. Key
	// leader.maxConcurrentDiffSyncs (maxConcurrentDiffSyncs); default 100.
	MaxConcurrentDiffSyncs int
	// AckLoggingFrequency is the number of txns between two measurements of a learner's ACK. Key
	// leader.ackLoggingFrequency; default 1000.
	AckLoggingFrequency int
	// LeaderConnectDelay is the pause between two tries to reach the leader, of which there are at least 5. Key
	// leaderConnectDelayDuringRetryMs; default 20ms, ZooKeeper's is 100ms.
	LeaderConnectDelay time.Duration
	// LeaderNoDelay sets TCP_NODELAY on a leader's connections with its learners. Key leader.nodelay; default true.
	LeaderNoDelay bool
	// FollowerNoDelay sets TCP_NODELAY on a learner's connection with its leader. Key follower.nodelay; default true.
	FollowerNoDelay bool
	// ObserverReconnectDelay is the longest random pause of an observer before it connects to a leader. Key
	// observer.reconnectDelayMs; default 0.
	ObserverReconnectDelay time.Duration
	// ObserverElectionDelay is the longest random pause of an observer that has lost its leader before it looks
	// for one. Key observer.election.DelayMs; default 200ms.
	ObserverElectionDelay time.Duration
	// MultiAddressEnabled permits several addresses per member. Key multiAddress.enabled; default false.
	MultiAddressEnabled bool
	// MultiAddressReachabilityCheck looks for an address that answers. Key multiAddress.reachabilityCheckEnabled;
	// default true.
	MultiAddressReachabilityCheck bool
	// MultiAddressReachabilityTimeout is how long the check of an address may take. Key
	// multiAddress.reachabilityCheckTimeoutMs; default 1s.
	MultiAddressReachabilityTimeout time.Duration
	// OraclePath is a file whose content 1 breaks the tie of two servers. Key oraclePath.
	OraclePath string

	// SSLQuorum encrypts election and quorum connections. Key sslQuorum; default false.
	SSLQuorum bool
	// PortUnification accepts both encrypted and plain connections. Key portUnification; default false.
	PortUnification bool
	// SSLQuorumReloadCertFiles loads the key and trust stores again when they change. Key
	// sslQuorumReloadCertFiles; default true, ZooKeeper's is false.
	SSLQuorumReloadCertFiles bool
	// QuorumTLS holds the key material of the quorum, and of the admin server. Keys ssl.quorum.*.
	QuorumTLS TLS
	// QuorumAuth is SASL between servers. Keys quorum.auth.*.
	QuorumAuth QuorumAuth
}

// Member is one server line: server.ID=host:quorum:election[:role][|...][;client].
type Member struct {
	// ID is the N of server.N.
	ID int64
	// Addresses are where its peers reach it; at least one.
	Addresses []PeerAddress
	// Role is participant unless the line says observer.
	Role Role
	// Client is where it serves plain clients; port PortUnset if the line has none.
	Client HostPort
	// Secure is where it serves TLS clients; port PortUnset if the line has none.
	Secure HostPort
	// Weight is its vote in the hierarchical verifier. Key weight.N; default 1, 0 never counts.
	Weight int64
}

// PeerAddress is one address of a member with its two ports.
type PeerAddress struct {
	// Host is a name or an IP address; IPv6 without brackets.
	Host string
	// QuorumPort is where a leader waits for learners.
	QuorumPort int
	// ElectionPort is where every member listens; PortUnset if the line omits it.
	ElectionPort int
}

// HostPort is a client address of a member line.
type HostPort struct {
	Host string
	Port int
}

// Group is one group line: group.ID=1:2:3.
type Group struct {
	ID      int64
	Members []int64
}

// QuorumAuth is SASL between servers. Source: operations 8.5.
type QuorumAuth struct {
	// EnableSASL switches SASL between servers on. Key quorum.auth.enableSasl; default false.
	EnableSASL bool
	// ServerRequireSASL refuses peers that do not authenticate. Key quorum.auth.serverRequireSasl; default false.
	ServerRequireSASL bool
	// LearnerRequireSASL makes this server authenticate when it connects. Key quorum.auth.learnerRequireSasl;
	// default false.
	LearnerRequireSASL bool
	// LearnerLoginContext is the JAAS section for connecting. Key quorum.auth.learner.saslLoginContext; default
	// QuorumLearner.
	LearnerLoginContext string
	// ServerLoginContext is the JAAS section for accepting. Key quorum.auth.server.saslLoginContext; default
	// QuorumServer.
	ServerLoginContext string
	// KerberosServicePrincipal is the principal of the servers. Key quorum.auth.kerberos.servicePrincipal;
	// default zkquorum/localhost.
	KerberosServicePrincipal string
}

// OwnID is the id by which this server takes part in the agreement and makes session ids: ServerID in an ensemble, 1
// for a standalone server, which reads myid for nothing else than to refuse what is no number. Source:
// client-protocol 3.4.
func (q *Quorum) OwnID() int64 {
	if q.Distributed() {
		return q.ServerID
	}
	return 1
}

// Member returns the member with the given id, or nil.
func (q *Quorum) Member(id int64) *Member {
	for i := range q.Members {
		if q.Members[i].ID == id {
			return &q.Members[i]
		}
	}
	return nil
}

// Voters returns the number of members that vote.
func (q *Quorum) Voters() int {
	n := 0
	for i := range q.Members {
		if q.Members[i].Role == Participant {
			n++
		}
	}
	return n
}

// Distributed reports whether this server is a member of an ensemble: standaloneEnabled is false, or more than one
// member votes. Otherwise it runs alone and its server lines only give it its client port. Source: operations 1.2.
func (q *Quorum) Distributed() bool {
	return !q.StandaloneEnabled || q.Voters() > 1
}
