package coordination

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto/layouts"
)

// held is an ephemeral znode.
func held(name, session, data string) Znode {
	return Znode{Name: name, Readable: true, Data: []byte(data), Whole: true, Created: 7, Session: session}
}

func kept(name, data string) Znode { return held(name, "", data) }

// states returns the members of a recipe as state, session and text.
func states(r *Recipe) (all []string) {
	for _, m := range r.Members {
		all = append(all, strings.TrimSpace(m.State+" "+m.Session+" "+m.Text))
	}
	return all
}

const (
	guid           = "_c_5f0f2b0e-9d2c-4d6b-8a53-6ae84c0ac8c1-"
	fresh1, fresh2 = "5f0f2b0e-9d2c-4d6b-8a53-6ae84c0ac8c1", "5f0f2b0e9d2c4d6b8a536ae84c0ac8c1"
)

func TestRecognize(t *testing.T) {
	web := `{"name":"web","id":"1","address":"10.0.0.1","port":80,"sslPort":null,"payload":{"zone":"a"},` +
		`"registrationTimeUTC":1,"serviceType":"DYNAMIC","uriSpec":null}`
	batch := func(items ...string) string {
		var all [][]byte
		for _, item := range items {
			all = append(all, []byte(item))
		}
		return string(layouts.AppendItems(nil, all))
	}
	for name, tt := range map[string]struct {
		group  Group
		kind   string
		states []string
	}{
		"Curator's lock": {Group{Children: []Znode{held(guid+"lock-0000000012", "s2", "10.0.0.2"),
			held(guid+"lock-0000000009", "s1", "10.0.0.1")}},
			"lock", []string{"holds s1 10.0.0.1", "waits s2 10.0.0.2"}},
		"a number that wraps": {Group{Children: []Znode{held(guid+"lock--2147483648", "s2", ""),
			held(guid+"lock-2147483647", "s1", "")}}, "lock", []string{"holds s1", "waits s2"}},
		"a lock whose holder is asked": {Group{Children: []Znode{held("lock-0000000001", "s1", "__REVOKE__")}},
			"lock", []string{"holds s1 is asked to let go"}},
		"kazoo's lock": {Group{Children: []Znode{held(fresh2+"__lock__0000000001", "s2", "b"),
			held(fresh2+"__lock__0000000000", "s1", "a")}}, "lock", []string{"holds s1 a", "waits s2 b"}},
		"kazoo's read/write lock": {Group{Children: []Znode{held(fresh2+"__rlock__0000000000", "s1", ""),
			held(fresh2+"__rlock__0000000001", "s2", ""), held(fresh2+"__lock__0000000002", "s3", ""),
			held(fresh2+"__rlock__0000000003", "s4", "")}},
			"read/write lock", []string{"holds s1", "holds s2", "waits s3", "waits s4"}},
		"Curator's read/write lock": {Group{Children: []Znode{held(guid+"__WRIT__0000000004", "s1", ""),
			held(guid+"__READ__0000000005", "s2", "")}}, "read/write lock", []string{"holds s1", "waits s2"}},
		"an election": {Group{Children: []Znode{held(guid+"latch-0000000003", "s1", "node-a"),
			held(guid+"latch-0000000004", "s2", "node-b")}},
			"election", []string{"leads s1 node-a", "waits s2 node-b"}},
		"a semaphore": {Group{Lines: map[string][]Znode{
			"leases": {held(guid+"lease-0000000001", "s1", "x"), held(guid+"lease-0000000002", "s2", "y")},
			"locks":  {held(guid+"lock-0000000003", "s3", "")}}},
			"semaphore", []string{"holds s1 x", "holds s2 y", "waits s3"}},
		"a semaphore whose first waiter has a permit that does not count yet": {Group{Lines: map[string][]Znode{
			"leases": {held(guid+"lease-0000000001", "s1", "x"), held(guid+"lease-0000000002", "s2", "y")},
			"locks":  {held(guid+"lock-0000000003", "s2", "y"), held(guid+"lock-0000000004", "s1", "x")}}},
			"semaphore", []string{"holds s1 x", "waits s2 y", "waits s1 x"}},
		"a semaphore whose first waiter has an older permit": {Group{Lines: map[string][]Znode{
			"leases": {{Name: guid + "lease-0000000001", Readable: true, Whole: true, Created: 6, Session: "s1"}},
			"locks":  {held(guid+"lock-0000000003", "s1", "x")}}},
			"semaphore", []string{"holds s1", "waits s1 x"}},
		"a semaphore of kazoo with those that wait": {Group{Path: "/sem", Self: kept("sem", "1"),
			Children: []Znode{held(fresh2, "s1", "me")}, Beside: []Znode{held(fresh2+"__lock__0000000001", "s3", "c"),
				held(fresh2+"__lock__0000000000", "s2", "b")}},
			"semaphore", []string{"holds s1 me", "waits s2 b", "waits s3 c"}},
		"kazoo's semaphore": {
			Group{Path: "/sem", Self: kept("sem", "3"), Children: []Znode{held(fresh2, "s1", "me")}},
			"semaphore", []string{"holds s1 me"}},
		"a barrier":        {Group{Path: "/a/a-Barrier", Self: kept("a-Barrier", "")}, "barrier", []string{"closed"}},
		"a simple lock":    {Group{Path: "/l", Self: held("l", "s1", fresh1+"\nme")}, "lock", []string{"holds s1 me"}},
		"a double barrier": {Group{Children: []Znode{held(fresh1, "s1", "")}}, "double barrier", []string{"waits s1"}},
		"an open double barrier": {Group{Children: []Znode{held(fresh2, "s1", ""), kept("ready", "")}},
			"double barrier", []string{"inside s1"}},
		"a queue": {Group{Children: []Znode{kept("queue-0000000001", batch("a", "b")),
			kept("queue-0000000000", batch("c"))}}, "queue", []string{"queued  c", "queued  a (2 items)"}},
		"a priority queue": {Group{Children: []Znode{kept("queue-1000000050000000001", batch("a")),
			kept("queue-0FFFFFFFB0000000002", batch("b"))}},
			"queue", []string{"queued  priority -5: b", "queued  priority 5: a"}},
		"a delay queue": {Group{Children: []Znode{kept("queue-|18BCFE56800|0000000000", batch("a"))}},
			"queue", []string{"queued  due 2023-11-14 22:13:20 UTC: a"}},
		"items in work": {Group{Children: []Znode{held("queue-0000000001", "s1", fresh1)}},
			"items in work", []string{"taken s1"}},
		"a simple queue": {Group{Children: []Znode{kept("qn-0000000001", "a")}}, "queue", []string{"queued  a"}},
		"kazoo's queue": {Group{Children: []Znode{kept("entry-100-0000000000", "a"),
			kept("entry-050-0000000001", "b")}},
			"queue", []string{"queued  priority 50: b", "queued  priority 100: a"}},
		"kazoo's locking queue": {Group{Path: "/q", Lines: map[string][]Znode{
			"entries": {kept("entry-100-0000000000", "a"), kept("entry-100-0000000001", "b")},
			"taken":   {held("entry-100-0000000000", "s1", "")}}},
			"queue", []string{"taken s1 priority 100: a", "queued  priority 100: b"}},
		"a service": {Group{Children: []Znode{held("1", "s1", web),
			kept("2", strings.Replace(web, `"payload"`, `"enabled":false,"payload"`, 1))}},
			"service", []string{`offered s1 10.0.0.1:80 {"zone":"a"}`, `disabled  10.0.0.1:80 {"zone":"a"}`}},
		"a group": {Group{Children: []Znode{held("node-1", "s1", "one"), held("node-2", "s2", "two")}},
			"group", []string{"member s1 one", "member s2 two"}},
		"kazoo's party": {Group{Children: []Znode{held(fresh2+"__party__", "s1", "one")}},
			"group", []string{"member s1 one"}},
		"what may not be read": {Group{Children: []Znode{{Name: guid + "lock-0000000001"},
			held(guid+"lock-0000000002", "s2", "")}}, "lock", []string{"holds  may not be read", "waits s2"}},

		"config":                         {group: Group{Children: []Znode{kept("a", "x"), kept("b", "")}}},
		"a persistent znode like a lock": {group: Group{Children: []Znode{kept("lock-0000000001", "")}}},
		"a znode without children":       {group: Group{Path: "/a", Self: kept("a", "")}},
		"some ephemerals":                {group: Group{Children: []Znode{kept("a", "x"), held("b", "s1", "")}}},
		"JSON that is no service":        {group: Group{Children: []Znode{kept("a", `{"name":"x","id":"y"}`)}}},
	} {
		g := tt.group
		if g.Total = len(g.Children); g.Path == "" {
			g.Path = "/p"
		}
		r := Recognize(&g)
		if tt.kind == "" {
			require.Nil(t, r, name)
			continue
		}
		require.NotNil(t, r, name)
		require.Equal(t, tt.kind, r.Kind, name)
		require.Equal(t, tt.states, states(r), name)
		require.Equal(t, g.Path, r.Path)
		require.Equal(t, len(r.Members), r.Total, name)
	}
}

