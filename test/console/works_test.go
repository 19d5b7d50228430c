package console

import (
	"bytes"
	"compress/gzip"
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
)

var shots = flag.String("shots", "", "folder for pictures of the pages that are checked; none are written without it")

// hostile is a name and data that would run a script if it became part of a page unescaped.
const hostile = `"'><script>alert(1)<` + "`" + `img src=x onerror=alert(2)>`

func sharing(c *config.Config) { c.Admin.ConsoleLinks = true }

// ephemeral creates an ephemeral znode, and its parent.
func (j *journey) ephemeral(path, data string) {
	j.t.Helper()
	must.Do(j.client.Create(j.t.Context(), path, []byte(data), client.Ephemeral))(j.t)
}

// exists reports whether there is a znode.
func (j *journey) exists(path string) bool {
	j.t.Helper()
	_, found := must.Do2(j.client.Exists(j.t.Context(), path))(j.t)
	return found
}

// shoot writes a picture of the present page to the folder that -shots names.
func (j *journey) shoot(name string) {
	j.t.Helper()
	if *shots == "" {
		return
	}
	ctx, cancel := context.WithTimeout(j.tab, patience)
	defer cancel()
	width := eval[int64](j, "innerWidth")
	height := eval[int64](j, "Math.max(900, document.querySelector('#main').scrollHeight + 56)")
	j.do(chromedp.EmulateViewport(width, height)) // what scrolls in the page is on the picture, too
	picture := must.Do(chromedp.Run(ctx, chromedp.FullScreenshot(100)))(j.t)
	file := strings.ReplaceAll(strings.ReplaceAll(j.t.Name(), "/", "-")+"-"+name+".png", " ", "-")
	require.NoError(j.t, os.WriteFile(filepath.Join(*shots, file), picture, 0o644))
}

// more opens the menu of a znode and chooses an entry.
func (j *journey) more(entry string) {
	j.t.Helper()
	j.button("More")
	j.button(entry)
}

// The permissions are edited by rows: a user is added by name and password, the entry of the world is removed, and a
// visitor that would lose the permission admin is warned.
func TestPermissionsAreEdited(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/a", "secret")
	j.show("tree?path=%2Fa&tab=acl")
	j.loginApp()
	j.button("Edit permissions")
	j.button("Add an entry")
	entry := "dialog fieldset:nth-of-type(2) "
	j.enterText(entry+"input.mono", "bob")
	j.enterText(entry+"[type=password]", "pa55w0rd")
	for _, letter := range []int{4, 5} { // write and admin
		j.click(fmt.Sprintf("%s.tick:nth-child(%d) input", entry, letter))
	}
	j.button("Remove entry 1")
	j.button("Save permissions")
	j.awaitText(".toasts", "Permissions saved")
	j.awaitText("#znode", "bob:")
	require.NotContains(t, eval[string](j, "document.documentElement.outerHTML"), "pa55w0rd")
	acl, _, err := j.client.GetACL(t.Context(), "/a")
	require.ErrorIs(t, err, client.ErrNoAuth, "%v", acl)

	j.button("Log out super")
	j.await("document.querySelector('#login')")
	j.run("location.reload()")
	j.awaitText("#znode", "No read permission")
	require.NotContains(t, eval[string](j, "document.body.textContent"), "secret")
	j.loginAs("bob", "pa55w0rd")
	j.button("Edit permissions")
	j.click("dialog fieldset .tick:nth-child(5) input")
	j.button("Save permissions")
	j.awaitText("dialog", "you could not change them again")
	j.button("Save without a way back")
	j.awaitText(".toasts", "Permissions saved")
}

