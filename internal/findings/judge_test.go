package findings

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// now is the time of the tests, and early long before it.
var (
	now   = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	early = now.Add(-24 * time.Hour)
)

// three is a healthy ensemble, of which server 1 leads.
func three() []Server {
	all := make([]Server, 3)
	for i := range all {
		id := int64(i + 1)
		all[i] = Server{ID: id, Address: fmt.Sprintf("zk%d:2181", id), Voter: true, Heard: now, Clock: now,
			Instance: uint64(id), Began: early, Since: early, Mode: "follower", Serving: true, Zxid: 5<<32 + 100,
			Version: "1",
			Members: "server.1=a\nserver.2=b\nserver.3=c", Settings: map[string]string{"tickTime": "2000"}}
	}
	all[0].Mode, all[0].Voters, all[0].Synced = "leader", 3, 2
	return all
}

// dead makes a server of three one that does not answer since 12 hours, and tells the leader.
func dead(all []Server, i int) {
	all[i].Silent, all[i].SilentSince = "connection refused", now.Add(-12*time.Hour)
	all[0].Synced--
	all[0].Absent = append(all[0].Absent, all[i].ID)
}

func looking(s *Server) {
	s.Mode, s.Serving, s.Voters, s.Synced = "looking", false, 0, 0
	s.WaitsFor = "no leader has been elected: the others have not been heard from"
}

