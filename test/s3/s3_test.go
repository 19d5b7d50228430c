package s3

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/cmd/warren/command"
	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
)

// store is a process of versitygw, which serves a folder by S3.
type store struct {
	binary, folder, addr string
	cmd                  *exec.Cmd
}

// startStore builds the server and runs it until the test ends.
func startStore(t *testing.T) *store {
	t.Helper()
	s := &store{binary: filepath.Join(t.TempDir(), "versitygw"), folder: t.TempDir()}
	out, err := exec.Command("go", "build", "-o", s.binary, "github.com/versity/versitygw/cmd/versitygw").
		CombinedOutput()
	require.NoError(t, err, "%s", out)
	ln := must.Do(net.Listen("tcp", "127.0.0.1:0"))(t)
	s.addr = ln.Addr().String()
	require.NoError(t, ln.Close())
	require.NoError(t, os.MkdirAll(filepath.Join(s.folder, "objects", "backups"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(s.folder, "attributes"), 0o755))
	for name, value := range map[string]string{"AWS_ENDPOINT_URL_S3": "http://" + s.addr, "AWS_REGION": "us-east-1",
		"AWS_ACCESS_KEY_ID": "access", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_PROFILE": "", "AWS_SESSION_TOKEN": ""} {
		t.Setenv(name, value)
	}
	s.run(t)
	t.Cleanup(s.kill)
	return s
}

func (s *store) run(t *testing.T) {
	t.Helper()
	s.cmd = exec.Command(s.binary, "--port", s.addr, "--access", "access", "--secret", "secret", "--health", "/health",
		"--quiet", "posix", "--sidecar", filepath.Join(s.folder, "attributes"), filepath.Join(s.folder, "objects"))
	s.cmd.Stderr = os.Stderr
	require.NoError(t, s.cmd.Start())
	require.Eventually(t, func() bool {
		answer, err := http.Get("http://" + s.addr + "/health")
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	}, time.Minute, 20*time.Millisecond)
}

func (s *store) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// warren runs the command in this process, and returns what it prints.
func warren(args ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	code = command.Main(args, &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// traffic writes until it is stopped.
type traffic struct {
	writes atomic.Int64
	stop   func()
}

func startTraffic(t *testing.T, connect string, seed uint64) *traffic {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &traffic{}
	var wg sync.WaitGroup
	for worker := range 3 {
		wg.Go(func() {
			c, err := client.Dial(ctx, connect)
			if err != nil {
				return
			}
			defer c.Close()
			rng := rand.New(rand.NewPCG(seed, uint64(worker)))
			for ctx.Err() == nil {
				path := fmt.Sprintf("/%d-%d", worker, rng.IntN(80))
				if _, err := c.Set(ctx, path, bytes.Repeat([]byte{byte(rng.Uint32())}, rng.IntN(300)),
					-1); err != nil {
					_, err = c.Create(ctx, path, nil, client.Persistent)
					if err != nil {
						continue
					}
				}
				w.writes.Add(1)
			}
		})
	}
	w.stop = func() { cancel(); wg.Wait() }
	return w
}

func (w *traffic) until(t *testing.T, more int64) {
	t.Helper()
	want := w.writes.Load() + more
	require.Eventually(t, func() bool { return w.writes.Load() >= want }, time.Minute, 5*time.Millisecond)
}

// digests replays the log of a stopped server from its first txn, and returns the digest of the tree after each.
func digests(t *testing.T, folder string) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	state := datatree.NewState(datatree.Config{})
	names := must.Do(wal.Names(vfs.OS(), folder))(t)
	for _, name := range names {
		_, err := wal.Scan(vfs.OS(), filepath.Join(folder, name), func(r *wal.Record) error {
			_, applied, err := state.Apply(r.Payload, nil, nil, false)
			all[applied.Header.Zxid.String()] = state.Digest()
			return err
		})
		require.NoError(t, err)
	}
	return all
}

// TestBackupsToAStore takes encrypted backups of an ensemble to a real server of S3, while clients write, a leader is
// killed, and the store is killed in between. Moments of it are restored into new ensembles: the digest of the tree is
// the one that the log of another server gives.
func TestBackupsToAStore(t *testing.T) {
	const seed, url = 16, "s3://backups/ensembles/one"
	s := startStore(t)
	keys := t.TempDir()
	recipients, identity := writeKeys(t, keys)
	dir := t.TempDir()
	e := embed.Start(t, embed.Options{Servers: 3, Dir: dir, Seed: seed, Configure: func(_ int, c *config.Config) {
		c.SnapCount, c.PreAllocSizeKB, c.Autopurge.PurgeInterval, c.DiskWatermark.Bytes = 300, 64, 0, 0
	}})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	leader := must.Do(e.Leader(ctx))(t)
	asked, witness := leader%3+1, (leader+1)%3+1
	data := func(id int) string { return filepath.Join(dir, fmt.Sprintf("server-%d", id)) }
	create := func(more ...string) (int, string, string) {
		return warren(append([]string{"backup", "create", url, data(asked), "--committed", e.Addr(asked),
			"--s3-path-style", "--encrypt-to", recipients, "--output", "json"}, more...)...)
	}
	w := startTraffic(t, e.ConnectString(), seed)
	var ends []string
	add := func(more ...string) {
		t.Helper()
		code, out, errs := create(more...)
		require.Zero(t, code, errs)
		var answer struct{ Last string }
		require.NoError(t, json.Unmarshal([]byte(out), &answer))
		ends = append(ends, answer.Last)
	}
	w.until(t, 300)
	add()
	w.until(t, 200)
	add()
	s.kill()
	code, _, errs := create()
	require.Equal(t, 1, code)
	require.Contains(t, errs, "refused")
	w.until(t, 200) // the servers have no part in it
	s.run(t)
	e.Kill(leader)
	w.until(t, 200)
	add("--full")
	require.NoError(t, e.Restart(leader))
	w.until(t, 200)
	add()
	w.stop()
	require.NoError(t, e.WaitEqual(ctx))
	for id := 1; id <= 3; id++ {
		e.Stop(id)
	}
	want := digests(t, filepath.Join(data(witness), "version-2"))

	code, out, errs := warren("backup", "verify", url, "--s3-path-style", "--identity", identity)
	require.Zero(t, code, "%s%s", out, errs)
	code, _, errs = warren("restore", url, t.TempDir(), "--s3-path-style")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "no key opens it")
	for _, zxid := range ends {
		restored := t.TempDir()
		for id := 1; id <= 3; id++ {
			code, out, errs := warren("restore", url, filepath.Join(restored, fmt.Sprintf("server-%d", id)), "--zxid",
				zxid, "--s3-path-style", "--identity", identity, "--output", "json")
			require.Zero(t, code, errs)
			var answer struct {
				Zxid   string
				Digest int64
			}
			require.NoError(t, json.Unmarshal([]byte(out), &answer))
			require.Equal(t, zxid, answer.Zxid)
			require.Equal(t, want[zxid], answer.Digest, zxid)
		}
		again := embed.Start(t, embed.Options{Servers: 3, Dir: restored, Seed: seed})
		require.NoError(t, again.WaitEqual(ctx))
		again.Close()
	}

	// The store keeps a note of a directory that was restored into, and later it is not restored again.
	once := filepath.Join(t.TempDir(), "server-1")
	restoreOnce := []string{"restore", url, once, "--if-empty", "--once", "pod-0.a1", "--s3-path-style",
		"--identity", identity}
	code, _, errs = warren(restoreOnce...)
	require.Zero(t, code, errs)
	require.NoError(t, os.RemoveAll(once))
	code, _, errs = warren(restoreOnce...)
	require.Equal(t, 1, code, errs)
	require.Contains(t, errs, "has lost its data since")

	// The first snapshot goes, with all moments before the second.
	code, out, errs = warren("backup", "prune", url, "--s3-path-style", "--keep", "1")
	require.Zero(t, code, errs)
	require.Contains(t, out, "removed snapshot.")
	code, out, errs = warren("backup", "verify", url, "--s3-path-style", "--identity", identity)
	require.Zero(t, code, "%s%s", out, errs)
	code, _, errs = warren("restore", url, t.TempDir(), "--zxid", ends[0], "--s3-path-style", "--identity", identity)
	require.Equal(t, 1, code, errs)
	objects := must.ReadDir(t, filepath.Join(s.folder, "objects", "backups", "ensembles", "one"))
	snapshots := 0
	for _, o := range objects {
		if strings.HasPrefix(o.Name(), "snapshot.") {
			snapshots++
		}
	}
	require.Equal(t, 1, snapshots)
}

// TestRunsAtOnce lets runs add to one backup at the same time. One or more succeed, the others say why they do not,
// and what is left is whole.
func TestRunsAtOnce(t *testing.T) {
	const url = "s3://backups/at-once"
	startStore(t)
	const fixture = "../testdata/fixtures/zookeeper-3.8/02-snapshot-and-log"
	last := ""
	for _, untils := range [][]string{{"0x36", "0x37", "0x38", "0x39"}, {"0x3a", "0x3b", "0x3c", "0x3d"}} {
		var wg sync.WaitGroup
		succeeded := make([]bool, len(untils))
		for i, until := range untils {
			wg.Go(func() {
				code, _, errs := warren("backup", "create", url, fixture, "--until", until, "--s3-path-style")
				succeeded[i] = code == 0
				if code != 0 && !strings.Contains(errs, "another run has changed the backup") {
					t.Errorf("%s: %s", until, errs)
				}
			})
		}
		wg.Wait()
		require.Contains(t, succeeded, true)
		code, out, errs := warren("backup", "verify", url, "--s3-path-style")
		require.Zero(t, code, "%s%s", out, errs)
		require.NotEqual(t, last, out)
		last = out
	}
}

// writeKeys writes a pair of keys into files.
func writeKeys(t *testing.T, dir string) (recipients, identity string) {
	t.Helper()
	pair := must.Do(age.GenerateX25519Identity())(t)
	recipients, identity = filepath.Join(dir, "recipients"), filepath.Join(dir, "identity")
	require.NoError(t, os.WriteFile(recipients, []byte(pair.Recipient().String()+"\n"), 0o600))
	require.NoError(t, os.WriteFile(identity, []byte(pair.String()+"\n"), 0o600))
	return recipients, identity
}
