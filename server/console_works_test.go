package server_test

import (
	"encoding/json"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
)

// plan is the answer to a work that is planned.
type plan struct {
	Znodes     int
	Bytes      int64
	Batches    int
	Seal       string
	Paths      []string
	Ephemerals []string
	Refused    []struct{ Path, Why string }
}

// planOf plans a work, which is then in work with its seal.
func (b *browser) planOf(work map[string]any) (p plan) {
	b.t.Helper()
	resp, body := b.do("POST", "/api/v1/work/plan", work)
	require.Equal(b.t, 200, resp.StatusCode, body)
	require.NoError(b.t, json.Unmarshal([]byte(body), &p))
	work["seal"] = p.Seal
	return p
}

func TestConsoleDeletesASubtree(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.log")
	s, c := withAdmin(t, func(cfg *config.Config) {
		cfg.Admin.ConsoleWrites, cfg.Audit.Enabled, cfg.Audit.File = true, true, file
	})
	create(t, c, "/a", "/a/b", "/a/b/c", "/other")
	c.MustCreate(t, "/a/held", nil, proto.ModeEphemeral)
	b := browse(t, s)
	require.Equal(t, 200, b.login("super", "secret"))
	work := map[string]any{"kind": "delete", "path": "/a"}
	p := b.planOf(work)
	require.Equal(t, 4, p.Znodes)
	require.Equal(t, 1, p.Batches)
	require.Equal(t, []string{"/a/held"}, p.Ephemerals)
	require.Empty(t, p.Refused)

	create(t, c, "/a/new") // behind the back of the visitor
	require.Equal(t, 409, b.status("POST", "/work", work), "the plan that was confirmed is another one")
	b.planOf(work)
	c.MustSetData(t, "/a/b", []byte("changed"), -1)
	require.Equal(t, 409, b.status("POST", "/work", work), "the data that would be deleted has changed")
	b.planOf(work)
	require.Equal(t, 200, b.status("POST", "/work", work))
	var children struct{ Total int }
	b.get("/children?path=/", &children)
	require.Equal(t, 2, children.Total, "/other and /zookeeper are left")
	for _, path := range []string{"/", "/zookeeper", "/zookeeper/quota"} {
		require.Equal(t, 400, b.status("POST", "/work/plan", map[string]any{"kind": "delete", "path": path}), path)
	}
	s.Stop()
	text := must.ReadFile(t, file)
	require.Regexp(t, `user=[^\t]*super[^\n]*operation=delete[^\n]*znode=/a/b/c[^\n]*result=success`, string(text))
}

func TestConsoleDeleteTellsWhatACLsRefuse(t *testing.T) {
	s, c := withAdmin(t, func(cfg *config.Config) { cfg.Admin.ConsoleWrites = true })
	create(t, c, "/a", "/a/own", "/a/own/x", "/a/open", "/bob")
	for path, user := range map[string]string{"/a/own": "eve", "/bob": "bob"} {
		c.MustSetACL(t, path, ownedBy(user, "x"), -1)
	}
	b := browse(t, s)
	require.Equal(t, 200, b.login("bob", "x"))
	work := map[string]any{"kind": "delete", "path": "/a"}
	p := b.planOf(work)
	require.Len(t, p.Refused, 1)
	require.Equal(t, "/a/own", p.Refused[0].Path)
	require.NotContains(t, strings.Join(p.Paths, " "), "/a/own/x", "its name is nothing for this visitor")
	require.Equal(t, 403, b.status("POST", "/work", work))
	require.Equal(t, 403, b.status("GET", "/export?path=/a", nil))
}

func TestConsoleCopiesAndMoves(t *testing.T) {
	s, c := withAdmin(t, func(cfg *config.Config) { cfg.Admin.ConsoleWrites = true })
	create(t, c, "/a", "/a/b", "/a/b/c")
	c.MustSetACL(t, "/a/b", ownedBy("bob", "x"), -1)
	b := browse(t, s)
	require.Equal(t, 200, b.login("super", "secret"))
	for _, into := range []string{"/a", "/a/x"} {
		require.Equal(t, 400,
			b.status("POST", "/work/plan", map[string]any{"kind": "copy", "path": "/a", "to": into}))
	}
	require.NotEmpty(t, b.planOf(map[string]any{"kind": "copy", "path": "/a/b", "to": "/a"}).Refused)
	require.NotEmpty(t, b.planOf(map[string]any{"kind": "copy", "path": "/a/b", "to": "/no/x"}).Refused)
	for kind, to := range map[string]string{"copy": "/copied"} {
		work := map[string]any{"kind": kind, "path": "/a", "to": to}
		require.Equal(t, 3, b.planOf(work).Znodes)
		require.Equal(t, 200, b.status("POST", "/work", work))
	}
	work := map[string]any{"kind": "move", "path": "/a", "to": "/moved"}
	require.Equal(t, 6, b.planOf(work).Znodes)
	require.Equal(t, 200, b.status("POST", "/work", work))
	require.Equal(t, 404, b.status("GET", "/znode?path=/a", nil))
	for _, root := range []string{"/copied", "/moved"} {
		var z struct {
			Data string
			ACL  []struct{ Scheme, ID string }
		}
		b.get("/znode?path="+root+"/b", &z)
		require.Equal(t, "data of /a/b", z.Data)
		require.Equal(t, "digest", z.ACL[0].Scheme, "the ACL is copied, too")
	}
}

