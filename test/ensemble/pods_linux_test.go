package ensemble

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	warren "github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

// podsPatience bounds each wait for pods and jobs, which end as soon as what they wait for is there.
const podsPatience = "5m"

// pods emulates a StatefulSet of the chart: each pod has a network namespace with an address, a volume that outlives
// it, a root folder with nothing but the binary, and the variables of the chart. Its jobs run beside them.
type pods struct {
	t      *testing.T
	fabric *fabric
	binary string
	roots  []string // by the id of the server, from 1
	cmds   []*exec.Cmd
}

func newPods(t *testing.T, most int) *pods {
	t.Helper()
	p := &pods{t: t, fabric: newFabric(t, most), roots: make([]string, most+1), cmds: make([]*exec.Cmd, most+1)}
	if p.fabric == nil {
		t.Skip("takes network namespaces, and so root")
	}
	dir := t.TempDir()
	for _, folder := range []string{dir, filepath.Dir(dir)} {
		require.NoError(t, os.Chmod(folder, 0o755))
	}
	p.binary = cluster.StaticBinary(t)
	for id := 1; id <= most; id++ {
		root := filepath.Join(dir, fmt.Sprintf("zk-%d", id-1))
		p.roots[id] = root
		require.NoError(t, os.MkdirAll(filepath.Join(root, "bitnami/zookeeper/data"), 0o755))
		require.NoError(t, os.Link(p.binary, filepath.Join(root, "warren")))
		require.NoError(t, os.Chown(filepath.Join(root, "bitnami/zookeeper/data"), 1001, 0))
	}
	t.Cleanup(func() {
		for id := 1; id <= most; id++ {
			if p.cmds[id] != nil {
				_ = p.cmds[id].Process.Kill()
				_ = p.cmds[id].Wait()
			}
			if log, err := os.ReadFile(p.log(id)); err == nil && t.Failed() {
				t.Logf("server %d: ... %s", id, log[max(0, len(log)-4000):])
			}
		}
	})
	return p
}

func (p *pods) log(id int) string    { return p.roots[id] + ".log" }
func (p *pods) client(id int) string { return p.fabric.Addr(id) + ":2181" }

func (p *pods) clients(n int) string {
	var all []string
	for id := 1; id <= n; id++ {
		all = append(all, p.client(id))
	}
	return strings.Join(all, ",")
}

// env are the variables of a pod in a set of n; n is 0 for the one pod of Bitnami's chart.
func (p *pods) env(id, n int) []string {
	var servers []string
	for other := 1; other <= max(1, n); other++ {
		servers = append(servers, fmt.Sprintf("%s:2888:3888::%d", p.fabric.Addr(other), other))
	}
	env := []string{"ALLOW_ANONYMOUS_LOGIN=no", "ZOO_SERVERS=" + strings.Join(servers, " "), "ZOO_PORT_NUMBER=2181",
		"ZOO_TICK_TIME=500", "WARREN_MIN_SERVER_ID=1", fmt.Sprintf("POD_NAME=zk-%d", id-1),
		"ZOO_ENABLE_AUTH=yes", "ZOO_CLIENT_USER=alice", "ZOO_CLIENT_PASSWORD=one", "ZOO_SERVER_USERS=alice,bob",
		"ZOO_SERVER_PASSWORDS=one,two"}
	if n > 0 {
		env = append(env, "ZOO_RECONFIG_ENABLED=yes", "ZOO_CFG_standaloneEnabled=false",
			"WARREN_SUPER_PASSWORD=of a test")
	}
	return env
}

// connect returns a client that is one of the users.
func (p *pods) connect(servers string) *warren.Client {
	p.t.Helper()
	cl := must.Do(warren.New(servers, warren.WithSASL(warren.DigestMD5("bob", "two"))))(p.t)
	p.t.Cleanup(func() { _ = cl.Close() })
	return cl
}

