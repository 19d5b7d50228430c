package console

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/server/config"
)

// hostile is a name and data that would run a script if it became part of a page unescaped.
const hostile = `"'><script>alert(1)<` + "`" + `img src=x onerror=alert(2)>`

// Every page fits the screen of a telephone and of a desk, in light and dark, and can be operated by its names.
func TestEveryPageFits(t *testing.T) {
	for _, width := range []int64{390, 1440} {
		for _, scheme := range []string{"light", "dark"} {
			t.Run(fmt.Sprint(width, scheme), func(t *testing.T) {
				j := visit(t, screen{width, scheme}, 3)
				j.create("/"+hostile, hostile)
				j.create("/"+strings.Repeat("wide", 100), `{"key":"`+strings.Repeat("wide", 100)+`"}`)
				j.login()
				wide := "tree?path=/" + strings.Repeat("wide", 100)
				for _, path := range []string{"tree", wide, wide + "&view=hex", "login", "tree?path=/none"} {
					j.open(path)
					require.LessOrEqual(t, eval[int](j, "document.documentElement.scrollWidth"), int(width), path)
					light := eval[string](j, "getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
					require.Equal(t, scheme == "light", light, path)
					j.checkNames(path)
				}
			})
		}
	}
}

func TestTreeOpensInPlace(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/app", "")
	j.create("/app/inner", "y")
	j.create("/app/inner/deep", "z")
	j.create("/many", "")
	j.createMany("/many", 250)
	j.open("tree")
	here := eval[string](j, "location.href")
	j.await("document.querySelectorAll('.children > li').length === 3") // with /zookeeper
	j.unfold("a[href$='%2Fapp']")
	j.awaitText(".below", "inner")
	j.unfold("a[href$='%2Fapp%2Finner']")
	j.awaitText(".below .below", "deep")
	require.Equal(t, here, eval[string](j, "location.href"), "nothing of this has left the page")
	j.click(".below .below a")
	j.awaitPath("/app/inner/deep")
	j.awaitText("#text", "z")
	j.open("tree?path=/many")
	j.await("document.querySelectorAll('.children > li').length === 101")
	j.click(".more a")
	j.await("document.querySelectorAll('.children > li').length === 201")
	j.click(".more a")
	j.await("document.querySelectorAll('.children > li').length === 250")
	require.Zero(t, eval[int](j, "document.querySelectorAll('.more').length"))
	j.awaitPath("/many")
}

func TestManyChildren(t *testing.T) {
	j := visit(t, telephone, 1)
	j.create("/many", "")
	j.createMany("/many", 100_000)
	j.open("tree?path=/many")
	j.awaitText("#below + p", "100000 children")
	seen := map[string]bool{}
	for rows := 201; rows <= 401; rows += 100 {
		j.click(".more a")
		j.await(fmt.Sprintf("document.querySelectorAll('.children > li').length === %d", rows))
	}
	names := eval[[]string](j,
		"Array.from(document.querySelectorAll('.children > li:not(.more) > a'), a => a.textContent)")
	for _, name := range names {
		require.False(t, seen[name], "%s stands twice", name)
		seen[name] = true
	}
	require.Len(t, seen, 400)
}

func TestHostileNamesAndData(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/"+hostile, hostile)
	j.create("/"+hostile+"/child", "<script>alert(3)</script>")
	j.open("tree")
	j.awaitText(".children", hostile)
	j.run("document.querySelector('.children details').open = true")
	j.awaitText(".below", "child")
	j.click(".below a")
	j.awaitText("#text", "<script>alert(3)</script>")
	j.click(".crumbs a:last-of-type")
	j.awaitText("#text", hostile)
	require.Zero(t, eval[int](j, "document.querySelectorAll('main img, main script').length"))
}

// A name may have everything that means something in an address.
func TestNamesThatMeanSomethingInLinks(t *testing.T) {
	j := visit(t, desk, 1)
	names := []string{"a b+c", "50%25", "?path=x", "#top", "&view=hex", "\u202egnp.txt", "\u65e5\u672c", "..."}
	for i, name := range names {
		data := fmt.Sprint("the data of ", i)
		j.create("/"+name, data)
		j.open("tree")
		j.run(fmt.Sprintf("Array.from(document.querySelectorAll('.children a')).find(a => a.textContent === "+
			"%q).click()", name))
		j.awaitText("#text", data)
		require.Equal(t, "/"+name, eval[string](j, "new URL(location.href).searchParams.get('path')"))
	}
}

func TestViewsOfData(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/json", `{"a":[1,2]}`)
	j.create("/bytes", "\x00\x01\xfe")
	j.open("tree?path=/json")
	require.Equal(t, "{\n  \"a\": [\n    1,\n    2\n  ]\n}",
		eval[string](j, "document.querySelector('#text').textContent"))
	j.click(`a[href$="view=text"]`)
	j.await(`document.querySelector('#text').textContent === '{"a":[1,2]}'`)
	j.click(`a[href$="view=hex"]`)
	j.awaitText("#text", "7b 22 61 22")
	j.open("tree?path=/bytes")
	j.awaitText("#text", "00 01 fe")
}

// A znode of 1 MiB is shown in part, and can be fetched as a whole; the editor does not offer it.
func TestLargeZnode(t *testing.T) {
	j := visit(t, telephone, 1, func(c *config.Config) { c.JuteMaxBuffer = 4 << 20 })
	j.edits("/large", strings.Repeat("<b>0123456789012", 1<<16))
	require.Equal(t, 64<<10, eval[int](j, "document.querySelector('#text').textContent.length"))
	j.awaitText("#main", "Download it to see all")
	require.True(t, eval[bool](j, "document.querySelector('#newdata') === null"))
	j.run("fetch('data?path=/large').then(r => r.arrayBuffer()).then(b => window.fetched = b.byteLength)")
	j.await("window.fetched === 1024 * 1024")
}

func TestLogins(t *testing.T) {
	j := visit(t, telephone, 1)
	j.open("login")
	j.enter("wrong")
	j.awaitText(".trouble", "the password is wrong")
	j.enter("test")
	j.awaitText("#user", "super")
	require.Empty(t, eval[string](j, "document.cookie"), "scripts cannot read the cookie")
	j.open("tree")
	j.await("document.querySelector('#newname')")
	j.click(".visitor button")
	j.awaitText(".visitor", "Log in")
	j.open("tree")
	require.True(t, eval[bool](j, "document.querySelector('#newname') === null"))
}

// A visitor that guesses has to wait.
func TestGuessesWait(t *testing.T) {
	j := visit(t, desk, 1)
	j.open("login")
	for range 10 {
		j.run("document.querySelector('.trouble')?.remove()")
		j.enter("guess")
		j.awaitText(".trouble", "the password is wrong")
	}
	j.enter("guess")
	j.awaitText(".trouble", "too many logins from this address have failed")
}

// An editor of which the znode has changed meanwhile does not write over that.
func TestEditorSeesThatTheVersionHasChanged(t *testing.T) {
	j := visit(t, desk, 1)
	j.edits("/a", "one\ntwo")
	j.edit("three\nfour")
	j.await("document.querySelector('#version')?.textContent === '1'")
	require.Equal(t, "three\nfour", j.data("/a"))
	j.setBehind("/a", "by another client")
	j.edit("five")
	j.awaitText(".trouble", "changed meanwhile")
	j.awaitText("#text", "by another client")
	require.Equal(t, "by another client", j.data("/a"))
}

// edit sends the form with new data.
func (j *journey) edit(data string) {
	j.t.Helper()
	j.unfold("#newdata")
	j.fill("#newdata", data)
	j.send("#newdata")
}

func TestCreateAndDelete(t *testing.T) {
	j := visit(t, telephone, 1)
	j.edits("/a", "")
	j.unfold("#newname")
	j.fill("#newname", "child")
	j.fill("#childdata", "of the child")
	j.send("#newname")
	j.awaitText(".children", "child")
	require.Equal(t, "of the child", j.data("/a/child"))

	remove := func() {
		j.unfold(".danger")
		j.run("document.querySelector('[name=sure]').checked = true")
		j.send("[name=sure]")
	}
	remove()
	j.awaitText(".trouble", "the znode has children")
	j.click(".children a")
	j.awaitPath("/a/child")
	j.unfold(".danger")
	j.send("[name=sure]")
	j.awaitText(".trouble", "tick the box")
	j.open("tree?path=/a/child")
	remove()
	j.awaitText("#below + p", "It has none")
	_, exists, err := j.client.Exists(t.Context(), "/a/child")
	require.NoError(t, err)
	require.False(t, exists)
}

// The permissions are edited by rows: a user is added by name and password, the entry of the world is removed, and a
// visitor that would lose the permission admin is warned.
func TestPermissionsAreEdited(t *testing.T) {
	j := visit(t, desk, 1)
	j.edits("/a", "secret")
	j.unfold("#acl-scheme-0")
	j.click("[name=more]")
	j.await("document.activeElement?.id === 'acl-scheme-1'")
	j.checkNames("form of permissions")
	j.fill("#acl-scheme-1", "digest")
	j.fill("#acl-id-1", "bob")
	j.fill("#acl-password-1", "pa55w0rd")
	j.click("[name='perm.1'][value=w]")
	j.click("[name='perm.1'][value=a]")
	j.click("[name='remove.0']")
	j.send("#acl-id-1")
	j.awaitText("[aria-label=Permissions]", "bob:")
	require.NotContains(t, eval[string](j, "document.documentElement.outerHTML"), "pa55w0rd")
	acl, _, err := j.client.GetACL(t.Context(), "/a")
	require.ErrorIs(t, err, client.ErrNoAuth, "%v", acl)

	j.click(".visitor button")
	j.awaitText(".visitor", "Log in")
	j.open("tree?path=/a")
	j.awaitText(".trouble", "the ACL of the znode does not allow it")
	require.NotContains(t, eval[string](j, "document.body.textContent"), "secret")

	j.loginAs("bob", "pa55w0rd")
	j.open("tree?path=/a")
	j.awaitText("#text", "secret")
	j.unfold("#acl-scheme-0")
	j.click("[name='perm.0'][value=a]")
	j.send("#acl-id-0")
	j.awaitText(".trouble", "you could not change them again")
	j.click("[name=lockout]")
	j.send("#acl-id-0")
	j.await("!document.querySelector('.trouble') && document.querySelector('[aria-label=Permissions]')")
	j.unfold("#acl-scheme-0")
	j.send("#acl-id-0")
	j.awaitText(".trouble", "you could not change them again")
}

// Without scripts and by keys alone the permissions can be edited as well.
func TestPermissionsByKeysWithoutScripts(t *testing.T) {
	j := visit(t, telephone, 1)
	j.edits("/a", "")
	j.do(command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	j.open("tree?path=/a")
	j.tabTo("textContent === 'Edit the permissions'")
	j.press("\r")
	j.tabTo("name === 'perm.0' && document.activeElement.value === 'd'")
	j.press(" ")
	j.tabTo("textContent === 'Add an entry'")
	j.press("\r")
	j.await("document.activeElement?.id === 'acl-scheme-1'")
	require.LessOrEqual(t, eval[int](j, "document.documentElement.scrollWidth"), 390)
	j.press("ip\t10.0.0.1\r") // Enter saves
	j.awaitText("[aria-label=Permissions]", "10.0.0.1")
	acl, _, err := j.client.GetACL(t.Context(), "/a")
	require.NoError(t, err)
	require.Equal(t, []client.ACL{{Perms: client.PermAll &^ client.PermDelete, Scheme: "world", ID: "anyone"},
		{Perms: client.PermRead, Scheme: "ip", ID: "10.0.0.1"}}, acl)
}

// A telephone or a desk without a mouse.
func TestKeysAlone(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/a", "")
	j.create("/a/b", "deep")
	j.open("tree")
	j.press(kb.Tab)
	require.Equal(t, "Skip to the content", eval[string](j, "document.activeElement.textContent"))
	j.press(kb.Enter)
	j.press("j")
	j.await("document.activeElement.textContent === 'a'")
	j.press(kb.ArrowRight)
	j.awaitText(".below", "b")
	j.press("j")
	j.await("document.activeElement.textContent === 'b'")
	j.press(kb.Enter)
	j.awaitPath("/a/b") // with its scripts
	j.awaitText("#text", "deep")
	j.press("u")
	j.awaitPath("/a")
	j.press("/")
	j.await("location.hash === '#/search' && document.querySelector('[role=search]')")
}

// Pages work without scripts, as they do when a script could not be loaded.
func TestPagesWorkWithoutScripts(t *testing.T) {
	j := visit(t, desk, 1)
	j.create("/many", "")
	j.createMany("/many", 150)
	j.do(command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	j.open("tree?path=/many")
	j.click(".more a")
	j.awaitText(".children", "n000149")
	j.click(`a[href$="n000149"]`)
	j.awaitPath("/many/n000149")
	j.open("login")
	j.fill("#name", "super")
	j.fill("#password", "test")
	j.click("form.narrow button")
	j.awaitText("#user", "super")
}
