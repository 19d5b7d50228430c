package admin

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/internal/facts"
	"github.com/seed94657493/warren/test/must"
)

// post sends a body to a command.
func post(t *testing.T, h http.Handler, url, auth, body string) (int, string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, url, strings.NewReader(body))
	r.Header.Set("Authorization", auth)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	text := must.ReadAll(t, w.Result().Body)
	return w.Code, string(text)
}

// The statuses and answers of restore. Source: operations 3.5.
func TestRestoreAnswers(t *testing.T) {
	took := func(n *string) func(io.Reader) (int64, error) {
		return func(r io.Reader) (int64, error) {
			b, err := io.ReadAll(r)
			*n = string(b)
			return 0x100000003, err
		}
	}
	var got string
	for name, c := range map[string]struct {
		options Options
		body    string
		status  int
		answer  string
	}{
		"disabled":   {Options{}, "x", 503, "null"},
		"lacks zxid": {Options{RestoreEnabled: true, SnapshotLacksZxid: true}, "x", 500, "null"},
		"no body":    {Options{RestoreEnabled: true}, "", 400, "null"},
		"cannot":     {Options{RestoreEnabled: true, Node: &fakeNode{}}, "x", 503, "null"},
		"corrupt": {Options{RestoreEnabled: true, Node: &fakeNode{restore: func(io.Reader) (int64, error) {
			return 0, errors.New("no snapshot")
		}}}, "x", 500, "null"},
		"restored": {Options{RestoreEnabled: true, Node: &fakeNode{restore: took(&got)}},
			strings.Repeat("snapshot", bodyBytesMax), 200, "4294967299"},
	} {
		if c.options.Node == nil {
			c.options.Node = &fakeNode{}
		}
		status, body := post(t, New(c.options), "/commands/restore", "ip", c.body)
		require.Equal(t, c.status, status, name)
		if status == http.StatusOK {
			require.Equal(t,
				"{\n  \"last_zxid\" : 4294967299,\n  \"command\" : \"restore\",\n  \"error\" : null\n}", body)
			require.Equal(t, c.body, got, "a snapshot may be larger than other bodies")
		} else {
			require.Equal(t, "{\n  \"command\" : \"restore\",\n  \"error\" : null\n}", body, name)
		}
	}
}

// A failed restore uses up its turn, a refused client does not.
func TestRestoreRateLimit(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	node := &fakeNode{
		authorize: func(c facts.Credentials) error {
			if c.Scheme != "ip" {
				return facts.ErrNotAuthenticated
			}
			return nil
		},
		restore: func(io.Reader) (int64, error) { return 0, errDisk },
	}
	s := New(Options{Node: node, SnapshotEnabled: true, RestoreEnabled: true, RestoreInterval: time.Minute,
		Now: func() time.Time { return now }})
	status := func(auth string) int { code, _ := post(t, s, "/commands/rest", auth, "x"); return code }
	require.Equal(t, 401, status("digest"))
	require.Equal(t, 500, status("ip"))
	require.Equal(t, 429, status("ip"))
	require.Equal(t, 1, node.refused)
	resp, _ := ask(t, s, "GET", "/commands/snapshot", "Authorization", "ip")
	require.Equal(t, 200, resp.StatusCode, "the limits of the two are separate")
	now = now.Add(time.Minute)
	require.Equal(t, 500, status("ip"))
}

// A snapshot may take longer to arrive than a request may, as long as it goes on arriving.
func TestSlowRestoreIsNotCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var read string
		ln := servePipes(t,
			New(Options{RestoreEnabled: true, Node: &fakeNode{restore: func(r io.Reader) (int64, error) {
				b, err := io.ReadAll(r)
				read = string(b)
				return 1, err
			}}}))
		r := must.Do(http.NewRequest(http.MethodPost, "http://x/commands/restore",
			&pieces{pause: answerTimeout - time.Nanosecond, left: []string{"a", "slow", "client"}}))(t)
		r.Header.Set("Authorization", "ip")
		transport := &http.Transport{DisableKeepAlives: true,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return ln.dial(ctx) }}
		resp := must.Do((&http.Client{Transport: transport}).Do(r))(t)
		resp.Body.Close()
		require.Equal(t, 200, resp.StatusCode)
		require.Equal(t, "aslowclient", read)
	})
}

// A client that stops in the middle of a snapshot is cut off.
func TestRestoreThatStopsIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failed error
		ln := servePipes(t,
			New(Options{RestoreEnabled: true, Node: &fakeNode{restore: func(r io.Reader) (int64, error) {
				_, failed = io.ReadAll(r)
				return 0, failed
			}}}))
		status, took := ln.say(t,
			"POST /commands/restore HTTP/1.1\r\nHost: x\r\nAuthorization: ip\r\nContent-Length: 1000\r\n\r\npiece")
		require.ErrorIs(t, failed, os.ErrDeadlineExceeded)
		require.Contains(t, []string{"HTTP/1.1 500 Internal Server Error", ""}, status)
		require.Equal(t, answerTimeout, took)
	})
}