func TestConsoleExportsAndImports(t *testing.T) {
	s, c := withAdmin(t, func(cfg *config.Config) { cfg.Admin.ConsoleWrites = true })
	create(t, c, "/a", "/a/b")
	c.MustCreate(t, "/a/bytes", []byte{0xff}, proto.ModePersistent)
	c.MustCreate(t, "/a/held", nil, proto.ModeEphemeral)
	b := browse(t, s)
	require.Equal(t, 200, b.login("super", "secret"))
	var document map[string]any
	b.get("/export?path=/a", &document)
	require.Len(t, document["znodes"], 3, "the ephemeral one stays out")
	work := map[string]any{"kind": "import", "path": "/again", "document": document}
	require.Equal(t, 3, b.planOf(work).Znodes)
	require.Equal(t, 200, b.status("POST", "/work", work))
	var again map[string]any
	b.get("/export?path=/again", &again)
	require.Equal(t, document["znodes"], again["znodes"])
	work["path"] = "/none/below"
	require.NotEmpty(t, b.planOf(work).Refused)
}

func TestConsoleSetsQuotas(t *testing.T) {
	s, c := withAdmin(t, func(cfg *config.Config) { cfg.Admin.ConsoleWrites = true })
	create(t, c, "/a", "/a/b", "/a/b/c")
	b := browse(t, s)
	require.Equal(t, 200, b.login("super", "secret"))
	set := func(path string, count, bytes int) plan {
		work := map[string]any{"kind": "quota", "path": path,
			"limits": map[string]any{"count": count, "bytes": bytes, "countHard": -1, "bytesHard": -1}}
		p := b.planOf(work)
		if len(p.Refused) == 0 {
			require.Equal(t, 200, b.status("POST", "/work", work))
		}
		return p
	}
	var q struct {
		Limits               struct{ Count, Bytes int }
		UsedCount, UsedBytes int
	}
	set("/a/b", 5, 1000)
	b.get("/quota?path=/a/b", &q)
	require.Equal(t, []int{5, 1000, 2}, []int{q.Limits.Count, q.Limits.Bytes, q.UsedCount})
	require.NotEmpty(t, set("/a", 1, 1).Refused, "a znode below has a quota")
	require.NotEmpty(t, set("/a/b/c", 1, 1).Refused, "a znode above has a quota")
	set("/a/b", 6, -1)
	b.get("/quota?path=/a/b", &q)
	require.Equal(t, 6, q.Limits.Count)
	set("/a/b", -1, -1)
	b.get("/quota?path=/a/b", &q)
	require.Equal(t, -1, q.Limits.Count)
	var children struct{ Total int }
	b.get("/children?path=/zookeeper/quota", &children)
	require.Zero(t, children.Total, "what is empty goes with the quota")

	create(t, c, "/zookeeper/quota/a") // a quota of which a client has made the limits only
	c.MustCreate(t, "/zookeeper/quota/a/zookeeper_limits", []byte("count=5,bytes=-1"), proto.ModePersistent)
	set("/a", -1, -1)
	b.get("/children?path=/zookeeper/quota", &children)
	require.Zero(t, children.Total, "so it does without a znode for what is used")
}

func TestConsoleTellsHistory(t *testing.T) {
	s, c := withAdmin(t, func(cfg *config.Config) { cfg.Admin.ConsoleWrites = true })
	create(t, c, "/a", "/open")
	c.MustSetData(t, "/a", []byte("secret"), -1)
	b := browse(t, s)
	require.Equal(t, 401, b.status("GET", "/history?path=/a", nil), "it needs a login")
	c.MustSetACL(t, "/a", ownedBy("bob", "x"), -1)
	require.Equal(t, 200, b.login("bob", "x"))
	type version struct {
		Kind, Zxid string
		Version    int
	}
	var h struct {
		Versions []version
		Hidden   int
	}
	b.get("/history?path=/a", &h)
	require.Len(t, h.Versions, 3)
	var former struct{ Data string }
	b.get("/version?path=/a&zxid="+h.Versions[1].Zxid, &former)
	require.Equal(t, "secret", former.Data)

	// A visitor that may read the znode now does not see what it could not read then.
	super := browse(t, s)
	require.Equal(t, 200, super.login("super", "secret"))
	c.MustSetData(t, "/open", []byte("open"), -1)
	for _, step := range []map[string]any{
		{"scheme": "digest", "id": "eve:x=", "perms": "cdrwa"},
		{"scheme": "world", "id": "anyone", "perms": "cdrwa"},
	} {
		require.Equal(t, 200, super.status("PUT", "/acl",
			map[string]any{"path": "/open", "version": -1, "acl": []any{step}}))
		require.Equal(t, 200,
			super.status("PUT", "/znode", map[string]any{"path": "/open", "data": "x", "version": -1}))
	}
	b.get("/history?path=/open", &h)
	require.Equal(t, 2, h.Hidden, "the ACL of eve, and the data that was set under it")
	require.Len(t, h.Versions, 4)
	super.get("/history?path=/open", &h)
	require.Len(t, h.Versions, 6)
	require.Equal(t, 404, b.status("GET", "/history?path="+url.QueryEscape("/none"), nil))
	super.get("/history?path=/none", &h)
	require.Empty(t, h.Versions)
}

func TestConsoleCreatesWithTTL(t *testing.T) {
	s, _ := withAdmin(t, func(cfg *config.Config) { cfg.Admin.ConsoleWrites, cfg.ExtendedTypes = true, true })
	b := browse(t, s)
	require.Equal(t, 200, b.login("super", "secret"))
	require.Equal(t, 200, b.status("POST", "/znode", map[string]any{"path": "/ttl", "ttl": 600_000}))
	var d struct{ Znodes []struct{ Kind string } }
	b.get("/export?path=/ttl", &d)
	require.Equal(t, "ttl", d.Znodes[0].Kind)
	for _, wrong := range []map[string]any{{"path": "/x", "ttl": -1}, {"path": "/x", "ttl": 5, "container": true}} {
		require.Equal(t, 400, b.status("POST", "/znode", wrong))
	}
}