// Each accident has its findings, those of other servers, too.
func TestEnsemble(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(all []Server)
		want  []string
	}{
		"nothing":         {func([]Server) {}, nil},
		"a voter is dead": {func(all []Server) { dead(all, 2) }, []string{"error no-spare", "error unreachable 3"}},
		"all voters but the one whose weight decides are dead": {func(all []Server) {
			all[0].Members += "\ngroup.1=1:2:3\nweight.1=3\nweight.2=1\nweight.3=1"
			dead(all, 1)
			dead(all, 2)
		}, []string{"error unreachable 2", "error unreachable 3"}},
		"a voter was drained and is away": {func(all []Server) {
			dead(all, 2)
			all[2].Drained = now.Add(-time.Minute)
		}, []string{"notice no-spare", "notice stopped 3"}},
		"it stays away": {func(all []Server) { dead(all, 2); all[2].Drained = now.Add(-stopped) },
			[]string{"error no-spare", "error unreachable 3"}},
		"it comes back": {func(all []Server) {
			all[0].Synced, all[0].Absent = 1, []int64{3}
			looking(&all[2])
			all[2].Drained, all[2].Began = now.Add(-time.Minute), now.Add(-time.Second)
		}, []string{"notice no-spare", "notice not-serving 3"}},
		"it serves, and the leader was asked before": {func(all []Server) {
			all[0].Synced, all[2].Began = 1, now.Add(-time.Second)
		}, []string{"notice no-spare"}},
		"it was drained, and was asked before it ended": {func(all []Server) {
			all[0].Synced, all[2].Draining = 1, true
		}, []string{"notice drained 3", "notice no-spare"}},
		"it says that it serves, and the leader does not count it": {func(all []Server) { all[0].Synced = 1 },
			[]string{"error no-spare"}},
		"an observer is dead": {func(all []Server) {
			dead(all, 2)
			all[2].Voter, all[0].Synced, all[0].Voters = false, 1, 2
		}, []string{"error unreachable 3"}},
		"the leader of an ensemble of ZooKeeper takes no clients": {func(all []Server) {
			all[0].Mode, all[0].Serving, all[0].Voters, all[0].Answer = "", false, 0, "not currently serving requests"
		}, []string{"notice leader-not-asked", "notice not-serving 1"}},
		"so does a server that waits, beside it": {func(all []Server) {
			for i := range 2 {
				all[i].Mode, all[i].Serving, all[i].Voters = "", false, 0
				all[i].Answer = "not currently serving requests"
			}
		}, []string{"error not-serving 1", "error not-serving 2", "notice leader-not-asked"}},
		"the leader knows that one is away, whose port nobody knows": {func(all []Server) {
			dead(all, 2)
			all[2] = Server{ID: 3, Voter: true}
		}, []string{"error no-spare", "error unreachable 3"}},
		"the leader hears one whose port nobody knows": {func(all []Server) {
			all[2] = Server{ID: 3, Voter: true}
		}, nil},
		"a firewall is before the client ports of the others": {func(all []Server) {
			all[1] = Server{ID: 2, Voter: true, Silent: "timed out after a second"}
			all[2] = Server{ID: 3, Voter: true, Silent: "timed out after a second"}
		}, []string{"notice not-known 2", "notice not-known 3"}},
		"the same, seen from a follower": {func(all []Server) {
			all[0] = Server{ID: 1, Voter: true, Silent: "timed out after a second"}
			all[1] = Server{ID: 2, Voter: true, Silent: "timed out after a second"}
		}, []string{"notice leader-not-asked", "notice not-known 1", "notice not-known 2"}},
		"one that was never heard is away": {func(all []Server) {
			dead(all, 2)
			all[2].Heard = time.Time{}
		}, []string{"error no-spare", "error unreachable 3"}},
		"quorum lost": {func(all []Server) { dead(all, 1); dead(all, 2); looking(&all[0]) },
			[]string{"critical no-quorum", "error not-serving 1", "error unreachable 2", "error unreachable 3"}},
		"quorum lost this moment": {func(all []Server) {
			dead(all, 1)
			dead(all, 2)
			looking(&all[0])
			all[0].Since = now
		}, []string{"critical no-quorum", "error not-serving 1", "error unreachable 2", "error unreachable 3"}},
		"an election": {func(all []Server) {
			for i := range all {
				looking(&all[i])
				all[i].Since = now.Add(-time.Second)
			}
		}, []string{"notice election", "notice not-serving 1", "notice not-serving 2", "notice not-serving 3"}},
		"the first of a new ensemble": {func(all []Server) {
			looking(&all[0])
			all[0].Since, all[0].Blank = now, true
			all[1] = Server{ID: 2, Voter: true}
			all[2] = Server{ID: 3, Voter: true, Silent: "connection refused"}
		}, []string{"notice election", "notice not-known 2", "notice not-serving 1",
			"notice unreachable 3"}},
		"an election without end": {func(all []Server) {
			for i := range all {
				looking(&all[i])
			}
		}, []string{"critical no-quorum", "error not-serving 1", "error not-serving 2", "error not-serving 3"}},
		"two leaders": {func(all []Server) { all[1].Mode = "leader" }, []string{"critical several-leaders"}},
		"a leader has replaced another": {func(all []Server) {
			all[1].Mode, all[1].Since = "leader", now
		}, []string{"notice several-leaders"}},
		"cut off, reads only": {func(all []Server) {
			all[2].Mode, all[2].Serving, all[0].Synced = "read-only", false, 1
		}, []string{"error no-spare", "error read-only 3"}},
		"drained": {func(all []Server) {
			all[2].Draining, all[2].Drained = true, now
		}, []string{"notice drained 3"}},
		"a full disk": {func(all []Server) { all[2].Own = Disk(true, -1) }, []string{"error disk-full 3"}},
		"a stranger": {func(all []Server) {
			looking(&all[2])
			all[2].Outside = &History{Server: 1, Reason: "other history", Own: "a", Theirs: "b"}
			all[0].Strangers = []History{{Server: 3, Reason: "other history"}}
			all[0].Synced = 1
		}, []string{"critical outside 3", "error no-spare"}},
		"a stranger, as a follower heard": {func(all []Server) {
			looking(&all[2])
			all[0].Absent, all[0].Synced = []int64{3}, 1
			all[1].Strangers = []History{{Server: 3, Reason: "other history"}}
		}, []string{"error no-spare", "error not-serving 3", "error other-history 2"}},
		"a stranger that was adopted": {func(all []Server) {
			all[1].Strangers = []History{{Server: 3, Reason: "other history"}}
		}, nil},
		"databases are missing": {func(all []Server) {
			for i := range all {
				looking(&all[i])
				all[i].Stuck, all[i].WayOut = true, "bring them back"
			}
			all[2].Blank = true
		}, []string{"critical databases-missing", "warning blank 3"}},
		"two servers with one id": {func(all []Server) { all[2].ID = 2 }, []string{"critical same-id 2"}},
		"one of them has the place of another, and waits": {func(all []Server) {
			all[2].ID, all[2].Blank, all[0].Synced, all[0].Absent = 2, true, 1, []int64{3}
			looking(&all[2])
		}, []string{"critical same-id 2", "error no-spare"}},
		"a twin that only the leader knows": {func(all []Server) {
			all[0].Rivals = []Rival{{Server: 3, Host: "d", Away: true}}
		}, []string{"critical same-id 3"}},
		"a twin that looks for a leader while the member serves": {func(all []Server) {
			all[0].Rivals, all[2].Since = []Rival{{Server: 3, Host: "d", Heard: now}}, now.Add(-settles)
			all[1].Rivals = all[0].Rivals
		}, []string{"critical same-id 3"}},
		"a member that looked for a leader before it served": {func(all []Server) {
			all[0].Rivals = []Rival{{Server: 3, Host: "d", Heard: now}}
			all[2].Since = now.Add(-time.Second)
		}, nil},
		"a member that moved": {func(all []Server) {
			all[0].Rivals = []Rival{{Server: 3, Host: "d", Heard: now}}
			dead(all, 2)
		}, []string{"error no-spare", "error unreachable 3"}},
		"a twin that was asked, and that the leader knows": {func(all []Server) {
			all[1].ID = 3
			looking(&all[1])
			all[0].Rivals, all[1].Members = []Rival{{Server: 3, Host: "d", Away: true}}, "server.3=d"
		}, []string{"critical same-id 3"}},
		"a server of which one list tells": {func(all []Server) {
			all[2] = Server{ID: 9, Voter: true, Silent: "connection refused"}
		}, nil},
		"other lists": {func(all []Server) { all[2].Members = "server.1=a" },
			[]string{"error different-members 1", "error different-members 2", "error different-members 3"}},
		"lists that are changed by restarts": {func(all []Server) {
			all[2].Members, all[2].Began = "server.1=a", now
		}, []string{"notice different-members 1", "notice different-members 2", "notice different-members 3"}},
		"lists that are changed while a server does not serve": {func(all []Server) {
			looking(&all[2])
			all[2].Members, all[2].Began, all[0].Synced = "server.1=a", now, 1
		}, []string{"error different-members 1", "error different-members 2", "error different-members 3",
			"notice no-spare", "notice not-serving 3"}},
		"a list that is on its way": {func(all []Server) {
			all[2].Members, all[2].ConfigVersion = "server.1=a", 5
		}, nil},
		"other settings": {func(all []Server) { all[2].Settings = map[string]string{"tickTime": "500"} },
			[]string{"warning different-settings"}},
		"an upgrade": {func(all []Server) { all[2].Version = "2" }, []string{"notice different-versions"}},
		"an upgrade, of servers that tell clients the same": {func(all []Server) {
			all[0].Program, all[1].Program, all[2].Program = "Warren 0.2.0", "Warren 0.2.0", "Warren 0.3.0"
		}, []string{"notice different-versions"}},
		"a server that does not tell its program": {func(all []Server) {
			all[0].Program, all[1].Program = "Warren 0.2.0", "Warren 0.2.0"
		}, nil},
		"far behind": {func(all []Server) { all[0].Zxid += 20_000 }, []string{"warning lag 2", "warning lag 3"}},
		"a new epoch, of which the leader has not told yet": {func(all []Server) { all[2].Zxid = 6<<32 + 1 }, nil},
		"an old epoch": {func(all []Server) { all[0].Zxid = 6<<32 + 20_000 }, []string{"error lag 2", "error lag 3"}},
		"a clock": {func(all []Server) { all[2].Clock = now.Add(-time.Minute) },
			[]string{"error clock 3"}},
		"not in the ensemble": {func(all []Server) { all[2].Mode, all[0].Synced = "standalone", 1 },
			[]string{"critical not-in-ensemble 3", "error no-spare"}},
	} {
		t.Run(name, func(t *testing.T) {
			all := three()
			c.spoil(all)
			found := Ensemble(all, now, LagMax)
			var got []string
			for _, f := range found {
				text := f.Severity.String() + " " + f.Check
				if f.Server != NoServer {
					text += fmt.Sprint(" ", f.Server)
				}
				require.NotEmpty(t, f.What)
				require.True(t, f.Remedy != "" || f.Severity == Notice, "%+v", f)
				got = append(got, text)
			}
			slices.Sort(got)
			require.Equal(t, c.want, got, "%+v", found)
			slices.Reverse(all)
			require.Len(t, Ensemble(all, now, LagMax), len(found), "the order does not matter")
		})
	}
}

