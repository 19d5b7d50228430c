package zab

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each test takes a sentence of one of the papers on Zab, brings a core to the state that it speaks of, and
// checks the sentence.
//
//	DSN11: Junqueira, Reed, Serafini: Zab, high-performance broadcast for primary-backup systems, 2011.
//	Med12: Medeiros: ZooKeeper's atomic broadcast protocol, theory and practice, 2012.
//
// The last lines of a script are the check: they are what the core does after the last command.
func last(t *testing.T, lines ...string) string {
	t.Helper()
	text := play(strings.Join(lines, "\n"), func(c Config) Config { return c })
	require.NotContains(t, text, "panic")
	i := strings.LastIndex(text, lines[len(lines)-1]+"\n")
	require.GreaterOrEqual(t, i, 0)
	return text[i+len(lines[len(lines)-1])+1:]
}

func following(log string, more ...string) []string {
	return append([]string{"new id=1 voters=1,2,3 accepted=4 current=4 log=" + log,
		"notify from=3 state=2 leader=3 zxid=0 epoch=4 round=1",
		"notify from=2 state=1 leader=3 zxid=0 epoch=4 round=1", "up link=1"}, more...)
}

func leadingFrom(log string, more ...string) []string {
	end := log[:strings.Index(log, "-")-1] + log[strings.Index(log, "-")+1:]
	vote := " state=0 leader=3 zxid=" + end + " epoch=4 round=1"
	return append([]string{"new id=3 voters=1,2,3 accepted=4 current=4 log=" + log, "notify from=1" + vote,
		"notify from=2" + vote, "accept"}, more...)
}

// Reference: DSN11 section 4.1, step f.1.2 of discovery: "Upon receiving NEWEPOCH(e') from the prospective leader
// l, if e' is larger than the last acknowledged epoch, then acknowledge"; otherwise it goes back to phase 0.
func TestPaperFollowerRefusesOldEpoch(t *testing.T) {
	got := last(t, following("4.1-3", "LEADERINFO link=1 from=3 epoch=3")...)
	require.Contains(t, got, "is LOOKING")
	require.NotContains(t, got, "send ACKEPOCH")
}

// Reference: DSN11 section 4.1, step l.1.1: a leader proposes an epoch "such that e' is later than any" epoch it
// has received in CEPOCH messages from a quorum.
func TestPaperEpochIsLaterThanAny(t *testing.T) {
	got := last(t, leadingFrom("4.1-3", "FOLLOWERINFO link=1 from=1 epoch=9", "persisted")...)
	require.Contains(t, got, "send LEADERINFO to 1 link 1: epoch 10")
}

// Reference: DSN11 section 4.1, step l.1.2: the history of the new epoch is that of the follower with the latest
// epoch and zxid. The implementation elects such a server instead (Med12 section 4.2.2), so a leader that meets a
// later history gives up.
func TestPaperLeaderHasLatestHistory(t *testing.T) {
	for _, more := range []string{"epoch=4 zxid=4.4", "epoch=5 zxid=4.1"} {
		got := last(t,
			leadingFrom("4.1-3", "FOLLOWERINFO link=1 from=1 epoch=5", "persisted", "ACKEPOCH link=1 from=1 "+more)...)
		require.Contains(t, got, "close link 1", more)
		require.Contains(t, got, "is LOOKING", more)
	}
	got := last(t,
		leadingFrom("4.1-3", "FOLLOWERINFO link=1 from=1 epoch=5", "persisted",
			"ACKEPOCH link=1 from=1 epoch=4 zxid=4.3")...)
	require.Contains(t, got, "send NEWLEADER")
}

// Reference: DSN11 section 4.2, step f.2.1: a follower acknowledges NEWLEADER(e', I) only if its last promise was e'.
func TestPaperNewLeaderOfPromisedEpochOnly(t *testing.T) {
	got := last(t, following("4.1-3", "LEADERINFO link=1 from=3 epoch=5", "persisted", "DIFF link=1 from=3 zxid=4.3",
		"NEWLEADER link=1 from=3 epoch=6")...)
	require.Contains(t, got, "is LOOKING")
}

// Reference: DSN11 section 4.3, steps l.3.1 and l.3.2: the leader proposes in increasing order of zxid, and "Upon
// receiving acknowledgments from a quorum of followers to a given proposal, the leader sends a COMMIT".
func TestPaperCommitNeedsQuorum(t *testing.T) {
	up := []string{"FOLLOWERINFO link=1 from=1 epoch=4", "persisted", "ACKEPOCH link=1 from=1 epoch=4 zxid=4.3",
		"persisted", "ACK link=1 from=1 zxid=5.0"}
	got := last(t, leadingFrom("4.1-3", append(up, "propose 2")...)...)
	require.Contains(t, got, "send PROPOSAL to 1 link 1: 5.1..5.1\n  send PROPOSAL to 1 link 1: 5.2..5.2")
	got = last(t, leadingFrom("4.1-3", append(up, "propose 2", "ACK link=1 from=1 zxid=5.1")...)...)
	require.Empty(t, got, "one of three is no quorum, the leader's own log is not durable")
	got = last(t, leadingFrom("4.1-3", append(up, "propose 2", "ACK link=1 from=1 zxid=5.1", "persisted")...)...)
	require.Contains(t, got, "send COMMIT to 1 link 1: 5.1")
	require.NotContains(t, got, "5.2")
}

// Reference: DSN11 section 4.3, step f.3.2: a follower commits a txn if it has received COMMIT for it "and it has
// committed all" txns before it.
func TestPaperCommitInOrder(t *testing.T) {
	up := following("4.1-3", "LEADERINFO link=1 from=3 epoch=4", "DIFF link=1 from=3 zxid=4.3",
		"NEWLEADER link=1 from=3 epoch=4", "UPTODATE link=1 from=3", "PROPOSAL link=1 from=3 txns=4.4",
		"PROPOSAL link=1 from=3 txns=4.5", "persisted")
	require.Contains(t, last(t, append(up, "COMMIT link=1 from=3 zxid=4.5")...), "is LOOKING",
		"4.4 is not committed: the stream is broken")
	require.Contains(t, last(t, append(up, "COMMIT link=1 from=3 zxid=4.4")...), "deliver 4.4..4.4")
}

// Reference: DSN11 section 4.4: "If a leader does not receive heartbeats from a quorum of followers within a
// timeout, the leader renounces leadership"; "the same" holds for a follower and its leader.
func TestPaperSilenceEndsRoles(t *testing.T) {
	got := last(t, leadingFrom("4.1-3", "FOLLOWERINFO link=1 from=1 epoch=4", "persisted",
		"ACKEPOCH link=1 from=1 epoch=4 zxid=4.3", "persisted", "ACK link=1 from=1 zxid=5.0", "tick 40")...)
	require.Contains(t, got, "is LOOKING")
	got = last(t, following("4.1-3", "LEADERINFO link=1 from=3 epoch=4", "DIFF link=1 from=3 zxid=4.3",
		"NEWLEADER link=1 from=3 epoch=4", "tick 21")...)
	require.Contains(t, got, "is LOOKING")
}

// Reference: Med12 section 4.2.1: a peer "changes its vote" to one with a later epoch, then a larger zxid, then a
// larger id.
func TestPaperVoteOrder(t *testing.T) {
	c := leading(t, true)
	order := []Vote{{1, 5, 1}, {2, 5, 1}, {1, 6, 1}, {1, 2, 2}, {3, 2, 2}}
	for i := range order {
		for j := range order {
			require.Equal(t, i > j, c.better(order[i], order[j]), "%v against %v", order[i], order[j])
		}
	}
}
