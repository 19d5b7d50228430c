package api

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWorksNeedALogin(t *testing.T) {
	f := &fakeServer{}
	a := New(Options{Server: f, Writes: true, RequestMax: 1 << 10})
	for _, r := range [][2]string{{"POST", "/work"}, {"POST", "/work/plan"}, {"GET", "/history?path=/a"},
		{"GET", "/version?path=/a&zxid=0x1"}} {
		body := ""
		if r[0] == "POST" {
			body = `{"kind":"delete","path":"/a"}`
		}
		require.Equal(t, 401, visit(a, r[0], r[1], body).Code, r[1])
	}
	require.Empty(t, f.changed)
	cookie, token := logIn(t, a)
	require.Equal(t, 403, visit(a, "POST", "/work", `{"kind":"delete","path":"/a"}`, "Cookie", cookie).Code,
		"another site has no token")
	w := visit(a, "POST", "/work", `{"kind":"delete","path":"/a"}`, "Cookie", cookie, "X-Warren-Token", token)
	require.Equal(t, 200, w.Code)
	require.Len(t, f.changed, 1)
	off := New(Options{Server: f})
	require.Equal(t, 403, visit(off, "POST", "/work/plan", `{"kind":"delete","path":"/a"}`,
		"Authorization", "digest bob:x").Code)
	require.Equal(t, 413, visit(a, "POST", "/work", `{"path":"`+strings.Repeat("x", 1<<20)+`"}`,
		"Authorization", "digest bob:x").Code)
}

func TestVersionWithItsData(t *testing.T) {
	a := New(Options{Server: &fakeServer{}})
	get := func(zxid string) (int, string) {
		w := visit(a, "GET", "/version?path=/a&zxid="+zxid, "", "Authorization", "digest bob:x")
		return w.Code, w.Body.String()
	}
	status, body := get("0x1")
	require.Equal(t, 200, status)
	require.Contains(t, body, `"data":"x"`)
	status, _ = get("0x2")
	require.Equal(t, 410, status)
	status, _ = get("0x3")
	require.Equal(t, 404, status)
}
