//go:build interop

package interop

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

// watched is a Warren server of which the tests ask what its console says of the znodes of recipes.
type watched struct {
	*cluster.Node
	t     *testing.T
	admin int
	began time.Time
}

func startWatched(t *testing.T) *watched {
	t.Helper()
	w := &watched{t: t, admin: cluster.FreePort(t), began: time.Now()}
	w.Node = cluster.Start(t, cluster.Options{Settings: map[string]string{"admin.enableServer": "true",
		"admin.serverAddress": "127.0.0.1", "admin.serverPort": strconv.Itoa(w.admin)}})
	return w
}

// get asks the API.
func (w *watched) get(path string, into any) {
	w.t.Helper()
	resp := must.Do(http.Get(fmt.Sprintf("http://127.0.0.1:%d/api/v1%s", w.admin, path)))(w.t)
	defer resp.Body.Close()
	body := must.ReadAll(w.t, resp.Body)
	require.Equal(w.t, http.StatusOK, resp.StatusCode, "%s: %s", path, body)
	require.NoError(w.t, json.Unmarshal(body, into), "%s", body)
}

// known is what a program knows of a recipe, or what the server says of it.
type known struct {
	Path    string   `json:"path"`
	Kind    string   `json:"kind"` // "" if there is none
	Members []holder `json:"members"`
}

type holder struct {
	State   string `json:"state"`
	Session string `json:"session"`
	Text    string `json:"text"`
	Since   int64  `json:"since,omitempty"`
}

// decoded is what the server says of a path, with the names of the sessions, which are those of their znodes below
// /names. In a set of members that have no order they are sorted by their text.
func (w *watched) decoded(path string) known {
	w.t.Helper()
	var found struct {
		Recipes []known `json:"recipes"`
	}
	w.get("/recipes?limit=100&under=/"+strings.Split(path, "/")[1], &found)
	names := map[string]string{}
	for _, name := range []string{"one", "two"} {
		var z struct {
			Stat struct {
				Owner string `json:"owner"`
			} `json:"stat"`
		}
		w.get("/znode?path=/names/"+name, &z)
		names[z.Stat.Owner] = name
	}
	k := known{Path: path}
	for _, r := range found.Recipes {
		if r.Path != path {
			continue
		}
		k = r
		for i := range k.Members {
			m := &k.Members[i]
			require.WithinRange(w.t, time.UnixMilli(m.Since), w.began.Add(-time.Second), time.Now().Add(time.Second))
			if m.Since = 0; m.Session != "" {
				m.Session = cmp.Or(names[m.Session], "unknown session "+m.Session)
			}
		}
	}
	return k
}

// says waits until the server says what a program knows.
func (w *watched) says(want known) {
	w.t.Helper()
	var got known
	for watch := cluster.NewWatch(); watch.Elapsed() < 20*time.Second; time.Sleep(20 * time.Millisecond) {
		got = w.decoded(want.Path)
		if slices.Contains([]string{"double barrier", "group", "service"}, want.Kind) {
			slices.SortFunc(got.Members, func(a, b holder) int { return cmp.Compare(a.Text, b.Text) })
		}
		if got.Kind == want.Kind && slices.Equal(got.Members, want.Members) {
			return
		}
	}
	require.Equal(w.t, want, got)
}

// TestKazooRecipesAreDecoded lets kazoo hold its recipes, and compares what it knows with what the API says.
func TestKazooRecipesAreDecoded(t *testing.T) {
	w := startWatched(t)
	program, steps := converse(t, kazooProgram(t, "recipes.py", w.Addr())), 0
	for ; program.lines.Scan(); steps++ {
		var want known
		require.NoError(t, json.Unmarshal(program.lines.Bytes(), &want), program.lines.Text())
		w.says(want)
		program.tell("")
	}
	program.ends()
	require.Equal(t, 16, steps)
}

