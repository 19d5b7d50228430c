package findings

import "fmt"

// Waits is the finding of a server that runs, does not serve and says what it waits for.
func Waits(reason string) Finding {
	return Finding{Error, "not-serving", "runs and does not serve: " + reason, "look at the servers that it names, " +
		"also with /readyz and warren status, and at the network between them"}
}

// NotServing is the finding of a server that runs and does not serve, with what else it says.
func NotServing(answer string) Finding {
	return Finding{Error, "not-serving", "runs and does not serve: " + answer, "see what it waits for, with " +
		"/readyz or warren status: it has no quorum, or it loads its data"}
}

// Drained is the finding of a server that an operator drains.
func Drained() Finding {
	return Finding{Notice, "drained", "is drained: it takes no clients",
		"when the work on it is done, restart it, or let it take clients again with warren drain --resume"}
}

// ReadOnly is the finding of a server that has lost its ensemble and serves reads.
func ReadOnly() Finding {
	return Finding{Error, "read-only", "is cut off from the quorum and serves reads only",
		"find out why it is cut off: look at the network between the servers"}
}

// RemedyOutside is what to do about a server with another history.
const RemedyOutside = "find out where its directory comes from, with warren doctor and the directories of all " +
	"servers; if what the ensemble has is right, stop this server, run warren adopt on its directory, and start it"

// Outside is the finding of a server whose directory has another history, own, than that of the leader, theirs, which
// may be empty.
func Outside(server, leader int64, reason, own, theirs string) Finding {
	if theirs != "" {
		theirs = "; the leader has: " + theirs
	}
	return Finding{Critical, "outside", fmt.Sprintf("server %d stays outside the ensemble that server %d leads: %s; "+
		"it has: %s%s", server, leader, reason, own, theirs), RemedyOutside}
}

// OtherHistory is the finding of another server with another history.
func OtherHistory(server, other int64, reason, theirs string) Finding {
	return Finding{Error, "other-history", fmt.Sprintf("server %d says that server %d has another history: %s; that "+
		"server has: %s", server, other, reason, theirs), RemedyOutside}
}

// Stuck is the finding of an ensemble in which too many databases are missing for an election.
func Stuck(reason, wayOut string) Finding {
	return Finding{Critical, "databases-missing", reason, wayOut}
}

// Absent is the finding of a leader without one of its servers.
func Absent(server int64) Finding {
	return Finding{Error, "unreachable", fmt.Sprintf("server %d is not connected to the leader", server),
		"check whether it runs, and check the network"}
}