// start starts a pod of a set of n, with an empty folder for the configuration.
func (p *pods) start(id, n int) {
	p.t.Helper()
	conf := filepath.Join(p.roots[id], "opt/bitnami/zookeeper/conf")
	require.NoError(p.t, os.RemoveAll(conf))
	require.NoError(p.t, os.MkdirAll(conf, 0o755))
	require.NoError(p.t, os.Chown(conf, 1001, 0))
	log := must.Do(os.OpenFile(p.log(id), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644))(p.t)
	defer log.Close()
	cmd := exec.Command("ip", "netns", "exec", p.fabric.Namespace(id), "chroot", "--userspec=1001:0", p.roots[id],
		"/warren", "server")
	cmd.Env, cmd.Stdout, cmd.Stderr = append(p.env(id, n), "PATH="+os.Getenv("PATH")), log, log
	require.NoError(p.t, cmd.Start())
	p.cmds[id] = cmd
}

func (p *pods) stop(id int) {
	p.t.Helper()
	require.NoError(p.t, p.end(id))
}

// end stops a pod, and returns what its process ends with: Java ends with 143.
func (p *pods) end(id int) error {
	p.t.Helper()
	require.NoError(p.t, p.cmds[id].Process.Signal(syscall.SIGTERM))
	err := p.cmds[id].Wait()
	p.cmds[id] = nil
	return err
}

// ready waits until a pod is.
func (p *pods) ready(ids ...int) {
	p.t.Helper()
	for _, id := range ids {
		must.Output(p.t, exec.Command(p.binary, "health", "--wait", podsPatience, p.client(id)))
	}
}

// roll replaces the pods of a set one at a time, the last first, as a rolling update does.
func (p *pods) roll(have, n int) {
	for id := have; id >= 1; id-- {
		p.stop(id)
		p.start(id, n)
		p.ready(id)
	}
}

// reconfig is warren reconfig with the variables of a set of n.
func (p *pods) reconfig(ctx context.Context, n int, words ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.binary, append([]string{"reconfig"}, words...)...)
	cmd.Env = p.env(1, n)
	return cmd
}

// job runs warren reconfig, and returns what it prints, also to its standard error if it fails.
func (p *pods) job(n int, words ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 6*time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := p.reconfig(ctx, n, words...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String() + errs.String(), err
	}
	return out.String(), nil
}

// jobWaits runs warren reconfig until it says that it waits for something.
func (p *pods) jobWaits(n int, reason string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 6*time.Minute)
	defer cancel()
	cmd := p.reconfig(ctx, n, "--wait", "10m")
	errs := must.Do(cmd.StderrPipe())(p.t)
	require.NoError(p.t, cmd.Start())
	lines, said := bufio.NewScanner(errs), ""
	for !strings.Contains(said, reason) {
		require.True(p.t, lines.Scan(), "warren reconfig has not said %q, but last %q", reason, said)
		said = lines.Text()
	}
	cancel()
	require.Error(p.t, cmd.Wait())
}

func (p *pods) jobDone(n int, words ...string) string {
	p.t.Helper()
	out, err := p.job(n, words...)
	p.t.Logf("%d servers, warren reconfig %v: %s", n, words, out)
	require.NoError(p.t, err, out)
	return out
}

// upgrade is `helm upgrade --set replicaCount=n`.
func (p *pods) upgrade(have, n int) {
	p.t.Helper()
	p.jobDone(n, "--leave-only", "--wait", podsPatience)
	p.jobDone(n, "--leave-only", "--wait", podsPatience)
	for id := have; id > n; id-- {
		p.stop(id)
	}
	for id := have + 1; id <= n; id++ {
		p.start(id, n)
	}
	for id := have + 1; id <= n; id++ {
		p.ready(id)
	}
	p.roll(min(have, n), n)
	var both sync.WaitGroup // the job runs twice at the same time
	for range 2 {
		both.Go(func() {
			out, err := p.job(n, "--wait", podsPatience)
			if err != nil {
				p.t.Errorf("warren reconfig: %v: %s", err, out)
			}
		})
	}
	both.Wait()
	first := p.jobDone(n)
	require.Equal(p.t, first, p.jobDone(n), "a job that finds nothing to do changes nothing")
	var want []string
	for id := 1; id <= n; id++ {
		want = append(want, fmt.Sprint(id))
	}
	require.Contains(p.t, first, "the ensemble has the servers "+strings.Join(want, ", ")+",")
}

