package console

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
)

// Bytes that another client writes do not make base64 of what is typed as text.
func TestEditKeepsItsEncoding(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/a", "text")
	j.show("tree?path=%2Fa")
	j.loginApp()
	j.button("Edit")
	j.typeInEditor("typed")
	j.setBehind("/a", "\xff\x00\xfe")
	j.save()
	j.awaitText("dialog", "has changed meanwhile")
	j.run("location.reload()")
	j.await("document.querySelector('.editor')?.shadowRoot?.textContent.includes('typed')")
	j.save()
	j.button("Save mine over version 1")
	j.button("Save")
	j.awaitText("#version", "2")
	require.Equal(t, "typed", j.data("/a"))
}

// A button lays JSON, YAML and XML out while they are edited, or says what is wrong with them.
func TestEditorLaysOut(t *testing.T) {
	j := visit(t, desk, 1)
	j.show("")
	j.loginApp()
	for name, c := range map[string]struct{ data, laid string }{
		"json": {`{"a":[1.0]}`, "{\n  \"a\": [\n    1.0\n  ]\n}\n"},
		"yaml": {"---\na:   {b: 1}  # why\n", "---\na: {b: 1} # why\n"},
		"xml":  {"<a><b>x</b></a>", "<a>\n  <b>x</b>\n</a>\n"},
	} {
		j.create("/"+name, c.data)
		j.show("tree?path=%2F" + name)
		j.awaitText("#znode h1", name)
		j.awaitText("#text", strings.TrimPrefix(strings.TrimSpace(c.laid), "---\n"))
		j.button("Edit")
		j.await("document.querySelector('.editor')?.shadowRoot?.activeElement")
		if name == "json" {
			j.typeInEditor(`{"a":`)
			j.button("Format")
			j.awaitText(".toasts", "not JSON")
			j.typeInEditor(c.data)
		}
		j.button("Format")
		j.await("document.querySelectorAll('.editor')[0].shadowRoot.querySelectorAll('.cm-line').length === " +
			strconv.Itoa(strings.Count(c.laid, "\n")+1))
		j.save()
		j.awaitText("#version", "1")
		require.Equal(t, c.laid, j.data("/"+name))
	}
}

// Data with the line ends of Windows keeps them while it is laid out.
func TestEditorLaysOutWithItsLineEnds(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/a", "{\r\n\"a\":1}")
	j.show("tree?path=%2Fa")
	j.loginApp()
	j.button("Edit")
	j.await("document.querySelector('.editor')?.shadowRoot?.activeElement")
	j.button("Format")
	j.await("document.querySelector('.editor').shadowRoot.querySelectorAll('.cm-line').length === 4")
	j.save()
	j.awaitText("#version", "1")
	require.Equal(t, "{\r\n  \"a\": 1\r\n}\r\n", j.data("/a"))
}

// What another client changes while a dialog is open is not replaced or deleted by what the visitor has seen before.
func TestDialogsHoldForWhatWasSeen(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/a", "text")
	j.show("tree?path=%2Fa&tab=acl")
	j.loginApp()
	j.button("Edit permissions")
	j.awaitText("dialog", "ACL version 0")
	theirs := []client.ACL{{Perms: client.PermAll, Scheme: "world", ID: "anyone"},
		{Perms: client.PermRead, Scheme: "ip", ID: "10.1.2.3"}}
	must.Do(j.client.SetACL(t.Context(), "/a", theirs, -1))(t)
	j.awaitText("#znode .zbody", "10.1.2.3") // the page has seen it
	j.button("Save permissions")
	j.awaitText("dialog", "has changed meanwhile")
	acl, _ := must.Do2(j.client.GetACL(t.Context(), "/a"))(t)
	require.Equal(t, theirs, acl)

	j.show("tree?path=%2Fa&tab=stat")
	j.run("document.querySelector('[aria-label=Delete]').click()")
	j.awaitText("dialog", "version 0")
	j.setBehind("/a", "theirs")
	j.awaitText("#version", "1")
	j.run("document.querySelector('dialog .btn.danger').click()")
	j.awaitText("dialog", "has changed meanwhile")
	require.Equal(t, "theirs", j.data("/a"))
}