// What a lost quorum says names those that are missing, with the reason.
func TestLostQuorumSaysWhy(t *testing.T) {
	all := three()
	dead(all, 1)
	dead(all, 2)
	looking(&all[0])
	all[0].Since = now.Add(-time.Minute)
	f := Ensemble(all, now, LagMax)[0]
	require.Equal(t, "no-quorum", f.Check, "the most urgent first")
	require.Equal(t, "there is no leader, and no client can write; no answer from server 2 and server 3 "+
		"(zk2:2181: connection refused; zk3:2181: connection refused)", f.What)
	require.Equal(t, all[0].Since, f.Since)
	f = Ensemble(append(all, Server{}), now, LagMax)[1]
	require.True(t, strings.HasPrefix(f.Text(), "server "), f.Text())
}

// Who has asked nobody with success does not know whether clients are served, and says so.
// A server may have the id 0, as one that stands alone has; the texts of an ensemble name it all the same.
func TestServerZeroIsNamed(t *testing.T) {
	all := three()
	all[2].ID, all[2].Silent = 0, "connection refused"
	all[0].Absent, all[0].Synced = []int64{0}, 1
	for i := range all {
		all[i].Members = "server.1=a\nserver.2=b\nserver.0=c"
	}
	found := Ensemble(all, now, LagMax)
	i := slices.IndexFunc(found, func(f Finding) bool { return f.Check == "unreachable" })
	require.Equal(t, "server 0: does not answer: connection refused", found[i].Text())

	alone := Server{Heard: now, Mode: "standalone", Serving: true, Own: Disk(true, 0)}
	require.True(t, strings.HasPrefix(Ensemble([]Server{alone}, now, LagMax)[0].Text(), "its disk has less"))
}

