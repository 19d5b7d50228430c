package config

import (
	"math"
	"strings"
	"time"
)

func (q *Quorum) settings() []setting {
	a := &q.QuorumAuth
	all := []setting{
		nativeKey(myID(&q.ServerID), "myid"),
		nativeKey(path(&q.DynamicConfigFile), "dynamicConfigFile"),
		nativeKey(count(&q.InitLimit, 0, 0), "initLimit"),
		nativeKey(count(&q.SyncLimit, 0, 0), "syncLimit"),
		nativeKey(count(&q.ConnectToLearnerMasterLimit, 0, 0), "connectToLearnerMasterLimit"),
		nativeKey(electionAlg(), "electionAlg"),
		strictKey(&q.StandaloneEnabled, true, "standaloneEnabled"),
		strictKey(&q.ReconfigEnabled, false, "reconfigEnabled"),
		nativeKey(role(&q.PeerType), "peerType"),
		strictKey(&q.QuorumListenOnAllIPs, false, "quorumListenOnAllIPs"),
		nativeKey(port(&q.ObserverMasterPort, 0), "observerMasterPort"),
		propertyKey(whole(&q.ObserverMasterSizeLimit, 32<<20, 1, math.MaxInt32), "observerMaster.sizeLimit"),
		nativeKey(strict(&q.SyncEnabled, true), "observer.syncEnabled", "syncEnabled"),
		nativeKey(count(&q.Priority, 0, 0), "warren.priority"),
		nativeKey(millis(&q.PriorityPause, 30*time.Second, 1), "warren.priorityPauseMs"),
		propertyKey(onlyWord(&q.LeaderServes, "no", false, "yes"), "leaderServes"),
		propertyKey(times(&q.CnxTimeout, 5*time.Second, time.Second, 1, math.MaxInt32/1000), "cnxTimeout"),
		propertyKey(millis(&q.QuorumCnxnTimeout, -time.Millisecond, -1), "quorumCnxnTimeoutMs"),
		propertyKey(count(&q.ElectionPortBindRetry, 3, 0), "electionPortBindRetry"),
		propertyKey(lax(&q.PeerTCPKeepAlive, true), "tcpKeepAlive"),
		propertyKey(millis(&q.MinNotificationInterval, 200*time.Millisecond, 1), "fastleader.minNotificationInterval"),
		propertyKey(millis(&q.MaxNotificationInterval, time.Minute, 1), "fastleader.maxNotificationInterval"),
		propertyKey(millis(&q.MaxTimeToWaitForEpoch, -time.Millisecond, -1),
			"leader.maxTimeToWaitForEpoch", "maxTimeToWaitForEpoch"),
		propertyKey(count(&q.MaxConcurrentSnapSyncs, 10, 1), "leader.maxConcurrentSnapSyncs",
			"maxConcurrentSnapSyncs"),
		propertyKey(count(&q.MaxConcurrentDiffSyncs, 100, 1), "leader.maxConcurrentDiffSyncs",
			"maxConcurrentDiffSyncs"),
		propertyKey(count(&q.AckLoggingFrequency, 1000, 1), "leader.ackLoggingFrequency"),
		propertyKey(millis(&q.LeaderConnectDelay, 20*time.Millisecond, 0), "leaderConnectDelayDuringRetryMs"),
		bareKey(lax(&q.LeaderNoDelay, true), "leader.nodelay"),
		bareKey(lax(&q.FollowerNoDelay, true), "follower.nodelay"),
		propertyKey(longMillis(&q.ObserverReconnectDelay, 0, 0), "observer.reconnectDelayMs"),
		propertyKey(longMillis(&q.ObserverElectionDelay, 200*time.Millisecond, 0), "observer.election.DelayMs"),
		strictKey(&q.MultiAddressEnabled, false, "multiAddress.enabled"),
		strictKey(&q.MultiAddressReachabilityCheck, true, "multiAddress.reachabilityCheckEnabled"),
		nativeKey(millis(&q.MultiAddressReachabilityTimeout, time.Second, 1),
			"multiAddress.reachabilityCheckTimeoutMs"),
		nativeKey(words(&q.OraclePath, ""), "oraclePath"),
		strictKey(&q.SSLQuorum, false, "sslQuorum"),
		strictKey(&q.PortUnification, false, "portUnification"),
		strictKey(&q.SSLQuorumReloadCertFiles, true, "sslQuorumReloadCertFiles"),
		strictKey(&a.EnableSASL, false, "quorum.auth.enableSasl"),
		strictKey(&a.ServerRequireSASL, false, "quorum.auth.serverRequireSasl"),
		strictKey(&a.LearnerRequireSASL, false, "quorum.auth.learnerRequireSasl"),
		nativeKey(words(&a.LearnerLoginContext, "QuorumLearner"), "quorum.auth.learner.saslLoginContext"),
		nativeKey(words(&a.ServerLoginContext, "QuorumServer"), "quorum.auth.server.saslLoginContext"),
		nativeKey(words(&a.KerberosServicePrincipal, "zkquorum/localhost"), "quorum.auth.kerberos.servicePrincipal"),
	}
	return append(all, q.QuorumTLS.settings("ssl.quorum.", true)...)
}

// myID reads the server id that is used if the file myid is missing.
func myID(field *int64) parser {
	return parserOf(field, NoServerID, func(text string) (int64, string, error) {
		n, err := parseNumber(text)
		const instead = "it must be the number of this server, the N of its line server.N"
		switch {
		case text == "":
			return 0, "", rule("is empty: " + instead)
		case err != nil && strings.Trim(text, "0123456789") == "":
			return 0, "", rulef("%q is too large: %s", text, instead)
		case err != nil:
			return 0, "", rulef("%q is not a number: %s", text, instead)
		case n < 0:
			return 0, "", rulef("%q must be at least 0: %s", text, instead)
		}
		return n, "", nil
	}, func(id int64) error { return within(id, NoServerID, math.MaxInt64) })
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
	return parserOf(field, Participant, func(text string) (Role, string, error) {
		r, err := parseRole(text)
		return r, "", err
	}, nil)
}

func parseRole(text string) (Role, error) {
	switch strings.ToLower(text) {
	case "participant":
		return Participant, nil
	case "observer":
		return Observer, nil
	}
	return Participant, rulef("%q is no kind of server: it must be participant or observer", text)
}
