package api

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

func TestDataIsLaidOut(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	must.Do(w.Write([]byte(`{"a":1}`)))(t)
	require.NoError(t, w.Close())
	const laid = "{\n  \"a\": 1\n}"
	for _, c := range []struct {
		data, as, format, packing, text string
		whole, packed, cut              bool
	}{
		{`{"a":1}`, "", "json", "", laid, true, false, false},
		{`{"a":1}`, "text", "text", "", `{"a":1}`, true, false, false},
		{`{"a":1}`, "none", "json", "", laid, true, false, false},
		{packed.String(), "", "json", "gzip", laid, true, false, false},
		{packed.String(), "packed", "hex", "gzip", "", true, true, false},
		{packed.String()[:20], "", "hex", "", "", false, false, true}, // a part of it cannot be opened
		{strings.Repeat("x", textShown+1), "", "text", "", strings.Repeat("x", textShown), true, false, true},
		{"", "", "text", "", "", true, false, false},
	} {
		l := Lay([]byte(c.data), c.whole, c.as)
		require.Equal(t, []any{c.format, c.packing, c.packed, c.cut},
			[]any{l.Format, l.Packing, l.Packed, l.Cut}, c.data)
		if c.format != "hex" {
			require.Equal(t, c.text, l.Text, c.data)
		}
		require.Empty(t, l.Trouble)
		require.Contains(t, l.Formats, "yaml")
	}
	require.NotEmpty(t, Lay([]byte("\x1f\x8b\x08broken"), true, "").Trouble)
}

// The text of an editor is laid out, or it is said why not.
func TestTextsAreLaidOut(t *testing.T) {
	a := New(Options{Server: &fakeServer{}, Writes: true, RequestMax: 1000})
	ask := func(text, as string) (int, string) {
		body := must.Do(json.Marshal(Layout{text, as}))(t)
		w := visit(a, "POST", "/laid", string(body), "Authorization", "digest bob:x")
		var l Layout
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &l))
		return w.Code, l.Text
	}
	for _, c := range []struct{ text, as, want string }{
		{`{"a":1}`, "json", "{\n  \"a\": 1\n}"},
		{"a:   {b: 1}   # why\n", "yaml", "a: {b: 1} # why\n"},
		{"---\na:  1\n---\nb:  2\n", "yaml", "---\na: 1\n---\nb: 2\n"},
		{"<a><b>x</b></a>", "xml", "<a>\n  <b>x</b>\n</a>\n"},
		{`{"a":`, "json", ""}, {"a: [", "yaml", ""}, {"<a>", "xml", ""}, {"x", "text", ""}, {"x", "", ""},
	} {
		status, text := ask(c.text, c.as)
		require.Equal(t, c.want != "", status == 200, c.text)
		require.Equal(t, c.want, text)
	}
	require.Equal(t, 401, visit(a, "POST", "/laid", `{}`).Code)
	status, _ := ask(strings.Repeat("x", layoutBody), "json")
	require.Equal(t, 413, status)
}

// A password becomes the id of an ACL for a visitor that may change something, and for no other.
func TestPasswordsAreHashed(t *testing.T) {
	for _, writes := range []bool{false, true} {
		a := New(Options{Server: &fakeServer{}, Writes: writes, RequestMax: 1000})
		ask := func(body string, header ...string) (int, string) {
			w := visit(a, "POST", "/digest", body, header...)
			return w.Code, w.Body.String()
		}
		const body = `{"user":"alice","password":"pw"}`
		status, _ := ask(body)
		require.Equal(t, 401, status)
		status, text := ask(body, "Authorization", "digest bob:x")
		if !writes {
			require.Equal(t, 403, status)
			continue
		}
		require.Equal(t, 200, status)
		require.Contains(t, text, `"alice:hash-of-PW"`)
		for _, wrong := range []string{`{"user":"a:b","password":"pw"}`, `{"user":"","password":"pw"}`,
			`{"user":"a","password":""}`, `{"user":"a","password":"` + strings.Repeat("x", 2000) + `"}`} {
			status, _ := ask(wrong, "Authorization", "digest bob:x")
			require.Equal(t, 400, status, wrong)
		}
	}
}

// A visitor that asks for it does not shut itself out of an ACL.
func TestLockoutIsRefused(t *testing.T) {
	f := &fakeServer{}
	a := New(Options{Server: f, Writes: true, RequestMax: 1000})
	set := func(acl, keep string) int {
		return visit(a, "PUT", "/acl", `{"path":"/a","version":1,"acl":[`+acl+`],"keepAdmin":`+keep+`}`,
			"Authorization", "digest bob:x").Code
	}
	const read, admin = `{"scheme":"world","id":"anyone","perms":"r"}`, `{"scheme":"auth","id":"","perms":"a"}`
	require.Equal(t, 409, set(read, "true"))
	require.Empty(t, f.changed)
	require.Equal(t, 200, set(read, "false"))
	require.Equal(t, 200, set(read+","+admin, "true"))
	require.Len(t, f.changed, 2)
}