// TestReleaseScales upgrades a release of three servers to five, to three, and again to five, with the volumes that
// the two servers have left. A client writes all the time: each write succeeds, and each acknowledged one is there at
// the end.
func TestReleaseScales(t *testing.T) {
	t.Parallel()
	p := newPods(t, 5)
	for id := 1; id <= 3; id++ {
		p.start(id, 3)
	}
	p.ready(1, 2, 3)

	p.jobWaits(5, "does not follow the leader yet")
	out, err := p.job(5, "--wait", "1s")
	require.Error(t, err, "servers that do not run do not join: %s", out)
	other := exec.Command(p.binary, "reconfig", "-s", p.client(1), "server.7=other:2888:3888;2181")
	other.Env = p.env(1, 3)
	said, err := other.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(said), "it is another ensemble")

	check := p.writes(3)
	p.upgrade(3, 5)
	p.upgrade(5, 3)
	p.upgrade(3, 5)
	check(5)
}

// writes lets a client of the first n servers create znodes until check is called, and fails the test if a write
// fails. check asks the first servers: each of them has every znode that was acknowledged.
func (p *pods) writes(n int) (check func(n int)) {
	p.t.Helper()
	cl := p.connect(p.clients(n))
	ctx, cancel := context.WithCancel(p.t.Context())
	var done sync.WaitGroup
	var acknowledged atomic.Int64
	done.Go(func() {
		for i := int64(1); ctx.Err() == nil; i++ {
			path := fmt.Sprintf("/n%06d", i)
			for began := time.Now(); ; {
				_, err := cl.Create(context.Background(), path, nil, warren.Persistent)
				if err == nil || errors.Is(err, warren.ErrNodeExists) { // the reply to the first attempt was lost
					acknowledged.Store(i)
					break
				}
				if !errors.Is(err, warren.ErrConnectionLoss) || time.Since(began) > time.Minute {
					p.t.Errorf("%s: %v", path, err)
					return
				}
			}
			time.Sleep(2 * time.Millisecond)
		}
	})
	return func(n int) {
		p.t.Helper()
		cancel()
		done.Wait()
		require.Greater(p.t, acknowledged.Load(), int64(100))
		for id := 1; id <= n; id++ {
			one := p.connect(p.client(id))
			require.NoError(p.t, one.Sync(p.t.Context(), "/"))
			names, _ := must.Do2(one.Children(p.t.Context(), "/"))(p.t)
			require.GreaterOrEqual(p.t, int64(len(names)), acknowledged.Load(), "server %d", id)
		}
	}
}

// TestReleaseGrowsFromOne upgrades a standalone server of Bitnami's chart, which has data, to this chart, then to
// three servers, and to one. Two empty servers are a majority of three: they do not begin without the one that has
// the data.
func TestReleaseGrowsFromOne(t *testing.T) {
	t.Parallel()
	p := newPods(t, 3)
	p.start(1, 0)
	p.ready(1)
	must.Do(p.connect(p.client(1)).Create(t.Context(), "/kept", nil, warren.Persistent))(t)
	p.jobDone(3, "--leave-only", "--wait", podsPatience)
	p.start(2, 3)
	out, err := exec.Command(p.binary, "health", "--wait", "2s", p.client(2)).CombinedOutput()
	require.Error(t, err, "a new server serves without the one that has the data: %s", out)
	p.stop(2)
	p.upgrade(1, 1)
	p.upgrade(1, 3)
	for id := 1; id <= 3; id++ {
		_, there := must.Do2(p.connect(p.client(id)).Exists(t.Context(), "/kept"))(t)
		require.True(t, there, "server %d", id)
	}
	p.upgrade(3, 1)
	_, there := must.Do2(p.connect(p.client(1)).Exists(t.Context(), "/kept"))(t)
	require.True(t, there)
}
