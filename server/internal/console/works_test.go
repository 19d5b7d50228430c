package console

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/internal/api"
)

func TestWorksAreShownFirst(t *testing.T) {
	f := &fakeServer{data: []byte("x")}
	c := newConsole(f, true)
	cookie, token := logIn(t, c)
	post := func(page string, values ...string) (int, *page) {
		form := url.Values{"token": {token}, "path": {"/" + hostile}}
		for i := 0; i < len(values); i += 2 {
			form.Set(values[i], values[i+1])
		}
		w := visit(c, "POST", "/console/"+page, form, cookie)
		if w.Code == http.StatusSeeOther {
			return w.Code, nil
		}
		p := parse(t, w)
		p.check(page)
		return w.Code, p
	}
	const document = `{"warrenExport":1,"root":"/a","znodes":[{"path":""}]}`
	for _, form := range [][]string{{"kind", "delete"}, {"kind", "copy", "to", hostile},
		{"kind", "move", "to", "/b"}, {"kind", "import", "name", "n", "document", document},
		{"kind", "quota", "count", "5", "bytesHard", "10"}} {
		f.works, f.carried = nil, nil
		status, p := post("preview", form...)
		require.Equal(t, 200, status, form)
		require.Contains(t, textOf(p.all("main")[0]), "In 2 parts")
		require.Empty(t, f.carried)
		var confirmed []string
		for _, n := range p.all("input") {
			if get(n, "type") == "hidden" {
				confirmed = append(confirmed, get(n, "name"), get(n, "value"))
			}
		}
		status, p = post("work", confirmed...)
		require.Equal(t, 400, status, "the box is not ticked")
		require.Contains(t, textOf(p.all("main")[0]), "tick the box")
		require.Empty(t, f.carried)
		status, _ = post("work", append(confirmed, "sure", "1")...)
		require.Equal(t, 303, status)
		want := f.works[0]
		want.Seal = "seal"
		require.Equal(t, []api.Work{want}, f.carried, "what was shown is what is done")
	}
	f.carried, f.refuse = nil, api.ErrChanged
	status, _ := post("work", "kind", "delete", "sure", "1")
	require.Equal(t, 409, status)
	f.refuse, f.refusals = nil, []api.Refused{{Path: hostile, Why: hostile}}
	_, p := post("preview", "kind", "delete")
	require.Empty(t, p.attribute("input", "name", "sure", "name"), "what is refused cannot be confirmed")
	for _, wrong := range [][]string{{}, {"kind", "x"}, {"kind", "import"}, {"kind", "import", "document", "{}x"},
		{"kind", "quota", "count", "-2"}, {"kind", "quota", "bytes", "x"}} {
		status, _ := post("preview", wrong...)
		require.Equal(t, 400, status, wrong)
	}
	for _, page := range []string{"preview", "work"} {
		status, _ = post(page, "kind", "delete", "sure", "1", "token", "guess")
		require.Equal(t, 403, status)
		require.Equal(t, 401, visit(c, "POST", "/console/"+page, url.Values{"kind": {"delete"}}, "").Code)
	}
	require.Len(t, f.carried, 1)
}

func TestHistoryPage(t *testing.T) {
	c := newConsole(&fakeServer{}, false)
	w := visit(c, "GET", "/console/history?path=/a", nil, "")
	require.Equal(t, 401, w.Code)
	cookie, _ := logIn(t, c)
	p := parse(t, visit(c, "GET", "/console/history?path="+url.QueryEscape("/"+hostile)+"&zxid=0x3", nil, cookie))
	p.check("history")
	require.Equal(t, "- old\n+ new\n  "+hostile+"\n", textOf(p.element("pre", "id", "difference")))
	require.Contains(t, textOf(p.all("main")[0]), "1 more are hidden")
	p = parse(t, visit(c, "GET", "/console/history?path=/a&zxid=0x1", nil, cookie))
	require.Empty(t, p.attribute("pre", "id", "difference", "id"), "nothing was before the create")
	require.Equal(t, 404, visit(c, "GET", "/console/history?path=/a&zxid=0x9", nil, cookie).Code)
	require.Equal(t, 410, visit(c, "GET", "/console/history?path=/a&zxid=0x2", nil, cookie).Code)
}

func TestExportIsSentAsAFile(t *testing.T) {
	w := visit(newConsole(&fakeServer{}, false), "GET", "/console/export?path=/a", nil, "")
	require.Contains(t, w.Header().Get("Content-Disposition"), "attachment")
	d, err := documentOf(w.Body.String())
	require.NoError(t, err)
	require.Equal(t, hostile, *d.Znodes[0].Data)
}

// A form is read as one change or one work, or refused.
func FuzzForms(f *testing.F) {
	f.Add("kind=create&name=a&mode=ttl&ttl=5&path=/x")
	f.Add("kind=import&path=/a&document=" + url.QueryEscape(`{"warrenExport":1,"znodes":[{"path":""}]}`))
	f.Add("kind=quota&path=/a&count=1&bytesHard=2")
	f.Add("kind=acl&version=1&rows=2&scheme.0=world&id.0=anyone&perm.0=r&perm.0=a&remove.1=1&id.1=x")
	f.Fuzz(func(t *testing.T, text string) {
		form, err := url.ParseQuery(text)
		if err != nil {
			return
		}
		if w, err := workOf(form); err == nil {
			require.Contains(t, wordsOf, w.Kind)
			require.Equal(t, byte('/'), w.Path[0])
			require.Equal(t, w.Kind == "import", w.Document != nil)
			require.Equal(t, w.Kind == "quota", w.Limits != nil)
		}
		if c, err := changeOf(form); err == nil {
			require.Equal(t, byte('/'), c.Path[0])
			require.GreaterOrEqual(t, c.TTL, int64(0))
		}
	})
}
