package console

import (
	"bytes"
	"compress/gzip"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/server/config"
)

var shots = flag.String("shots", "", "folder for pictures of the pages that are checked; none are written without it")

// exists reports whether there is a znode.
func (j *journey) exists(path string) bool {
	j.t.Helper()
	_, found, err := j.client.Exists(j.t.Context(), path)
	require.NoError(j.t, err)
	return found
}

// setACL sets an ACL.
func (j *journey) setACL(path string, acl ...client.ACL) {
	j.t.Helper()
	_, err := j.client.SetACL(j.t.Context(), path, acl, -1)
	require.NoError(j.t, err)
}

// previewOf sends a form that leads to a preview, by the kind of its work.
func (j *journey) previewOf(kind string) {
	j.t.Helper()
	j.send(fmt.Sprintf("form[action=preview] [value=%s]", kind))
	j.await("location.pathname.endsWith('/preview') && document.readyState === 'complete' && " +
		"document.querySelector('#planned')")
}

// confirm ticks the box of a preview and sends it.
func (j *journey) confirm() {
	j.t.Helper()
	j.click("[name=sure]")
	j.click("form[action=work] button")
}

// The pages of works and histories fit every screen, in light and dark, and can be operated by their names.
func TestPagesOfWorksFit(t *testing.T) {
	for _, s := range []screen{{390, "light"}, {390, "dark"}, {1440, "light"}, {1440, "dark"}} {
		t.Run(fmt.Sprint(s.width, s.scheme), func(t *testing.T) {
			j := visit(t, s, 1)
			long := "/" + strings.Repeat("wide", 60)
			j.create(long, `{"key":"`+strings.Repeat("wide", 100)+`"}`)
			j.create(long+"/"+hostile, hostile)
			j.setBehind(long, strings.Repeat("other", 100))
			j.login()
			fits := func(name string) {
				j.shoot(name)
				j.checkNames(name)
				require.LessOrEqual(t, eval[int](j, "document.documentElement.scrollWidth"), int(s.width), name)
			}
			for _, view := range []string{"text", "json", "yaml", "xml", "hex"} {
				j.open("tree?path=" + long + "&view=" + view)
				fits(view)
			}
			j.run("document.querySelectorAll('main details').forEach((d) => { d.open = true; })")
			fits("open forms")
			j.previewOf("delete")
			j.awaitText("#planned", "2")
			fits("preview")
			j.open("history?path=" + long)
			fits("history")
			j.click("tr.changed a")
			j.await("document.querySelector('#difference')")
			fits("version")
		})
	}
}

func TestSubtreeIsDeletedAfterAPreview(t *testing.T) {
	j := visit(t, desk, 1)
	for _, path := range []string{"/a", "/a/b", "/a/b/c"} {
		j.create(path, "")
	}
	_, err := j.client.Create(t.Context(), "/a/held", nil, client.Ephemeral)
	require.NoError(t, err)
	j.loginAt("/a")
	j.previewOf("delete")
	j.awaitText("#planned", "4")
	j.awaitText("[aria-labelledby=ephemerals]", "/a/held")
	j.click("form[action=work] button")
	j.awaitText(".trouble", "tick the box")
	require.True(t, j.exists("/a/b/c"))
	j.confirm()
	j.awaitPath("/")
	require.False(t, j.exists("/a"))
}

// What was created while the visitor looked at the preview is not deleted.
func TestPreviewIsOverWhenTheZnodesChange(t *testing.T) {
	j := visit(t, telephone, 1)
	j.edits("/a", "")
	j.previewOf("delete")
	j.create("/a/new", "precious")
	j.confirm()
	j.awaitText(".trouble", "the znodes have changed since the preview")
	j.awaitText("[aria-labelledby=changed]", "/a/new")
	require.Equal(t, "precious", j.data("/a/new"))
	j.confirm() // this plan has it
	j.awaitPath("/")
	require.False(t, j.exists("/a"))
}

func TestPreviewTellsWhatACLsRefuse(t *testing.T) {
	j := visit(t, telephone, 1)
	j.create("/a", "")
	j.create("/a/b", "")
	j.create("/bob", "")
	j.setACL("/bob", client.ACL{Perms: client.PermAll, Scheme: "digest", ID: "bob:iFsTbWlcJPfvdqBXIYJeUB6RUDI="})
	j.setACL("/a", client.ACL{Perms: client.PermRead, Scheme: "world", ID: "anyone"})
	j.loginAt("/a")
	j.previewOf("delete")
	j.await("document.querySelector('[name=sure]')") // the super user may
	require.Zero(t, eval[int](j, "document.querySelectorAll('#refused').length"))
}