// A znode that becomes larger than the editor takes does not take away what is typed.
func TestEditStaysWhenTheZnodeGrows(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/a", "small")
	j.show("tree?path=%2Fa")
	j.loginApp()
	j.button("Edit")
	j.typeInEditor("typed")
	j.setBehind("/a", strings.Repeat("x", 300_000))
	j.awaitText("#version", "1") // the page has seen it
	j.await("document.querySelector('.editor').shadowRoot.textContent.includes('typed')")
}

// A znode of 4 MiB is shown as far as a reader gets, on every screen, and downloaded as a whole. It is not edited.
func TestZnodeOfFourMegabytes(t *testing.T) {
	script := axe(t)
	j := visit(t, desk, 1, func(c *config.Config) {
		c.JuteMaxBuffer, c.JuteMaxBufferExtra = 5<<20, 5<<20
	})
	const size = 4<<20 - 1024 // the client takes requests of 4 MiB
	j.create("/large", `{"rows":[`+strings.Repeat(`{"name":"a row"},`, (size-16)/17)+`0]}`)
	j.show("tree?path=%2Flarge")
	j.loginApp()
	j.awaitText("#znode .facts", "4 MiB")
	j.awaitText("#text", "a row")
	j.awaitText("#znode", "Download it to see all")
	j.await("![...document.querySelectorAll('#znode button')].some(b => b.textContent === 'Edit')")
	j.fits(t, script, "large")
	j.run("fetch('data?path=/large').then(r => r.arrayBuffer()).then(b => window.fetched = b.byteLength)")
	j.await(fmt.Sprintf("window.fetched === %d", len(j.data("/large"))))
	j.show("tree?path=%2Flarge&tab=history")
	j.awaitText(".timeline", "Created")
}

// What is typed is there when the visitor comes back from another znode, and when the znode is deleted meanwhile.
func TestDraftsStay(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/a", "before")
	j.create("/b", "other")
	j.show("tree?path=%2Fa")
	j.loginApp()
	j.button("Edit")
	j.typeInEditor("typed")
	require.Contains(t, eval[string](j, "sessionStorage['warren.draft /a']"), `"typed"`, "it is kept at once")
	j.run("document.execCommand('insertText', false, ' at last'); location.hash = '#/tree?path=%2Fb'")
	j.awaitText("#text", "other")
	j.show("tree?path=%2Fa")
	j.await("document.querySelector('.editor')?.shadowRoot?.textContent.includes('typed at last')")
	require.NoError(t, j.client.Delete(t.Context(), "/a", -1))
	j.awaitText("#znode", "What you typed and did not save is still here")
	j.awaitText("#znode pre", "typed")
}

// Data cannot turn the direction of its lines, and becomes no markup, in any of its forms.
func TestHostileDataIsEscaped(t *testing.T) {
	j := visit(t, desk, 1)
	for _, data := range []string{"\u202elive",
		"{\"a\u202e\":\"</pre><script>alert(1)</script>\",\"b\":[1,true,null]}",
		"---\na: \u2066b # <img src=x onerror=alert(1)>\n", "<a b=\"\u200b\"><!-- \u202e --></a>"} {
		j.create("/h", data)
		j.show("tree?path=%2Fh")
		j.awaitText("#text .bad-char", "U+20")
		require.NotRegexp(t, "[\u200b\u202e\u2066]", eval[string](j, "document.querySelector('#text').textContent"))
		require.Zero(t, eval[int](j, "document.querySelectorAll('#text script, #text img').length"))
		require.NoError(t, j.client.Delete(t.Context(), "/h", -1))
		j.show("tree?path=%2F")
		j.awaitText("#znode h1", "/")
	}
}

