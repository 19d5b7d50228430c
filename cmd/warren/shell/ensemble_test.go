package shell

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
)

// An ensemble whose groups were left out would count majorities from then on.
func TestReconfigReadsGroupsAndWeights(t *testing.T) {
	file := filepath.Join(t.TempDir(), "zoo.cfg.dynamic")
	require.NoError(t, os.WriteFile(file, []byte("# next week's\n server.1=a:1:2;3\r\nserver.2 = b:1:2;3\n"+
		"server.3=c:1:2;3\ngroup.1=1\ngroup.2=2\ngroup.3=3\nweight.2=0\n"), 0o600))
	members := must.Do(readMembers(file))(t)
	q := must.Do(config.Replaced(members))(t) // as a server does
	require.True(t, q.Hierarchical)
	require.Len(t, q.Members, 3)
	require.Len(t, q.Groups, 3)
	require.Zero(t, q.Member(2).Weight)
}

// A dynamic configuration has the syntax of a zoo.cfg, in which ZooKeeper's shell reads it.
func TestReconfigReadsProperties(t *testing.T) {
	file := filepath.Join(t.TempDir(), "zoo.cfg.dynamic")
	require.NoError(t, os.WriteFile(file, []byte("server.1=a:1:2\\\n  :participant;3\nserver.2 b:1:2;3\n"+
		"server.3=old:1:2;3\nserver.3: c\\:1:2;3\n\\\nversion=100000000\n"), 0o600))
	members := must.Do(readMembers(file))(t)
	require.Equal(t, "server.1=a:1:2:participant;3,server.2=b:1:2;3,server.3=c:1:2;3", members)

	require.NoError(t, os.WriteFile(file, []byte("server.1=\\uzz\n"), 0o600))
	require.ErrorContains(t, must.Err(readMembers(file)), "malformed")
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

func TestHasChroot(t *testing.T) {
	for connect, want := range map[string]bool{"a:1,b": false, "a:1/": false, "a:1/app": true,
		"dns-srv://zk.test": false, "dns-srv://zk.test/": false, "dns-srv://zk.test/app": true} {
		require.Equal(t, want, hasChroot(connect), connect)
	}
}

// Quotas and the configuration are at paths of the whole tree.
func TestBelowAChroot(t *testing.T) {
	root := quiet(t).tree("/a 1")
	x := open(t, Options{Servers: address + root, Quiet: true})
	for command, want := range map[string]string{"setquota -n 5 /a": "below a chroot would have no effect: /a",
		"config -w": "cannot watch /zookeeper/config below a chroot"} {
		require.Contains(t, x.fails(command), want)
	}
	require.Equal(t, "[a]\n", x.must("ls /"))
	x = open(t, Options{Servers: address + "/", Quiet: true})
	x.must("setquota -n 5 "+root+"/a", "delquota "+root+"/a")
	_, errs, _ := x.do("config -w")
	require.NotContains(t, errs, "chroot")
}

// A setquota that was cut off half way is completed by the next one.
func TestQuotaIsCompleted(t *testing.T) {
	x := quiet(t)
	root := x.tree("/a 123")
	x.must("create -p /zookeeper/quota"+root+"/zookeeper_limits count=5,bytes=-1", "setquota -n 9 "+root)
	require.Contains(t, x.must("listquota "+root), "Output stat for "+root+" count=2,bytes=3")
	x.must("delquota " + root)
}
