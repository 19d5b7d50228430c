package console

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/api"
)

// aclFormOn returns what a browser would send of the form of permissions on a page; nil if there is none.
func aclFormOn(p *page) url.Values {
	for _, n := range p.all("form") {
		one := &page{p.t, n}
		if one.attribute("input", "name", "rows", "value") == "" {
			continue
		}
		form := url.Values{}
		for _, input := range one.all("input") {
			isOff := true
			for _, a := range input.Attr {
				isOff = isOff && a.Key != "checked"
			}
			if get(input, "type") != "checkbox" || !isOff {
				form.Add(get(input, "name"), get(input, "value"))
			}
		}
		return form
	}
	return nil
}

// The form of the permissions means the ACL that the znode has, or there is no such form.
func TestEditorKeepsACLs(t *testing.T) {
	for id, possible := range map[string]bool{"bob:a=": true, "a b": true, " x ": true, "bob:h\nworld:anyone": false,
		"h\rworld:anyone:r": false, "h\u2028x": true, "": true, "x\n": false, hostile: true} {
		f := &fakeServer{acl: []api.ACL{{Scheme: "digest", ID: id, Perms: "cdrwa"},
			{Scheme: "world", ID: "anyone", Perms: "r"}, {Scheme: "ip", ID: "10.0.0.0/8", Perms: "dw"}}}
		c := newConsole(f, true)
		cookie, _ := logIn(t, c)
		form := aclFormOn(parse(t, visit(c, "GET", "/console/tree?path=/a", nil, cookie)))
		require.Equal(t, possible, form != nil, "%q", id)
		if form != nil {
			require.Equal(t, 303, visit(c, "POST", "/console/change", form, cookie).Code)
			require.Equal(t, f.acl, f.changed[0].ACL, "%q", id)
		}
	}
}

// editing is a visitor that edits the permissions of /a.
type editing struct {
	t      *testing.T
	f      *fakeServer
	c      *Console
	cookie string
	form   url.Values
}

func edit(t *testing.T, user string, acl ...api.ACL) *editing {
	e := &editing{t: t, f: &fakeServer{acl: acl}}
	e.c = newConsole(e.f, true)
	e.cookie, _ = logInAs(t, e.c, user)
	e.form = aclFormOn(parse(t, visit(e.c, "GET", "/console/tree?path=/a", nil, e.cookie)))
	return e
}

// send sends the form with more values. The form of the page that comes back is the next one.
func (e *editing) send(values ...string) *httptest.ResponseRecorder {
	e.t.Helper()
	for i := 0; i < len(values); i += 2 {
		e.form.Set(values[i], values[i+1])
	}
	w := visit(e.c, "POST", "/console/change", e.form, e.cookie)
	if w.Code != http.StatusSeeOther {
		text := w.Body.String()
		p := parse(e.t, w)
		p.check("form of permissions")
		e.form = aclFormOn(p)
		w.Body.WriteString(text)
	}
	return w
}

var anyone = api.ACL{Scheme: "world", ID: "anyone", Perms: "cdrwa"}

func TestRowsAreAddedAndRemoved(t *testing.T) {
	e := edit(t, "super", anyone)
	require.Equal(t, 200, e.send("more", "1").Code)
	require.Empty(t, e.f.changed, "a row more is no change")
	require.Equal(t, "2", e.form.Get("rows"))
	require.Equal(t, "0", e.form.Get("version"), "the version that the visitor has seen")
	require.Equal(t, 303, e.send("scheme.1", "ip", "id.1", "10.0.0.1", "remove.0", "1").Code)
	require.Equal(t, []api.ACL{{Scheme: "ip", ID: "10.0.0.1", Perms: "r"}}, e.f.changed[0].ACL)

	e = edit(t, "super", anyone)
	e.send("more", "1")
	require.Equal(t, 303, e.send().Code)
	require.Equal(t, []api.ACL{anyone}, e.f.changed[0].ACL, "an empty row is none")
}

// A password becomes an id at once: neither a page nor an address has it.
func TestPasswordsAreHashed(t *testing.T) {
	e := edit(t, "super", anyone)
	e.send("more", "1")
	w := e.send("scheme.1", "digest", "id.1", "bob", "password.1", "secret", "more", "1")
	require.Equal(t, 200, w.Code)
	require.NotContains(t, w.Body.String(), "secret")
	require.Equal(t, "bob:hash-of-SECRET", e.form.Get("id.1"))
	e.form.Del("more")
	w = e.send("scheme.2", "digest", "id.2", "eve", "password.2", "hidden")
	require.Equal(t, 303, w.Code)
	require.NotContains(t, w.Header().Get("Location"), "hidden")
	require.Equal(t, "eve:hash-of-HIDDEN", e.f.changed[0].ACL[2].ID)
	for _, wrong := range [][]string{{"scheme.0", "world"}, {"scheme.0", "digest", "id.0", "a:b"},
		{"scheme.0", "digest", "id.0", ""}} {
		e := edit(t, "super", anyone)
		w := e.send(append(wrong, "password.0", "secret")...)
		require.Equal(t, 400, w.Code, wrong)
		require.NotContains(t, w.Body.String(), "secret")
		require.Contains(t, w.Body.String(), "a password belongs to scheme digest")
		require.Empty(t, e.f.changed)
	}
}

// A visitor that would lose the permission admin is warned once, and may do it.
func TestLockoutIsWarnedOf(t *testing.T) {
	own := api.ACL{Scheme: "digest", ID: "bob:hash", Perms: "cdrwa"}
	for _, acl := range [][]api.ACL{{anyone}, {own}, {{Scheme: "auth", Perms: "a"}},
		{{Scheme: "ip", ID: "10.0.0.1", Perms: "r"}, own}} {
		e := edit(t, "bob", acl...)
		require.Equal(t, 303, e.send().Code, acl)
	}
	for _, acl := range [][]api.ACL{{{Scheme: "world", ID: "anyone", Perms: "cdrw"}},
		{{Scheme: "digest", ID: "bob:other", Perms: "cdrwa"}}, {{Scheme: "ip", ID: "0.0.0.0/0", Perms: "a"}}} {
		e := edit(t, "bob", acl...)
		w := e.send()
		require.Equal(t, 400, w.Code, acl)
		require.Contains(t, w.Body.String(), "you could not change them again")
		require.Empty(t, e.f.changed)
		require.Equal(t, 303, e.send("lockout", "1").Code)
		require.Equal(t, acl, e.f.changed[0].ACL)
		require.Equal(t, 303, edit(t, "super", acl...).send().Code, "ACLs do not hold for the super user")
	}
}

// What the server refuses stays in the form, unless another client has changed the permissions meanwhile.
func TestRefusedPermissions(t *testing.T) {
	e := edit(t, "super", anyone)
	e.f.refuse = proto.ErrInvalidACL
	require.Equal(t, 400, e.send("scheme.0", "none").Code)
	require.Equal(t, "none", e.form.Get("scheme.0"))
	e.f.refuse = proto.ErrBadVersion
	w := e.send()
	require.Equal(t, 409, w.Code)
	require.True(t, strings.Contains(w.Body.String(), "changed meanwhile"))
	require.Equal(t, "world", e.form.Get("scheme.0"))
}