// JSON is shown in colours, and copied and selected as it is.
func TestDataIsShownInColours(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/json", `{"a":-1.5e3,"b":"x \" y","c":[true]}`)
	j.show("tree?path=%2Fjson")
	j.awaitText("#text .k-key", `"a"`)
	require.Equal(t, []string{"-1.5e3", "true"},
		eval[[]string](j, "[...document.querySelectorAll('#text .k-value')].map(e => e.textContent)"))
	require.Equal(t, []string{`"x \" y"`},
		eval[[]string](j, "[...document.querySelectorAll('#text .k-text')].map(e => e.textContent)"))
	require.JSONEq(t, `{"a":-1.5e3,"b":"x \" y","c":[true]}`,
		eval[string](j, "document.querySelector('#text').textContent"))
}

// A figure that the server does not know is written so, and never as 0.
func TestUnknownIsNeverZero(t *testing.T) {
	j := visit(t, desk, 1)
	j.throughProxy(func(r *http.Response) error {
		if !strings.HasSuffix(r.Request.URL.Path, "/api/v1/ensemble") {
			return nil
		}
		record := map[string]any{}
		if err := json.NewDecoder(r.Body).Decode(&record); err != nil {
			return err
		}
		for _, name := range []string{"sessions", "znodes", "ephemerals", "dataBytes", "outstanding", "watches",
			"connections", "latency", "uptimeMs"} {
			record[name] = nil
		}
		text, err := json.Marshal(record)
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(string(text))), int64(len(text))
		r.Header.Del("Content-Length")
		return err
	})
	j.show("")
	j.awaitText("#verdict", "Standalone server")
	j.await("!/Not known/.test(document.querySelector('.numbers dd').textContent)") // reads are of another answer
	require.Equal(t, 6, eval[int](j, "[...document.querySelectorAll('.numbers dd:nth-of-type(1)')]."+
		"filter(e => e.textContent === 'Not known').length"))
	require.NotRegexp(t, "NaN|null|undefined", eval[string](j, "document.querySelector('#main').innerText"))
}

// The palette finds each page by its name, by keys alone, and each page has its own address and title.
func TestPaletteFindsEveryPage(t *testing.T) {
	j := visit(t, desk, 1)
	j.show("")
	for title, at := range map[string]string{"Tree": "tree", "Search": "search", "Time travel": "past",
		"Compare moments": "difference", "Live changes": "live", "Sessions": "sessions",
		"Locks and recipes": "recipes",
		"Top":               "top", "Slow operations": "slow", "Sizes": "sizes", "Servers and orders": "servers",
		"Configuration": "configuration", "Backups": "backups", "Audit log": "audit", "Ensembles": "ensembles"} {
		j.do(chromedp.KeyEvent("k", chromedp.KeyModifiers(2)))
		j.await("document.activeElement.getAttribute('role') === 'combobox'")
		j.press(strings.ToUpper(title))
		j.awaitText("#hits [aria-selected=true]", title)
		j.press(kb.Enter)
		j.await("location.hash === '#/" + at + "' && document.querySelector('#main h1')")
		if at != "tree" {
			j.await("document.title.startsWith('" + title + "')")
		}
		j.await("document.querySelector('.rail [aria-current=page]').textContent.includes('" + title + "')")
	}
}

// A dialog gives the focus back to what has opened it.
func TestDialogsGiveTheFocusBack(t *testing.T) {
	j := visit(t, desk, 1)
	j.show("")
	j.await("document.querySelector('#login')")
	j.run("document.querySelector('#login').focus()")
	j.press(kb.Enter)
	j.await("document.activeElement.name === 'user'")
	j.press(kb.Escape)
	j.await("!document.querySelector('dialog') && document.activeElement.id === 'login'")
}

// Theme and density are the visitor's, for as long as its browser keeps them.
func TestThemeAndDensityStay(t *testing.T) {
	j := visit(t, desk, 1)
	j.show("")
	j.await("document.documentElement.dataset.theme === 'light'")
	j.button("Theme: system. Change")
	j.button("Theme: light. Change")
	j.button("Density: comfortable. Change")
	j.await("document.documentElement.dataset.theme === 'dark' && " +
		"document.documentElement.dataset.density === 'compact'")
	j.run("location.reload()")
	j.await("document.documentElement.dataset.theme === 'dark' && " +
		"document.documentElement.dataset.density === 'compact'")
	j.button("Theme: dark. Change")
	j.button("Density: compact. Change")
	j.await("document.documentElement.dataset.theme === 'light' && " +
		"document.documentElement.dataset.density === 'comfortable'")
}

// However small a part is, its area stays in the card.
func TestAreasStayInTheirCard(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/large", strings.Repeat("x", 500_000))
	for _, path := range []string{"/s1", "/s2", "/s3"} {
		j.create(path, "x")
	}
	j.show("sizes")
	j.awaitText("#sizes", "counted")
	j.awaitText(".treemap", "large")
	require.Empty(t, eval[[]string](j, `(() => {
		const card = document.querySelector('.treemap').parentElement.getBoundingClientRect();
		return [...document.querySelectorAll('.treemap a')].filter(e => {
			const r = e.getBoundingClientRect();
			return r.right > card.right + 1 || r.bottom > card.bottom + 1;
		}).map(e => e.title);
	})()`))
}
