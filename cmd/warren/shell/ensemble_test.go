package shell

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/server/config"
)

// An ensemble whose groups were left out would count majorities from then on.
func TestReconfigReadsGroupsAndWeights(t *testing.T) {
	file := filepath.Join(t.TempDir(), "zoo.cfg.dynamic")
	require.NoError(t, os.WriteFile(file, []byte("# next week's\n server.1=a:1:2;3\r\nserver.2 = b:1:2;3\n"+
		"server.3=c:1:2;3\ngroup.1=1\ngroup.2=2\ngroup.3=3\nweight.2=0\n"), 0o600))
	members, err := readMembers(file)
	require.NoError(t, err)
	q, err := config.Replaced(members) // as a server does
	require.NoError(t, err)
	require.True(t, q.Hierarchical)
	require.Len(t, q.Members, 3)
	require.Len(t, q.Groups, 3)
	require.Zero(t, q.Member(2).Weight)
}

// What is wrong with a reconfiguration is nothing that a znode explains.
func TestReconfigHints(t *testing.T) {
	for err, want := range map[error]string{client.ErrBadArguments: "the leader's log says",
		client.ErrBadVersion: "`config` ends with its version", client.ErrNoAuth: "a super user"} {
		f := (&Shell{}).reconfigFailed(&client.Error{Op: "reconfig", Err: err}, nil)
		require.Equal(t, codeFailed, f.code)
		require.Contains(t, f.hint, want)
		require.NotContains(t, f.hint, "znode")
		require.NotContains(t, f.hint, "getAcl")
	}
}
