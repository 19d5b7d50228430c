package host

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

func TestSearchSaysWhatToDo(t *testing.T) {
	ids := func(all ...proto.ServerID) []proto.ServerID { return all }
	for name, tt := range map[string]struct {
		search         zab.Search
		reason, wayOut string
	}{
		"all vote": {reason: "no leader has been elected"},
		"alone": {search: zab.Search{Silent: ids(2, 3)},
			reason: "no leader has been elected: servers 2 and 3 have not been heard from"},
		"one is blank": {search: zab.Search{Blank: ids(1), Silent: ids(2)},
			reason: "no leader has been elected: server 1 has no database, server 2 has not been heard from"},
		"disks lost": {search: zab.Search{Blank: ids(1, 2), Holding: ids(3), Stuck: true},
			reason: stuck + "; server 3 has a database, servers 1 and 2 have no database",
			wayOut: "bring the disks of servers 1 and 2 back; if they are lost for good, run warren recover " +
				"on a server that has data"},
		"all disks lost": {search: zab.Search{Blank: ids(1, 2, 3), Stuck: true},
			reason: stuck + "; servers 1, 2 and 3 have no database",
			wayOut: "bring the disks of a majority back; if all of them are lost for good, restore a " +
				"backup on all servers"},
		"not all run": {search: zab.Search{Blank: ids(1, 2), Silent: ids(3), Stuck: true},
			reason: stuck + "; servers 1 and 2 have no database, server 3 has not been heard from",
			wayOut: "start server 3, with its data if it has any; if disks are lost for good, run warren recover on " +
				"a server that has data"},
		"new, with ZooKeeper": {search: zab.Search{Blank: ids(2, 3), Empty: ids(1), Stuck: true},
			reason: stuck + "; servers 2 and 3 have no database, server 1 has an empty tree",
			wayOut: "if the ensemble is new and has ZooKeeper servers, put a file initialize into " +
				"dataDir of servers 2 and 3 and restart them"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSearch(&tt.search)
			require.Equal(t, tt.reason, s.Reason)
			require.Equal(t, tt.wayOut, s.WayOut)
		})
	}
	require.Nil(t, newSearch(nil))
}

// The log says that there is no leader once a minute, and not while the servers of a new ensemble start.
func TestLeaderlessServerIsLoggedEachMinute(t *testing.T) {
	var s leaderless
	now := time.Unix(1000, 0)
	warned := 0
	during := func(looks bool, d time.Duration) (n int) {
		for end := now.Add(d); now.Before(end); now = now.Add(surveyEvery) {
			if s.warns(looks, now) {
				n++
			}
		}
		warned += n
		return n
	}
	require.Zero(t, during(false, time.Hour))
	require.Zero(t, during(true, leaderlessAfter))
	require.Zero(t, during(false, surveyEvery))
	require.Zero(t, during(true, leaderlessAfter))
	require.Equal(t, 1, during(true, time.Minute))
	require.Equal(t, 5, during(true, 5*time.Minute))
	require.Zero(t, during(false, time.Minute))
	require.Zero(t, during(true, leaderlessAfter))
	require.Equal(t, 1, during(true, time.Second))
}
