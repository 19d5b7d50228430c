package server

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree/quota"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// All quotas below one top-level znode are added up.
func TestQuotasByNamespace(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	quotas := func() []string {
		all := []string{}
		for _, g := range s.facts.Gauges() {
			if g.Namespace != "" {
				all = append(all, fmt.Sprintf("%s %s %v", g.Namespace, g.Name, g.Value))
			}
		}
		return all
	}
	require.Empty(t, quotas())
	c := dialWire(t, s, wire.Options{})
	create := func(path, data string) {
		require.NoError(t, must.Err(c.Create(path, []byte(data), proto.ModePersistent)), path)
	}
	for _, path := range []string{"/b", "/b/c", "/a", "/zookeeper/quota/b", "/zookeeper/quota/b/c",
		"/zookeeper/quota/a", "/zookeeper/quota/empty"} {
		create(path, "")
	}
	// By zkCli.sh.
	create("/zookeeper/quota/b/zookeeper_limits", "count=10,bytes=100=;byteHardLimit=-1;countHardLimit=-1")
	create("/zookeeper/quota/b/zookeeper_stats", "count=2,bytes=0")
	create("/zookeeper/quota/b/c/zookeeper_limits", "count=5,bytes=50,countHardLimit=4")
	create("/zookeeper/quota/a/zookeeper_stats", "count=1,bytes=9") // counted anew
	require.Equal(t, []string{
		"a quota_count_usage_per_namespace 1", "a quota_bytes_usage_per_namespace 0",
		"b quota_count_limit_per_namespace 14", "b quota_bytes_limit_per_namespace 150",
		"b quota_count_usage_per_namespace 2", "b quota_bytes_usage_per_namespace 0",
	}, quotas())
	require.Equal(t, "b", quota.Namespace([]byte("/b/c")))
	require.Equal(t, "", quota.Namespace([]byte("/")))
}

// A hard quota limits the children of a znode for all clients. Requests in the pipeline may exceed it when it is
// reached.
func TestHardQuotaBoundsTheChildren(t *testing.T) {
	cfg := memConfig()
	cfg.EnforceQuota = true
	s, owner := serveOne(t, cfg)
	const limit = 1000
	for _, znode := range [][2]string{{"/busy", ""}, {"/zookeeper/quota/busy", ""},
		{"/zookeeper/quota/busy/zookeeper_stats", "count=1,bytes=0"},
		{"/zookeeper/quota/busy/zookeeper_limits",
			fmt.Sprintf("count=-1,bytes=-1=;byteHardLimit=-1;countHardLimit=%d", limit)}} {
		require.NoError(t, must.Err(owner.Create(znode[0], []byte(znode[1]), proto.ModePersistent)), znode[0])
	}
	var calls []*wire.Call
	for i := range 8 {
		c := dialWire(t, s, wire.Options{})
		var requests []wire.Request
		for range 2000 {
			requests = append(requests, wire.Create(fmt.Sprintf("/busy/n-%d-", i), nil, wire.OpenACL,
				proto.ModePersistentSequential))
		}
		calls = append(calls, c.SendAll(requests)...)
	}
	created := 0
	for _, call := range calls {
		require.NoError(t, call.Wait())
		switch call.Reply.Header.Err {
		case proto.OK:
			created++
		default:
			require.Equal(t, proto.ErrQuotaExceeded, call.Reply.Header.Err)
		}
	}
	names := owner.MustChildren(t, "/busy", false)
	require.Equal(t, len(names), created)
	require.GreaterOrEqual(t, created, limit-1, "the znode itself counts")
	require.LessOrEqual(t, created, limit+cfg.GlobalOutstandingLimit)
	require.ErrorIs(t, must.Err(owner.Create("/busy/more", nil, proto.ModePersistent)), proto.ErrQuotaExceeded)
	for i := range created - (limit - 2) {
		require.NoError(t, owner.Delete("/busy/"+names[i], -1))
	}
	owner.MustCreate(t, "/busy/more", nil, proto.ModePersistent)
	_, err := owner.Create("/busy/less", nil, proto.ModePersistent)
	require.ErrorIs(t, err, proto.ErrQuotaExceeded, "one after the other they are counted exactly")

	_, c := serveOne(t, memConfig())
	for _, znode := range [][2]string{{"/busy", ""}, {"/zookeeper/quota/busy", ""},
		{"/zookeeper/quota/busy/zookeeper_stats", "count=1,bytes=0"},
		{"/zookeeper/quota/busy/zookeeper_limits", "count=-1,bytes=-1=;byteHardLimit=-1;countHardLimit=1"},
		{"/busy/more", ""}} {
		_, err := c.Create(znode[0], []byte(znode[1]), proto.ModePersistent)
		require.NoError(t, err, "%s: without enforceQuota a quota is a line in the log", znode[0])
	}
}