// A subtree is deleted after a preview, and the preview is over when the znodes change.
func TestSubtreeIsDeletedAfterAPreview(t *testing.T) {
	j := visit(t, telephone, 1)
	for _, path := range []string{"/a", "/a/b", "/a/b/" + hostile} {
		j.create(path, "x")
	}
	j.show("tree?path=%2Fa")
	j.loginApp()
	j.button("Delete")
	j.button("Preview")
	j.awaitText("#planned", "3 znodes")
	j.awaitText("#planned", "/a/b/"+hostile)
	require.True(t, j.exists("/a/b"))
	j.setBehind("/a/b", "meanwhile")
	j.run("document.querySelector('dialog .btn.danger').click()")
	j.awaitText("dialog", "have changed since the preview")
	require.True(t, j.exists("/a/b"))
	j.button("Preview")
	j.awaitText("#planned", "at once or not at all")
	j.run("document.querySelector('dialog .btn.danger').click()")
	j.await("location.hash === '#/tree?path=%2F'")
	require.False(t, j.exists("/a"))
}

func TestSubtreeIsCopiedAndMoved(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/a", "x")
	j.create("/a/b", "y")
	j.ephemeral("/a/held", "")
	j.show("tree?path=%2Fa")
	j.loginApp()
	j.more("Copy…")
	j.enterText("dialog input", "/copy")
	j.button("Preview")
	j.awaitText("#planned", "1 ephemeral znode of 1 session will be left out")
	j.button("Copy")
	j.await("location.hash === '#/tree?path=%2Fcopy'")
	require.Equal(t, "y", j.data("/copy/b"))
	require.False(t, j.exists("/copy/held"))
	j.awaitText("#text", "x")
	j.more("Move…")
	j.enterText("dialog input", "/moved")
	j.button("Preview")
	j.awaitText("#planned", "znodes")
	j.run("document.querySelector('dialog .btn.danger').click()")
	j.await("location.hash === '#/tree?path=%2Fmoved'")
	require.False(t, j.exists("/copy"))
	require.Equal(t, "y", j.data("/moved/b"))
	j.show("tree?path=%2Fa") // an ephemeral znode keeps it where it is
	j.awaitText("#text", "x")
	j.more("Move…")
	j.enterText("dialog input", "/elsewhere")
	j.button("Preview")
	j.awaitText("#planned", "This cannot be done")
	require.True(t, eval[bool](j, "document.querySelector('dialog .btn.danger').disabled"))
}

// What was exported is imported elsewhere, from a file.
func TestExportIsImported(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/a", "x")
	j.create("/a/bytes", "\x00\xff")
	j.show("tree?path=%2Fa")
	j.loginApp()
	j.run("fetch('export?path=/a').then(r => r.text()).then(t => window.exported = t)")
	j.await("window.exported")
	file := filepath.Join(t.TempDir(), "export.json")
	require.NoError(t, os.WriteFile(file, []byte(eval[string](j, "window.exported")), 0o600))
	j.more("Import below…")
	j.enterText("dialog input", "/imported")
	j.element(chromedp.SetUploadFiles(chromedp.CSS("dialog [type=file]"), []string{file}))
	j.button("Preview")
	j.awaitText("#planned", "2 znodes")
	j.button("Import")
	j.await("location.hash === '#/tree?path=%2Fimported'")
	require.Equal(t, "\x00\xff", j.data("/imported/bytes"))
}

func TestQuotaIsSetAndRemoved(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/a", "")
	j.show("tree?path=%2Fa&tab=quota")
	j.loginApp()
	j.awaitText("#znode", "No quota")
	j.more("Set quota…")
	j.await("document.querySelectorAll('dialog input').length === 4")
	j.enterText("dialog .field:nth-of-type(3) input", "10k") // which is no limit of 0 bytes
	j.button("Preview")
	j.await("document.activeElement.matches('dialog .field:nth-of-type(3) input:invalid')")
	j.enterText("dialog .field:nth-of-type(3) input", "")
	j.enterText("dialog .field:nth-of-type(1) input", "5")
	j.button("Preview")
	j.button("Set quota")
	j.awaitText("#znode", "1 of 5")
	j.more("Set quota…")
	j.await("document.querySelector('dialog .field:nth-of-type(1) input')?.value === '5'")
	j.enterText("dialog .field:nth-of-type(1) input", "")
	j.button("Preview")
	j.button("Set quota")
	j.awaitText("#znode", "No quota")
}

