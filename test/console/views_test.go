package console

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/server/config"
)

func counting(c *config.Config) { c.Admin.Top = true }
func sharing(c *config.Config)  { c.Admin.ConsoleLinks = true }

// ephemeral creates an ephemeral znode, and its parent.
func (j *journey) ephemeral(path, data string) {
	j.t.Helper()
	_, err := j.client.Create(j.t.Context(), path, []byte(data), client.Ephemeral)
	require.NoError(j.t, err)
}

// The pages that explain an ensemble fit every screen, and all that can be operated has a name.
func TestViewsFit(t *testing.T) {
	for _, width := range []int64{390, 1440} {
		for _, scheme := range []string{"light", "dark"} {
			t.Run(fmt.Sprint(width, scheme), func(t *testing.T) {
				j := visit(t, screen{width, scheme}, 1, counting, sharing, func(c *config.Config) {
					c.Admin.ConsoleEnsembles = []string{hostile + "=http://127.0.0.1:1"}
				})
				wide := strings.Repeat("wide", 60)
				j.create("/"+hostile, hostile)
				j.create("/"+wide, "")
				j.ephemeral("/"+hostile+"/"+hostile+"lock-0000000001", hostile+wide)
				j.ephemeral("/"+wide+"/"+wide+"-latch-0000000001", wide)
				j.login()
				for _, path := range []string{"past",
					"past?at=ff&path=/", "past?at=3&path=/", "difference?from=2", "ensembles", "links", "shared"} {
					j.open(path)
					require.LessOrEqual(t, eval[int](j, "document.documentElement.scrollWidth"), int(width), path)
					require.Zero(t, eval[int](j, "document.querySelectorAll('main img, main script').length"), path)
					if path != "shared" {
						j.checkNames(path)
					}
				}
			})
		}
	}
}

func TestTimeTravel(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/a", "as it was")
	j.create("/a/gone", hostile)
	stat, _, err := j.client.Exists(t.Context(), "/a/gone")
	require.NoError(t, err)
	before := fmt.Sprintf("%x", uint64(stat.Czxid))
	j.setBehind("/a", "as it is")
	require.NoError(t, j.client.Delete(t.Context(), "/a/gone", -1))
	j.open("past?path=/&at=" + before)
	j.awaitText(".trouble", "the past has all znodes")
	j.login()
	j.open("past")
	j.fill("#at", before)
	j.fill("#path", "/a")
	j.send("#at")
	j.awaitText("#text", "as it was")
	j.click(".children a")
	j.awaitText("#text", hostile)
	j.open("past?path=/a&at=" + before)
	j.click("a[href^='difference']")
	j.awaitText("tr.deleted", "/a/gone")
	j.awaitText("tr.changed", "as it is")
	j.awaitText("tr.deleted", hostile)
}

func TestEnsemblesSideBySide(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, `{"state":"<script>alert(8)</script>","znodes":77,"members":[],`+
			`"problems":[{"text":"a disk is full","remedy":"make room"}]}`)
	}))
	defer other.Close()
	j := visit(t, telephone, 1, func(c *config.Config) {
		c.Admin.ConsoleEnsembles = []string{"production=" + other.URL, "test=http://127.0.0.1:1"}
	})
	j.open("ensembles")
	j.awaitText(".card:nth-child(1)", "a disk is full")
	j.awaitText(".card:nth-child(1)", "<script>alert(8)</script>")
	j.awaitText(".card:nth-child(2)", "does not answer")
}

// A link opens one subtree to a browser without a login, until it is ended.
func TestLinksAreShared(t *testing.T) {
	j := visit(t, desk, 1, sharing)
	j.create("/app", "shown to others")
	j.create("/app/part", "a part")
	j.create("/secret", "not shown")
	j.login()
	j.open("links?path=/app")
	j.send("#path")
	j.await("document.querySelector('#link a') !== null")
	address := eval[string](j, "document.querySelector('#link a').getAttribute('href')")
	j.click(".visitor button")
	j.awaitText(".visitor", "Log in")

	j.open(address)
	require.NotContains(t, eval[string](j, "document.body.textContent"), "shown to others", "a button comes first")
	j.click("main button")
	j.awaitText("#text", "shown to others")
	require.Equal(t, "", eval[string](j, "location.search"), "the word is in no address")
	require.Empty(t, eval[string](j, "document.cookie"))
	require.Zero(t, eval[int](j, "document.querySelectorAll('nav, form').length"), "nothing leads elsewhere")
	j.click(".children a")
	j.awaitText("#text", "a part")
	j.open("shared?path=/secret")
	j.awaitText(".trouble", "the link shows other znodes only")
	j.open("shared?path=/apple")
	j.awaitText(".trouble", "the link shows other znodes only")

	j.login()
	j.open("links")
	j.click("[aria-label='End the link to /app']")
	j.await("document.querySelector('[aria-label=\"End the link to /app\"]') === null")
	j.open("shared?path=/app")
	j.awaitText(".trouble", "this link has ended")
}
