package visible

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
)

// The preview of a change says who votes now and then, and how many may fail.
func TestReconfigurationIsPreviewed(t *testing.T) {
	now, err := config.ParseMembers([]byte("server.1=a:1:2;3\nserver.2=b:1:2;3\nserver.3=c:1:2;3\nversion=500000007"))
	require.NoError(t, err)
	for _, c := range []struct{ join, leave, want string }{
		{"", "", "3/0 2 1 -> 3/0 2 1"},
		{"server.4=d:1:2;3", "", "3/0 2 1 -> 4/0 3 1"},
		{"server.3=c:1:2:observer;3", "", "3/0 2 1 -> 2/1 2 0"},
		{"server.4=d:1:2;3,server.5=e:1:2;3", "2", "3/0 2 1 -> 4/0 3 1"},
	} {
		next := must.Do(now.Changed(c.join, c.leave))(t)
		r := reconfigurationOf(now, next)
		require.Equal(t, "0x500000007", r.Version)
		voting := func(v Voting) string {
			return fmt.Sprintf("%d/%d %d %d", v.Voters, v.Observers, *v.Quorum, *v.MayFail)
		}
		require.Equal(t, c.want, voting(r.Now)+" -> "+voting(r.After), c)
	}
	next := must.Do(now.Changed("server.4=d:1:2;3,server.3=c:1:2:observer;3", "1"))(t)
	require.Equal(t, []ServerChange{{1, "a:1:2:participant;0.0.0.0:3", "", true, false},
		{2, "b:1:2:participant;0.0.0.0:3", "b:1:2:participant;0.0.0.0:3", true, true},
		{3, "c:1:2:participant;0.0.0.0:3", "c:1:2:observer;0.0.0.0:3", true, false},
		{4, "", "d:1:2:participant;0.0.0.0:3", false, true}}, reconfigurationOf(now, next).Servers)

	groups := &config.Quorum{Hierarchical: true, Members: now.Members}
	require.Nil(t, votingOf(groups).MayFail)
}