func TestNobodyAnswers(t *testing.T) {
	all := []Server{{ID: NoServer, Address: "zk1:2181", Named: true, Silent: "no address", Nameless: true},
		{ID: NoServer, Address: "zk2:2181", Named: true, Silent: "no address", Nameless: true}}
	found := Ensemble(all, now, LagMax)
	require.Equal(t, []string{"error name", "error name", "error not-known"}, of(found))
	require.Equal(t, "cannot be asked by its name: no address", found[0].What)
	all[1].Nameless, all[1].Silent = false, "connection refused"
	found = Ensemble(all, now, LagMax)
	require.Equal(t, []string{"critical no-quorum", "error name", "error unreachable"}, of(found))
	require.Equal(t, "no answer from zk1:2181 and zk2:2181 (zk1:2181: no address; zk2:2181: connection refused): no "+
		"client can write, unless other machines reach them", found[0].What)
	all[0].Nameless, all[0].Silent = false, "connection refused"
	require.Equal(t, "no answer from zk1:2181 and zk2:2181 (connection refused): no client can write, unless other "+
		"machines reach them", Ensemble(all, now, LagMax)[0].What)

	two := three()[1]
	two.Silent, two.Heard = "", now
	all = Merge([]Server{three()[0], {ID: NoServer, Address: two.Address, Named: true, Silent: "no address",
		Nameless: true}}, []Server{two, three()[2]})
	require.Contains(t, of(Ensemble(all, now, LagMax)), "error name")
	require.Equal(t, "no address; other servers hear it", all[1].Silent)
}

// A server that was asked by somebody else only counts as well, with what is known last.
func TestMerge(t *testing.T) {
	all := three()
	dead(all, 2)
	all[2].Drained = now.Add(-time.Minute)
	asked := []Server{all[0], {ID: NoServer, Address: "zk3:2181", Silent: "no route"}}
	merged := Merge(asked, []Server{all[1], all[2]})
	require.Len(t, merged, 3)
	require.Equal(t, []any{int64(3), "zk3:2181", "no route", all[2].Drained},
		[]any{merged[1].ID, merged[1].Address, merged[1].Silent, merged[1].Drained})
	require.Equal(t, all[1], merged[2])

	asked[1].Address = "other:2181" // nobody else knows the address: it is the one that is missing
	merged = Merge(asked, []Server{all[1], {ID: 3, Voter: true}})
	require.Equal(t, int64(3), merged[1].ID)
	merged = Merge(append(asked, Server{ID: NoServer, Address: "one:2181", Silent: "no route"}),
		[]Server{{ID: 2}, {ID: 3}})
	require.Len(t, merged, 3, "two do not answer, two are not known: nobody counts twice")
	merged = Merge([]Server{all[0], all[1], {ID: NoServer, Address: "zk2:2182", Silent: "x"}}, []Server{all[1]},
		[]Server{all[0]})
	require.Len(t, merged, 3)
}

// A server that stands alone is no error in the moment in which it starts or stops.
func TestAloneBetween(t *testing.T) {
	alone := Server{ID: NoServer, Mode: "standalone", Heard: now, Since: now}
	found := Ensemble([]Server{alone}, now.Add(time.Second), LagMax)
	require.Len(t, found, 1)
	require.Equal(t, Notice, found[0].Severity, "%+v", found)
	found = Ensemble([]Server{alone}, now.Add(time.Minute), LagMax)
	require.Equal(t, Error, found[0].Severity, "%+v", found)
}

// A server that hears nothing of the others between servers is told which ports are in question if the others do hear
// each other.
func TestServerThatHearsNoLeader(t *testing.T) {
	remedy := func(all []Server) string {
		for _, f := range Ensemble(all, now, LagMax) {
			if f.Check == "not-serving" {
				return f.Remedy
			}
		}
		return ""
	}
	all := three()
	all[0].Synced, all[0].Absent = 1, []int64{3}
	looking(&all[2])
	require.Contains(t, remedy(all), "server 1 leads, but does not hear from it: both ports of the server.N lines")
	for i := range all {
		looking(&all[i])
	}
	require.Contains(t, remedy(all), "look at the servers that it names")
}