func TestTextIsBounded(t *testing.T) {
	require.Equal(t, "a b", Text([]byte("a\nb"), true))
	require.Equal(t, "a ...", Text([]byte("a"), false))
	require.Equal(t, strings.Repeat("\u00e9", textMax)+" ...", Text([]byte(strings.Repeat("\u00e9", 5000)), true))
	require.Equal(t, "\uFFFD", Text([]byte("\xff\xfe"), true))
	most := strings.Repeat("\U0001F511", textMax)
	require.Equal(t, most, Text([]byte(most), true))
	require.Equal(t, most+" ...", Text([]byte(most+"x"), true), "of the longest characters, too")
}

// Whatever clients write, what is said of it is bounded, and no znode is said to be twice in a line.
func FuzzRecognize(f *testing.F) {
	f.Add("lock-0000000001", "lock-0000000002", "x", "s1", uint8(0))
	f.Add("queue-|18BCFE56800|0000000000", "queue-1", string(layouts.AppendItems(nil, [][]byte{{}})), "", uint8(1))
	f.Add("1", "2", `{"name":"web","id":"1","port":-5,"serviceType":"X","payload":["<script>"]}`, "s", uint8(2))
	f.Add("entry-100-0000000000", fresh2, "5", "s1", uint8(3))
	f.Fuzz(func(t *testing.T, a, b, data, session string, lines uint8) {
		g := Group{Path: "/p", Self: held("p", session, data),
			Children: []Znode{held(a, session, data), held(b, "s2", data), {Name: a}}, Total: int(lines)}
		switch lines % 3 {
		case 1:
			g.Lines = map[string][]Znode{"leases": g.Children, "locks": g.Children}
		case 2:
			g.Lines = map[string][]Znode{"entries": g.Children, "taken": g.Children}
		}
		r := Recognize(&g)
		if r == nil {
			return
		}
		require.LessOrEqual(t, len(r.Members), 2*len(g.Children))
		require.GreaterOrEqual(t, r.Total, len(r.Members))
		for _, m := range r.Members {
			require.LessOrEqual(t, len([]rune(m.Text)), 2*textMax+100)
		}
	})
}
