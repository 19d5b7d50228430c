package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"
	"go.uber.org/zap/zaptest/observer"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal/vfs"
)

// withAdmin runs a server with its admin server on a free port of 127.0.0.1.
func withAdmin(t *testing.T, set func(*config.Config)) (*server.Server, *wire.Conn) {
	t.Helper()
	cfg := testConfig(t)
	cfg.Admin.Enabled, cfg.Admin.Port = true, 0
	cfg.SuperDigest = auth.DigestIdentity("super:secret").ID
	if set != nil {
		set(cfg)
	}
	s := server.New(cfg, server.Options{Log: zaptest.NewLogger(t, zaptest.Level(zap.WarnLevel)),
		Version: "3.9.4-abc, built on 2026-01-01 00:00 UTC"})
	require.NoError(t, s.Start())
	t.Cleanup(s.Stop)
	return s, dial(t, s.Addr().String(), wire.Options{})
}

// superUser is the credentials of the super user of withAdmin.
const superUser = "digest super:secret"

// fetch asks the admin server, with credentials if auth is not empty.
func fetch(t *testing.T, s *server.Server, path, auth string) (*http.Response, []byte) {
	t.Helper()
	r := must.Do(http.NewRequest(http.MethodGet, "http://"+s.AdminAddr().String()+path, nil))(t)
	if auth != "" {
		r.Header.Set("Authorization", auth)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp := must.Do(client.Do(r))(t)
	defer resp.Body.Close()
	body := must.ReadAll(t, resp.Body)
	return resp, body
}

// fields fetches a command as the super user and decodes its answer; numbers keep their digits.
func fields(t *testing.T, s *server.Server, command string) map[string]any {
	t.Helper()
	return fieldsFor(t, s, command, superUser)
}

// fieldsFor is fields with other credentials.
func fieldsFor(t *testing.T, s *server.Server, command, auth string) map[string]any {
	t.Helper()
	resp, body := fetch(t, s, "/commands/"+command, auth)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var all map[string]any
	require.NoError(t, d.Decode(&all), "%s", body)
	require.Nil(t, all["error"], "%s", body)
	return all
}

func number(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }

// A client that knows the id of a session can close it. So the admin port tells ids only to an identity that may have
// everything, or to all if passwords of sessions have a secret. Others see labels, which are the same in all
// commands and in the words of the client port.
func TestAdminCommandsHideIDsOfSessions(t *testing.T) {
	secrets := filepath.Join(t.TempDir(), "secrets")
	require.NoError(t, os.WriteFile(secrets, []byte(strings.Repeat("ab", 32)+"\n"), 0o600))
	for _, guessable := range []bool{true, false} {
		s, c := withAdmin(t, func(cfg *config.Config) {
			if !guessable {
				cfg.SessionSecrets = secrets
			}
		})
		c.MustCreate(t, "/e", nil, proto.ModeEphemeral)
		_, err := c.Exists("/w", true)
		require.NoError(t, ignoreNoNode(err))
		id := number(int64(c.Session()))
		// the wrong passwords come last: after them even the right one has to wait
		for _, auth := range []string{superUser, "", "digest super:wrong", "digest a:b"} {
			label := fieldsFor(t, s, "cons",
				auth)["connections"].([]any)[0].(map[string]any)["session_id"].(json.Number)
			require.Equal(t, guessable && auth != superUser, label != id, "%q", auth)
			require.Equal(t, map[string]any{string(label): []any{"/e"}},
				fieldsFor(t, s, "dump", auth)["session_id_to_ephemeral_paths"])
			for _, all := range fieldsFor(t, s, "dump", auth)["expiry_time_to_session_ids"].(map[string]any) {
				require.Equal(t, []any{label}, all)
			}
			require.Equal(t, map[string]any{string(label): []any{"/w"}},
				fieldsFor(t, s, "wchc", auth)["session_id_to_watched_paths"])
			require.Equal(t, map[string]any{"/w": []any{label}}, fieldsFor(t, s, "wchp", auth)["path_to_session_ids"])
			shown := must.Do(strconv.ParseInt(string(label), 10, 64))(t)
			require.EqualValues(t, c.Session()>>56, shown>>56, "the server that has created the session")
			if auth == "" { // the words of the client port name sessions as this port does without credentials
				named := proto.SessionID(shown).String()
				for _, ask := range []string{"cons", "dump", "wchc", "wchp"} {
					text := wire.MustFourLetter(t, s.Addr().String(), ask, hangGuard)
					require.Contains(t, text, named, ask)
					require.Equal(t, !guessable, strings.Contains(text, c.Session().String()), ask)
				}
			}
		}
	}
}

func TestAdminCommandsTellTheState(t *testing.T) {
	s, c := withAdmin(t, nil)
	c.MustCreate(t, "/e", []byte("x"), proto.ModeEphemeral)
	_, err := c.Exists("/w", true)
	require.NoError(t, ignoreNoNode(err))
	id := number(int64(c.Session()))

	require.Equal(t, map[string]any{string(id): []any{"/e"}}, fields(t, s, "dump")["session_id_to_ephemeral_paths"])
	buckets := fields(t, s, "dump")["expiry_time_to_session_ids"].(map[string]any)
	require.Len(t, buckets, 1)
	for _, sessions := range buckets {
		require.Equal(t, []any{id}, sessions)
	}
	require.Equal(t, map[string]any{string(id): []any{"/w"}}, fields(t, s, "wchc")["session_id_to_watched_paths"])
	require.Equal(t, map[string]any{"/w": []any{id}}, fields(t, s, "wchp")["path_to_session_ids"])
	require.Equal(t, number(1), fields(t, s, "wchs")["num_total_watches"])

	conns := fields(t, s, "cons")["connections"].([]any)
	require.Len(t, conns, 1)
	require.Equal(t, id, conns[0].(map[string]any)["session_id"])
	require.NotContains(t, fields(t, s, "stat")["connections"].([]any)[0], "session_id")

	srvr := fields(t, s, "srvr")
	require.Equal(t, number(6), srvr["node_count"])
	require.Equal(t, number(2), srvr["server_stats"].(map[string]any)["last_processed_zxid"])
	require.Equal(t, "standalone", srvr["server_stats"].(map[string]any)["server_state"])
	require.Equal(t, number(int64(s.Addr().(*net.TCPAddr).Port)), fields(t, s, "conf")["client_port"])
	require.Equal(t, "0", fields(t, s, "lsnp")["zxid"])
	require.Equal(t, number(306), fields(t, s, "gtmk")["tracemask"])
	require.Equal(t, number(6), fields(t, s, "stmk?traceMask=6")["tracemask"])
	require.Equal(t, number(6), fields(t, s, "gtmk")["tracemask"])
	require.Equal(t, false, fields(t, s, "isro")["read_only"])
	require.Contains(t, fields(t, s, "envi")["zookeeper.version"], "3.9.4")
	fields(t, s, "srst")
	require.Equal(t, number(0), fields(t, s, "srvr")["server_stats"].(map[string]any)["packets_received"])
}

func ignoreNoNode(err error) error {
	if err == proto.ErrNoNode {
		return nil
	}
	return err
}

// mntr and monitor have the same keys in the same order; a number is a number.
func TestMonitorIsMntr(t *testing.T) {
	s, _ := withAdmin(t, nil)
	text := wire.MustFourLetter(t, s.Addr().String(), "mntr", hangGuard)
	_, body := fetch(t, s, "/commands/monitor", "")
	var keys []string
	d := json.NewDecoder(bytes.NewReader(body))
	depth := 0
	for key := true; ; key = !key {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		if _, brace := token.(json.Delim); brace {
			depth++
			key = false
			continue
		}
		if key {
			keys = append(keys, token.(string))
		} else if last := keys[len(keys)-1]; last != "version" && last != "server_state" && last != "command" &&
			last != "error" {
			require.IsType(t, float64(0), token, last)
		}
	}
	require.Equal(t, 2, depth, "the object is flat")
	var want []string
	for line := range strings.Lines(text) {
		key, _, _ := strings.Cut(line, "\t")
		want = append(want, strings.TrimPrefix(key, "zk_"))
	}
	require.Equal(t, append(want, "command", "error"), keys)
}

func TestHashListsTheDigestsOfEvery128thZxid(t *testing.T) {
	s, c := withAdmin(t, nil)
	require.Empty(t, fields(t, s, "hash")["digests"])
	var reqs []wire.Request
	for i := range 300 {
		reqs = append(reqs, wire.Create(fmt.Sprintf("/n%d", i), nil, wire.OpenACL, proto.ModePersistent))
	}
	for _, call := range c.SendAll(reqs) {
		require.NoError(t, call.Wait())
	}
	var zxids []any
	for _, d := range fields(t, s, "hash")["digests"].([]any) {
		zxids = append(zxids, d.(map[string]any)["zxid"])
		require.Equal(t, number(2), d.(map[string]any)["digest_version"])
	}
	require.Equal(t, []any{number(128), number(256)}, zxids)
}

func TestSnapshotCommandStreamsAWholeSnapshot(t *testing.T) {
	for _, compression := range []string{"", "gz", "snappy"} {
		t.Run("compression "+compression, func(t *testing.T) {
			var dir string
			s, c := withAdmin(t, func(cfg *config.Config) {
				cfg.SnapshotCompression = compression
				dir = cfg.DataDir
			})
			c.MustCreate(t, "/a", []byte("payload"), proto.ModePersistent)

			resp, _ := fetch(t, s, "/commands/snapshot", "")
			require.Equal(t, http.StatusUnauthorized, resp.StatusCode)
			resp, body := fetch(t, s, "/commands/snap", superUser)
			require.Equal(t, http.StatusOK, resp.StatusCode)
			require.Equal(t, "application/octet-stream", resp.Header.Get("Content-Type"))
			require.Equal(t, "0x2", resp.Header.Get("last_zxid"))
			require.Equal(t, strconv.Itoa(len(body)), resp.Header.Get("snapshot_size"))

			name := snapshot.FileName(2, snapshot.Compression(compression))
			require.Equal(t, must.ReadFile(t, filepath.Join(dir, "version-2", name)), body)
			fetched := filepath.Join(t.TempDir(), name)
			require.NoError(t, os.WriteFile(fetched, body, 0o600))
			loader := datatree.NewLoader(datatree.Config{})
			trailer := must.Do(snapshot.Load(vfs.OS(), fetched, loader))(t)
			state := must.Do(loader.Done(2))(t)
			require.Equal(t, "payload", string(state.Data(state.Lookup([]byte("/a")))))
			require.Equal(t, trailer.Digest, state.Digest())

			resp, _ = fetch(t, s, "/commands/snapshot", superUser)
			require.Equal(t, http.StatusTooManyRequests, resp.StatusCode)
			require.Equal(t, number(1), fields(t, s, "monitor")["snapshot_rate_limited_count"])
			require.Equal(t, "2", fields(t, s, "last_snapshot")["zxid"])
		})
	}
}

func TestSnapshotNeedsEveryPermissionOnTheRoot(t *testing.T) {
	s, c := withAdmin(t, func(cfg *config.Config) {
		cfg.Admin.RateLimiterInterval = 0
	})
	for auth, want := range map[string]int{
		"digest x:y": http.StatusForbidden, "ip": http.StatusForbidden, superUser: http.StatusOK,
	} {
		resp, body := fetch(t, s, "/commands/snapshot?streaming=false", auth)
		require.Equal(t, want, resp.StatusCode, "while the root is open to the world, %q: %s", auth, body)
	}
	alice, bob := auth.DigestIdentity("alice:pw").ID, auth.DigestIdentity("bob:pw").ID
	require.NoError(t, c.Auth("digest", "alice:pw"))
	entry := func(perms int32, scheme, id string) proto.ACL {
		return proto.ACL{Perms: perms, Id: proto.ID{Scheme: proto.Text(scheme), Id: proto.Text(id)}}
	}
	c.MustSetACL(t, "/", []proto.ACL{
		entry(proto.PermAll&^proto.PermAdmin, "world", "anyone"), entry(proto.PermAdmin, "digest", bob),
		entry(proto.PermRead|proto.PermWrite|proto.PermCreate, "digest", alice),
		entry(proto.PermDelete|proto.PermAdmin, "digest", alice),
	}, -1)
	for auth, want := range map[string]int{
		"digest alice:pw":     http.StatusOK,
		"digest bob:pw":       http.StatusForbidden, // what he has as anyone does not count
		"digest super:secret": http.StatusOK,
		"digest alice:wrong":  http.StatusForbidden,
		"ip":                  http.StatusForbidden,
		"digest alice":        http.StatusUnauthorized,
		"digest":              http.StatusUnauthorized,
		"ip 127.0.0.1":        http.StatusUnauthorized,
		"x509":                http.StatusUnauthorized,
		"basic YTpi":          http.StatusUnauthorized,
		"":                    http.StatusUnauthorized,
	} {
		resp, body := fetch(t, s, "/commands/snapshot?streaming=false", auth)
		require.Equal(t, want, resp.StatusCode, "%q: %s", auth, body)
	}
	require.Equal(t, number(7), fields(t, s, "monitor")["auth_failed_count"])
}

// Snapshots on demand, the server's own snapshots and writes do not disturb each other.
func TestSnapshotsOnDemandAmongWrites(t *testing.T) {
	s, c := withAdmin(t, func(cfg *config.Config) {
		cfg.Admin.RateLimiterInterval = 0
		cfg.SnapCount = 50
	})
	done := make(chan error, 1)
	go func() {
		for i := range 500 {
			if _, err := c.Create(fmt.Sprintf("/n%03d", i), []byte("data"), proto.ModePersistent); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	dir := t.TempDir()
	for running := true; running; {
		select {
		case err := <-done:
			require.NoError(t, err)
			running = false
		default:
		}
		resp, body := fetch(t, s, "/commands/snapshot", superUser)
		require.Equal(t, http.StatusOK, resp.StatusCode)
		file := filepath.Join(dir, "snapshot.1")
		require.NoError(t, os.WriteFile(file, body, 0o600))
		must.Do(snapshot.Verify(vfs.OS(), file))(t)
	}
}

// A snapshot that does not contain its zxid must not be the answer to the command.
func TestSnapshotCommandNeedsLastZxid(t *testing.T) {
	s, _ := withAdmin(t, func(cfg *config.Config) { cfg.SerializeLastProcessedZxid = false })
	resp, _ := fetch(t, s, "/commands/snapshot", superUser)
	require.Equal(t, http.StatusInternalServerError, resp.StatusCode)
}

func TestProbesAndMetrics(t *testing.T) {
	s, _ := withAdmin(t, func(cfg *config.Config) { cfg.Admin.PProf = true })
	for path, want := range map[string]string{
		"/healthz": "ok\n", "/readyz": "ok\n", "/metrics": "\nznode_count 5\n",
		"/debug/pprof/goroutine?debug=1": "goroutine profile",
	} {
		resp, body := fetch(t, s, path, "")
		require.Equal(t, http.StatusOK, resp.StatusCode, path)
		require.Contains(t, string(body), want)
	}
	_, body := fetch(t, s, "/metrics", "")
	require.Contains(t, string(body), "\ngo_goroutines ")
	require.Contains(t, string(body), "\nprocess_open_fds ")
}

func TestAdminPortTaken(t *testing.T) {
	ln := must.Listen(t)
	port := ln.Addr().(*net.TCPAddr).Port

	cfg := testConfig(t)
	cfg.Admin.Enabled, cfg.Admin.Port = true, port
	core, logs := observer.New(zap.ErrorLevel)
	s := server.New(cfg, server.Options{Log: zap.New(core)})
	require.NoError(t, s.Start(), "nobody asked for this port")
	defer s.Stop()
	require.Nil(t, s.AdminAddr())
	require.Equal(t, 1, logs.FilterMessageSnippet("there is no admin server").Len())

	text := fmt.Sprintf("dataDir=%s\nclientPort=0\nclientPortAddress=127.0.0.1\nadmin.serverPort=%d\n"+
		"admin.serverAddress=127.0.0.1\n", t.TempDir(), port)
	asked, _ := must.Do2(config.Parse(strings.NewReader(text), "zoo.cfg"))(t)
	err := server.New(asked, server.Options{}).Start()
	var refused *server.AdminError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, 4, refused.ExitCode())
	require.Contains(t, err.Error(), strconv.Itoa(port))
}

// Without an admin server, as in the configuration of most tests, its methods do no harm.
func TestAdminOff(t *testing.T) {
	s := server.New(testConfig(t), server.Options{})
	require.NoError(t, s.Start())
	defer s.Stop()
	require.Nil(t, s.AdminAddr())
}