func TestHistoryShowsWhatHasChanged(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/a", "one\ntwo")
	for created := time.Now().UnixMilli(); time.Now().UnixMilli() == created; { // they are two points of the axis
		runtime.Gosched()
	}
	j.setBehind("/a", "one\n"+hostile)
	j.show("tree?path=%2Fa&tab=history")
	j.awaitText("#znode", "History needs a login")
	j.loginApp()
	j.await("document.querySelectorAll('.timeline li').length === 2")
	shown := "document.querySelector('.compared .editor')?.shadowRoot?.textContent"
	j.await(shown + fmt.Sprintf(".includes('two') && "+shown+".includes(%q)", hostile))
	j.setBehind("/a", "three") // what is compared follows the newest versions, until others are chosen
	j.await("document.querySelectorAll('.timeline li').length === 3")
	j.await(shown + fmt.Sprintf(".includes('three') && "+shown+".includes(%q)", hostile))
	j.tabTo("name === 'from'")
	j.press(kb.ArrowDown)
	j.awaitText(".compared h2", "Version 0 → version 2")
	j.await(shown + ".includes('two') && " + shown + ".includes('three')")
	require.Equal(t, []string{"end", "within", "end"}, eval[[]string](j,
		"[...document.querySelectorAll('.timeline li')].map(l => l.className.match(/end|within/)[0])"))
	drag := func(from, to int) { // in percent of the axis
		j.run(fmt.Sprintf(`(p => {
			const r = p.getBoundingClientRect();
			const at = (x) => ({ clientX: r.left + x * r.width / 100, clientY: r.top + 9, pointerId: 1, bubbles: true });
			p.setPointerCapture = () => {};
			p.dispatchEvent(new PointerEvent('pointerdown', at(%d)));
			p.dispatchEvent(new PointerEvent('pointerup', at(%d)));
		})(document.querySelector('.axis .plane'))`, from, to))
	}
	drag(0, 0) // there is nothing before the oldest
	j.await("document.querySelector('.compared h2').textContent === 'Version 0'")
	j.awaitText(".compared pre", "two")
	j.await("!document.querySelector('.timeline li.within')")
	drag(100, 0)
	j.awaitText(".compared h2", "Version 0 → version 2")
	j.button("Edit from version 0")
	j.await("document.querySelector('.editor')?.shadowRoot?.textContent.includes('two')")
	j.save()
	j.awaitText("#version", "3")
	require.Equal(t, "one\ntwo", j.data("/a"))
	require.NoError(t, j.client.Delete(t.Context(), "/a", -1))
	j.show("tree?path=%2Fa")
	j.awaitText("#znode", "No such znode")
	j.button("Look at its history")
	j.awaitText(".timeline", "Deleted")
}

// Data is shown in the format that it looks like, unpacked, and edited without a change of what was not touched.
func TestFormatsOfData(t *testing.T) {
	j := visit(t, desk, 1)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	must.Do(w.Write([]byte(`{"a":[1,2]}`)))(t)
	require.NoError(t, w.Close())
	j.create("/packed", packed.String())
	j.create("/large", strings.Repeat("<b>0123456789012", 1<<14))
	j.create("/lines", "one\r\ntwo\r\n")
	j.create("/mixed", "one\r\ntwo\nthree\r")
	j.show("tree?path=%2Fpacked")
	j.loginApp()
	j.awaitText("#text", "{\n  \"a\": [\n    1,")
	j.awaitText("#znode", "Compressed by gzip")
	j.button("Packed")
	j.awaitText("#text", "1f 8b")
	j.show("tree?path=%2Flarge")
	j.awaitText("#znode", "Download it to see all")
	j.run("fetch('data?path=/large').then(r => r.arrayBuffer()).then(b => window.fetched = b.byteLength)")
	j.await("window.fetched === 256 * 1024")
	for path, want := range map[string]string{"/lines": "Xone\r\ntwo\r\n", "/mixed": "one\r\ntwo\nthree\rX"} {
		j.show("tree?path=%2F" + path[1:])
		j.awaitText("#text", "one")
		j.button("Edit")
		j.await("document.querySelector('.editor')?.shadowRoot?.activeElement")
		if path == "/lines" {
			j.press("X")
		} else { // in base64, which an editor of text can hold
			j.awaitText("#znode", "base64")
			j.typeInEditor("b25lDQp0d28KdGhyZWUNWA==")
		}
		j.save()
		j.awaitText("#version", "1")
		require.Equal(t, want, j.data(path))
	}
}