func TestSubtreeIsCopied(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/a", "top")
	j.create("/a/b", "below")
	j.loginAt("/a")
	j.unfold("#copyto")
	j.fill("#copyto", "/copied")
	j.previewOf("copy")
	j.awaitText("dl", "At once")
	j.confirm()
	j.awaitPath("/copied")
	require.Equal(t, "below", j.data("/copied/b"))
	require.Equal(t, "below", j.data("/a/b"))
}

func TestSubtreeIsMoved(t *testing.T) {
	j := visit(t, telephone, 1)
	j.create("/a", "top")
	j.create("/a/b", "below")
	j.loginAt("/a")
	j.unfold("#moveto")
	j.fill("#moveto", "/a/inside")
	j.send("#moveto")
	j.awaitText(".trouble", "not copied into itself")
	j.open("tree?path=/a")
	j.unfold("#moveto")
	j.fill("#moveto", "/moved")
	j.previewOf("move")
	j.confirm()
	j.awaitPath("/moved")
	require.Equal(t, "below", j.data("/moved/b"))
	require.False(t, j.exists("/a"))
}

// A large subtree takes several multis, and the preview says so.
func TestLargeSubtreeIsDeletedInParts(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/many", "")
	j.createMany("/many", 2500)
	j.loginAt("/many")
	j.previewOf("delete")
	j.awaitText("#planned", "2501")
	j.awaitText("dl", "In 3 parts")
	j.confirm()
	j.awaitPath("/")
	require.False(t, j.exists("/many"))
}

func TestTooLargeSubtreeIsRefused(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/many", "")
	j.createMany("/many", 15_000)
	j.loginAt("/many")
	j.send("form[action=preview] [value=delete]")
	j.awaitText(".trouble", "more than 10000 znodes")
	require.True(t, j.exists("/many"))
}

func TestExportIsImported(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/a", "top")
	j.create("/a/b", hostile)
	j.loginAt("/a")
	j.run("fetch(document.querySelector(\"a[href^='export']\").href).then((r) => r.text()).then((t) => { " +
		"window.exported = t; })")
	j.await("window.exported")
	document := eval[string](j, "window.exported")
	j.open("tree")
	j.unfold("#document")
	j.fill("#importname", "again")
	j.fill("#document", document)
	j.previewOf("import")
	j.confirm()
	j.awaitPath("/again")
	require.Equal(t, hostile, j.data("/again/b"))
	j.open("tree")
	j.unfold("#document")
	j.fill("#document", "no document")
	j.send("#document")
	j.awaitText(".trouble", "the document is no export")
}

func TestQuotaIsSetAndRemoved(t *testing.T) {
	j := visit(t, telephone, 1)
	j.create("/a", "")
	j.create("/a/b", "12345")
	j.loginAt("/a")
	j.unfold("#quotacount")
	j.fill("#quotacount", "10")
	j.fill("#quotabyteshard", "1000")
	j.previewOf("quota")
	j.confirm()
	j.awaitPath("/a")
	j.awaitText("[aria-label=Quota]", "10 soft, none hard")
	j.awaitText("[aria-label=Quota]", "none soft, 1000 hard")
	require.Equal(t, "count=10,bytes=-1=;byteHardLimit=1000;countHardLimit=-1",
		j.data("/zookeeper/quota/a/zookeeper_limits"))
	j.unfold("#quotacount")
	j.fill("#quotacount", "")
	j.fill("#quotabyteshard", "")
	j.previewOf("quota")
	j.confirm()
	j.awaitPath("/a")
	require.False(t, j.exists("/zookeeper/quota/a"))
}

func TestContainersAndTTLs(t *testing.T) {
	j := visit(t, desk, 1, func(c *config.Config) { c.ExtendedTypes = true })
	j.login()
	for _, mode := range []string{"container", "ttl"} {
		j.open("tree")
		j.unfold("#newname")
		j.fill("#newname", mode)
		j.run(fmt.Sprintf("document.querySelector('#mode').value = %q", mode))
		j.fill("#ttl", "600000")
		j.send("#newname")
		j.awaitText(".children", mode)
	}
	j.open("tree")
	j.unfold("#newname")
	j.fill("#newname", "wrong")
	j.run("document.querySelector('#mode').value = 'ttl'")
	j.send("#newname")
	j.awaitText(".trouble", "a TTL is a number of ms")
}

