package findings

import (
	"fmt"
	"time"
)

// find returns a finding without a server.
func find(s Severity, check, remedy, format string, args ...any) Finding {
	return Finding{Severity: s, Check: check, Server: NoServer, What: fmt.Sprintf(format, args...), Remedy: remedy}
}

// wording is how a finding about a server is put, for all of its occasions.
type wording struct {
	severity              Severity
	check, remedy, format string
}

// with returns the finding for one occasion.
func (w wording) with(args ...any) Finding {
	return find(w.severity, w.check, w.remedy, w.format, args...)
}

var (
	silent = wording{Error, "unreachable", "check whether it runs, and check the network", "does not answer: %s"}

	// nameless is for a server that cannot be asked because its name does not resolve where that is tried.
	nameless = wording{Error, "name",
		"correct the name, repair the name server that this machine uses, or name the server by its IP address",
		"cannot be asked by its name: %s"}

	// unheard is for a member that has never answered at its client port, and is not known to be away.
	unheard = wording{Notice, "not-known", "let the servers reach each other's client ports, so that each of them " +
		"knows how all are",
		"nothing is known of it, because its client port does not answer other servers: %s"}

	absent = wording{Error, "unreachable", "check whether it runs, and check the network",
		"is not connected to the leader, server %d"}

	ended = wording{Notice, "stopped", "when the work on it is done, start it",
		"was drained and does not answer now: %s"}

	// notKnown is for a server that nobody has heard.
	notKnown = wording{Notice, "not-known", "give its server line a client port: server.N=host:2888:3888;2181",
		"nothing is known of it, because the configuration does not tell its client port"}

	// waits is for a server that runs, does not serve and says what it waits for.
	waits = wording{Error, "not-serving", "look at the servers that it names, also with /readyz and warren status, " +
		"and at the network between them", "is running, but does not serve clients: %s"}

	// notServing is for one that says something else.
	notServing = wording{Error, "not-serving", "see in its log what it waits for, or at /readyz if it is one of " +
		"Warren: it has no quorum, or it loads its data", "is running, but does not serve clients: %s"}

	drained = wording{Notice, "drained",
		"when the work on it is done, restart it, or let it take clients again with warren drain --resume",
		"is drained: it accepts no clients"}

	// readOnly is for a server that has lost its ensemble and serves reads.
	readOnly = wording{Error, "read-only", "find out why it is cut off: look at the network between the servers",
		"is cut off from the quorum and serves reads only"}

	blank = wording{Warning, "blank", "nothing, if a majority of the other voters is up: the leader brings it up " +
		"to date; else find out whether its disk is mounted",
		"its database is missing: it does not vote until a leader has synchronized it"}

	otherHistory = wording{Error, "other-history", RemedyOutside,
		"says that server %d has another history: %s; that server has: %s"}
)

// RemedyOutside is what to do about a server with another history.
const RemedyOutside = "find out where its directory comes from, with warren doctor and the directories of all " +
	"servers; if what the ensemble has is right, stop this server, run warren adopt on its directory, and start it"

// Stalled is the finding of a server that does not go on by itself.
func Stalled(d time.Duration) Finding {
	return find(Critical, "stalled", "keep what kill -3 writes to the log, for a bug report, and restart the server",
		"is stuck: its clients have been waiting for its locks for %v", d.Round(time.Second))
}

// outside is the finding of a server whose directory has another history than that of the leader.
func outside(h *History) Finding {
	theirs := h.Theirs
	if theirs != "" {
		theirs = "; the leader has: " + theirs
	}
	return find(Critical, "outside", RemedyOutside,
		"stays outside the ensemble that server %d leads: %s; it has: %s%s",
		h.Server, h.Reason, h.Own, theirs)
}

// sameID is the finding of two servers with one id. An address is empty if it is not known, and has no port if only
// the host is known.
func sameID(id int64, first, second string) Finding {
	where := first + " and " + second
	if first == "" || second == "" {
		where = "one of them at " + first + second
	}
	return find(Critical, "same-id", "stop the wrong one, or give it an id of its own in myid",
		"two servers have the id %d: %s", id, where)
}

// lagging are the findings of a server that is behind.
func lagging(behind uint64) Finding {
	const remedy = "look at its disk, its network and its log; if it stays behind, restart it"
	if behind == 1 {
		return find(Warning, "lag", remedy, "is 1 txn behind the leader")
	}
	return find(Warning, "lag", remedy, "is %d txns behind the leader", behind)
}

// The differences of clocks that are worth a word. Answers take up to a second.
const (
	skewWarn  = 3 * time.Second
	skewError = 30 * time.Second
)

// Clock is the finding of a clock that differs from another one.
func Clock(skew time.Duration, from string) []Finding {
	skew = skew.Truncate(time.Second)
	severity := Warning
	switch away := max(skew, -skew); {
	case away < skewWarn:
		return nil
	case away >= skewError:
		severity = Error
	}
	const remedy = "let NTP set the clock; ctime, mtime and TTLs come from the leader's clock"
	return []Finding{find(severity, "clock", remedy, "its clock differs from %s by %v", from, skew)}
}