func TestTimeTravel(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/a", "as it was")
	j.create("/a/gone", hostile)
	stat, _ := must.Do2(j.client.Exists(t.Context(), "/a/gone"))(t)
	before := fmt.Sprintf("%x", uint64(stat.Czxid))
	j.setBehind("/a", "as it is")
	require.NoError(t, j.client.Delete(t.Context(), "/a/gone", -1))
	j.show("past?at=" + before + "&path=%2Fa")
	j.awaitText("#past", "needs the login of the super user")
	j.loginApp()
	j.awaitText("#text", "as it was")
	j.button("gone")
	j.awaitText("#text", hostile)
	j.show("past?at=" + before + "&path=%2Fa")
	j.button("What has changed since?")
	j.awaitText("#difference tbody", "/a/gone")
	j.awaitText("#difference tbody", "Deleted")
	j.awaitText("#difference tbody", "as it is")
	j.awaitText("#difference tbody", hostile)

	j.create("/many", "")
	j.createMany("/many", 1001)
	stat, _ = must.Do2(j.client.Exists(t.Context(), "/many/n000000"))(t)
	j.show(fmt.Sprintf("past?at=%x&path=%%2Fmany", uint64(stat.Czxid)))
	j.awaitText("#past tbody", "n000000")
	j.button("More children")
	j.awaitText("#past tbody", "n001000")
	j.button("First children")
	j.awaitText("#past tbody", "n000000")
	j.show("difference?from=" + before + "&under=%2Fmany")
	j.awaitText("#difference", "The first 1,000 are listed.")
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
	j.show("ensembles")
	j.awaitText("[aria-label=production]", "A disk is full. Make room.")
	j.awaitText("[aria-label=production]", "<script>alert(8)</script>")
	j.awaitText("[aria-label=test]", "Not known: ")
}

// A link opens one subtree to a browser without a login, until it is ended.
func TestLinksAreShared(t *testing.T) {
	j := visit(t, desk, 1, sharing)
	j.create("/app", "shown to others")
	j.create("/app/part", "a part")
	j.create("/secret", "not shown")
	j.show("tree?path=%2Fapp")
	j.loginApp()
	j.more("Share…")
	j.await("document.querySelector('#path')?.value === '/app'")
	j.checkNames("links")
	j.send("#path")
	j.await("document.querySelector('#link a') !== null")
	address := eval[string](j, "document.querySelector('#link a').getAttribute('href')")
	j.do(chromedp.Navigate(j.base))
	j.button("Log out super")
	j.await("document.querySelector('#login')")

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

	j.do(chromedp.Navigate(j.base))
	j.loginApp()
	j.open("links")
	j.click("[aria-label='End the link to /app']")
	j.await("document.querySelector('[aria-label=\"End the link to /app\"]') === null")
	j.open("shared?path=/app")
	j.awaitText(".trouble", "this link has ended")
}

// A visitor that guesses has to wait.
func TestGuessesWait(t *testing.T) {
	j := visit(t, desk, 1)
	j.show("")
	j.click("#login")
	for range 10 {
		j.run("window.was = document.querySelector('dialog .note')?.textContent")
		j.enterCredentials("super", "guess")
		j.awaitText("dialog", "The password is wrong")
		j.await("!document.querySelector('dialog .btn.primary').disabled")
	}
	j.enterCredentials("super", "guess")
	j.awaitText("dialog", "Too many logins from this address have failed")
}
