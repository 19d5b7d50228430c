package config

import (
	"math"
	"strings"
	"time"
)

const millisecond = time.Millisecond

func (q *Quorum) settings() []setting {
	a := &q.QuorumAuth
	all := []setting{
		nativeKey(myID(&q.ServerID), "myid"),
		nativeKey(path(&q.DynamicConfigFile), "dynamicConfigFile"),
		nativeKey(count(&q.InitLimit, 0), "initLimit"),
		nativeKey(count(&q.SyncLimit, 0), "syncLimit"),
		nativeKey(count(&q.ConnectToLearnerMasterLimit, 0), "connectToLearnerMasterLimit"),
		nativeKey(electionAlg(), "electionAlg"),
		nativeKey(strict(&q.StandaloneEnabled, "standaloneEnabled"), "standaloneEnabled"),
		nativeKey(strict(&q.ReconfigEnabled, "reconfigEnabled"), "reconfigEnabled"),
		nativeKey(role(&q.PeerType), "peerType"),
		nativeKey(strict(&q.QuorumListenOnAllIPs, "quorumListenOnAllIPs"), "quorumListenOnAllIPs"),
		nativeKey(port(&q.ObserverMasterPort), "observerMasterPort"),
		propertyKey(whole(&q.ObserverMasterSizeLimit, 1, math.MaxInt32), "observerMaster.sizeLimit"),
		nativeKey(strict(&q.SyncEnabled, "syncEnabled"), "observer.syncEnabled", "syncEnabled"),
		propertyKey(onlyWord(&q.LeaderServes, "no", false, "yes"), "leaderServes"),
		propertyKey(times(&q.CnxTimeout, time.Second, 1, math.MaxInt32/1000), "cnxTimeout"),
		propertyKey(millis(&q.QuorumCnxnTimeout, -1), "quorumCnxnTimeoutMs"),
		propertyKey(count(&q.ElectionPortBindRetry, 0), "electionPortBindRetry"),
		propertyKey(lax(&q.PeerTCPKeepAlive), "tcpKeepAlive"),
		propertyKey(millis(&q.MinNotificationInterval, 1), "fastleader.minNotificationInterval"),
		propertyKey(millis(&q.MaxNotificationInterval, 1), "fastleader.maxNotificationInterval"),
		propertyKey(millis(&q.MaxTimeToWaitForEpoch, -1), "leader.maxTimeToWaitForEpoch", "maxTimeToWaitForEpoch"),
		propertyKey(count(&q.MaxConcurrentSnapSyncs, 1), "leader.maxConcurrentSnapSyncs", "maxConcurrentSnapSyncs"),
		propertyKey(count(&q.MaxConcurrentDiffSyncs, 1), "leader.maxConcurrentDiffSyncs", "maxConcurrentDiffSyncs"),
		propertyKey(count(&q.AckLoggingFrequency, 1), "leader.ackLoggingFrequency"),
		propertyKey(millis(&q.LeaderConnectDelay, 0), "leaderConnectDelayDuringRetryMs"),
		bareKey(lax(&q.LeaderNoDelay), "leader.nodelay"),
		bareKey(lax(&q.FollowerNoDelay), "follower.nodelay"),
		propertyKey(longMillis(&q.ObserverReconnectDelay, 0), "observer.reconnectDelayMs"),
		propertyKey(longMillis(&q.ObserverElectionDelay, 0), "observer.election.DelayMs"),
		nativeKey(strict(&q.MultiAddressEnabled, "multiAddress.enabled"), "multiAddress.enabled"),
		nativeKey(strict(&q.MultiAddressReachabilityCheck, "multiAddress.reachabilityCheckEnabled"), "multiAddress.reachabilityCheckEnabled"),
		nativeKey(millis(&q.MultiAddressReachabilityTimeout, 1), "multiAddress.reachabilityCheckTimeoutMs"),
		nativeKey(words(&q.OraclePath), "oraclePath"),
		nativeKey(strict(&q.SSLQuorum, "sslQuorum"), "sslQuorum"),
		nativeKey(strict(&q.PortUnification, "portUnification"), "portUnification"),
		nativeKey(strict(&q.SSLQuorumReloadCertFiles, "sslQuorumReloadCertFiles"), "sslQuorumReloadCertFiles"),
		nativeKey(strict(&a.EnableSASL, "quorum.auth.enableSasl"), "quorum.auth.enableSasl"),
		nativeKey(strict(&a.ServerRequireSASL, "quorum.auth.serverRequireSasl"), "quorum.auth.serverRequireSasl"),
		nativeKey(strict(&a.LearnerRequireSASL, "quorum.auth.learnerRequireSasl"), "quorum.auth.learnerRequireSasl"),
		nativeKey(words(&a.LearnerLoginContext), "quorum.auth.learner.saslLoginContext"),
		nativeKey(words(&a.ServerLoginContext), "quorum.auth.server.saslLoginContext"),
		nativeKey(words(&a.KerberosServicePrincipal), "quorum.auth.kerberos.servicePrincipal"),
	}
	return append(all, q.QuorumTLS.settings("ssl.quorum.")...)
}

// myID reads the server id that is used if the file myid is missing.
func myID(field *int64) parser {
	p := whole(field, 0, math.MaxInt64)
	return parser{parse: func(text string) (string, error) {
		if _, err := parseNumber(text); err != nil {
			return "", rulef("serverid %s is not a number", text)
		}
		return p.parse(text)
	}, check: func() error { return within(*field, NoServerID, math.MaxInt64) }}
}

// electionAlg accepts the only supported algorithm.
func electionAlg() parser {
	return parser{parse: func(text string) (string, error) {
		n, err := parseNumber(text)
		if err == nil && n != 3 {
			err = rulef("Invalid electionAlg value. Only 3 is supported.")
		}
		return "", err
	}}
}

// role reads participant or observer in any letter case.
func role(field *Role) parser {
	return parser{parse: func(text string) (warning string, err error) {
		*field, err = parseRole(text)
		return "", err
	}}
}

func parseRole(text string) (Role, error) {
	switch strings.ToLower(text) {
	case "participant":
		return Participant, nil
	case "observer":
		return Observer, nil
	}
	return Participant, rulef("Unrecognised peertype: %s", text)
}