func TestHistoryShowsWhatHasChanged(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/a", "first\nstays\n")
	j.setBehind("/a", "second\nstays\n")
	j.setBehind("/a", hostile)
	j.open("history?path=/a")
	j.awaitText(".trouble", "a history needs a login")
	j.loginAt("/a")
	j.click("a[href^='history']")
	j.await("document.querySelectorAll('tr.changed').length === 2")
	j.click("tr.changed:nth-child(2) a")
	j.awaitText("#difference", "- first")
	j.awaitText("#difference", "+ second")
	j.awaitText("#difference", "  stays")
	j.click("tr.changed:first-child a")
	j.awaitText("#text", hostile)
	require.Zero(t, eval[int](j, "document.querySelectorAll('main img, main script').length"))
}

// A znode that is gone is found by the super user: which session has deleted it, and what it had.
func TestHistoryOfADeletedZnode(t *testing.T) {
	j := visit(t, telephone, 1)
	j.create("/gone", "what it had")
	require.NoError(t, j.client.Delete(t.Context(), "/gone", -1))
	j.login()
	j.open("history?path=/gone")
	j.await("document.querySelector('tr.deleted')")
	j.click("tr.created a")
	j.awaitText("#text", "what it had")
}

func TestFormatsOfData(t *testing.T) {
	j := visit(t, desk, 1)
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(`{"packed":true}`))
	_ = w.Close()
	for _, c := range []struct{ name, data, shown, tab string }{
		{"json", `{"a":1}`, "\"a\": 1", "JSON"}, {"yaml", "---\na:   1\n", "a: 1", "YAML"},
		{"xml", "<a><b>x</b></a>", "  <b>x</b>", "XML"}, {"bytes", "\x00\xff", "00 ff", "Bytes"},
		{"gzip", b.String(), "\"packed\": true", "JSON"},
	} {
		j.create("/"+c.name, c.data)
		j.open("tree?path=/" + c.name)
		j.awaitText("#text", c.shown)
		j.awaitText(".tools [aria-current]", c.tab)
	}
	j.awaitText("section[aria-labelledby=data]", "Compressed by gzip")
	j.click("a[href$='view=packed']")
	j.awaitText("#text", "1f 8b 08")
}

// A megabyte of zeros that stands for a gigabyte is shown up to the bound, and the server lives.
func TestZipBomb(t *testing.T) {
	j := visit(t, telephone, 1)
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	for range 200 {
		_, _ = w.Write(make([]byte, 1<<20))
	}
	_ = w.Close()
	j.create("/bomb", b.String())
	j.create("/deep", strings.Repeat("[", 9000)+strings.Repeat("1,", 300_000)+"1"+strings.Repeat("]", 9000))
	j.open("tree?path=/bomb")
	j.awaitText("section[aria-labelledby=data]", "more than 1024.0 KiB")
	j.open("tree?path=/deep&view=json")
	j.awaitText("section[aria-labelledby=data]", "too long to be laid out")
	j.open("")
	j.awaitText("#state", "standalone")
}

func TestKeysAloneDeleteASubtree(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/a", "")
	j.create("/a/b", "")
	j.loginAt("/a")
	j.tabTo("textContent === 'Delete it with what is below'")
	j.press("\r")
	j.press("\t\r")
	j.await("document.querySelector('#planned')")
	j.tabTo("name === 'sure'")
	j.press(" \t\r")
	j.awaitPath("/")
	require.False(t, j.exists("/a"))
}

// A quorum that is lost between the preview and the confirmation leaves all znodes as they are.
func TestQuorumIsLostAfterThePreview(t *testing.T) {
	j := visit(t, desk, 3)
	j.create("/a", "")
	require.NoError(t, j.ensemble.WaitEqual(t.Context()))
	j.loginAt("/a")
	j.previewOf("delete")
	j.ensemble.Kill(2)
	j.ensemble.Kill(3)
	j.await("fetch('api/v1/ensemble').then((r) => r.json()).then((e) => { window.lost = !e.serving; }) && window.lost")
	j.confirm()
	j.awaitText(".trouble", "does not serve clients now")
	require.NoError(t, j.ensemble.Start(2))
	j.await("fetch('api/v1/ensemble').then((r) => r.json()).then((e) => { window.back = e.serving; }) && window.back")
	j.open("tree?path=/a")
	j.awaitText("#version", "0")
}

// shoot writes a picture of the present page to the folder that -shots names.
func (j *journey) shoot(name string) {
	j.t.Helper()
	if *shots == "" {
		return
	}
	ctx, cancel := context.WithTimeout(j.tab, patience)
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	require.NoError(j.t, err)
	file := strings.ReplaceAll(strings.ReplaceAll(j.t.Name(), "/", "-")+"-"+name+".png", " ", "-")
	require.NoError(j.t, os.WriteFile(filepath.Join(*shots, file), picture, 0o644))
}