// TestCuratorRecipesAreDecoded is TestKazooRecipesAreDecoded for Curator.
func TestCuratorRecipesAreDecoded(t *testing.T) {
	classes := t.TempDir()
	compile(t, "javac", "-nowarn", "-cp", curatorClassPath(classes), "-d", classes,
		filepath.Join("testdata", "curator", "Agent.java"))
	w := startWatched(t)
	one, two := startAgent(t, classes, w.Addr()), startAgent(t, classes, w.Addr())
	one.do("", "mark /names/one")
	two.do("", "mark /names/two")
	of := func(path, kind string, members ...holder) { w.says(known{path, kind, members}) }
	is := func(state, session, text string) holder { return holder{State: state, Session: session, Text: text} }
	one.do("true", "lock mutex /c/first")
	ip := w.decoded("/c/first").Members[0].Text // Curator writes the address of its machine
	require.NotEmpty(t, ip)

	one.do("true", "lock mutex /c/lock")
	two.start("lock mutex /c/lock")
	of("/c/lock", "lock", is("holds", "one", ip), is("waits", "two", ip))
	one.do("", "unlock mutex /c/lock")
	two.await("true")
	of("/c/lock", "lock", is("holds", "two", ip))
	one.do("", "revoke /c/lock")
	of("/c/lock", "lock", is("holds", "two", "is asked to let go"))

	one.do("true", "lock read /c/rw")
	two.do("true", "lock read /c/rw")
	of("/c/rw", "read/write lock", is("holds", "one", ip), is("holds", "two", ip))
	two.do("", "unlock read /c/rw")
	two.start("lock write /c/rw")
	of("/c/rw", "read/write lock", is("holds", "one", ip), is("waits", "two", ip))
	one.do("", "unlock read /c/rw")
	two.await("true")
	of("/c/rw", "read/write lock", is("holds", "two", ip))

	one.do("true", "lock multi /c/multi")
	for _, part := range []string{"/c/multi/a", "/c/multi/b"} {
		of(part, "lock", is("holds", "one", ip))
	}

	one.do("true", "permit /c/semaphore 1 wait")
	of("/c/semaphore", "semaphore", is("holds", "one", ip))
	two.start("permit /c/semaphore 1 wait")
	of("/c/semaphore", "semaphore", is("holds", "one", ip), is("waits", "two", ip))
	one.do("", "return /c/semaphore")
	two.await("true")
	of("/c/semaphore", "semaphore", is("holds", "two", ip))

	one.do("", "latch /c/latch first")
	one.do("true", "leads /c/latch 60000")
	two.do("", "latch /c/latch second")
	of("/c/latch", "election", is("leads", "one", "first"), is("waits", "two", "second"))
	one.do("", "resign /c/latch")
	two.do("true", "leads /c/latch 60000")
	of("/c/latch", "election", is("leads", "two", "second"))
	one.do("", "select /c/selector first")
	one.do("leads", "selected /c/selector 60000")
	two.do("", "select /c/selector second")
	of("/c/selector", "lock", is("holds", "one", "first"), is("waits", "two", "second"))

	one.do("", "barrier /c/the-barrier set")
	of("/c/the-barrier", "barrier", holder{State: "closed", Text: ip})
	one.start("enter /c/double 2")
	of("/c/double", "double barrier", is("waits", "one", ip))
	two.do("true", "enter /c/double 2")
	one.await("true")
	got := w.decoded("/c/double")
	require.Equal(t, "double barrier", got.Kind)
	require.ElementsMatch(t, []holder{{State: "inside", Session: "one", Text: ip},
		{State: "inside", Session: "two", Text: ip}}, got.Members)

	one.do("", "join /c/group a 1")
	two.do("", "join /c/group b 2")
	of("/c/group", "group", is("member", "one", "1"), is("member", "two", "2"))

	for _, item := range []string{"i1", "i2"} {
		one.do("", "put queue /c/queue - %s", item)
	}
	of("/c/queue/items", "queue", holder{State: "queued", Text: "i1"}, holder{State: "queued", Text: "i2"})
	two.do("", "hold /c/queue")
	of("/c/queue/locks", "items in work", holder{State: "taken", Session: "two"})
	one.do("", "put priority /c/priority 5 five")
	one.do("", "put priority /c/priority -2 minus")
	of("/c/priority/items", "queue", holder{State: "queued", Text: "priority -2: minus"},
		holder{State: "queued", Text: "priority 5: five"})
	one.do("", "put delay /c/delay 1700000000000 then")
	of("/c/delay/items", "queue", holder{State: "queued", Text: "due 2023-11-14 22:13:20 UTC: then"})
	one.do("true", "offer /c/simple it")
	of("/c/simple", "queue", holder{State: "queued", Text: "it"})

	one.do("", "register /c/discovery web s1 DYNAMIC 8080")
	two.do("", "register /c/discovery web s2 STATIC 8081")
	of("/c/discovery/web", "service", holder{State: "offered", Session: "one",
		Text: `10.0.0.1:8080 {"@class":"Agent$Payload","zone":"z1","weight":3}`}, holder{State: "offered",
		Text: `10.0.0.1:8081 static {"@class":"Agent$Payload","zone":"z1","weight":3}`})
	one.do("7", "count /c/count 7")
	of("/c/count", "")
}
