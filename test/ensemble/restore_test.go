package ensemble

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	app "github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

// restored is an ensemble with a backup that is older than what its clients have seen, and one of those clients.
type restored struct {
	*chaos
	backup       string
	kept, undone []string // creates that the backup has, and that it does not have
	ctx          context.Context
	app          *app.Client
	session      app.SessionID
	seen         app.Zxid
	states       chan app.StateChange
}

// newRestored brings up three servers, makes a backup, and goes on for some epochs.
func newRestored(t *testing.T) *restored {
	t.Helper()
	r := &restored{chaos: newScene(t, of(cluster.Warren, 3)...), backup: filepath.Join(t.TempDir(), "backup"),
		states: make(chan app.StateChange, 1000)}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	r.ctx, r.kept = ctx, r.eras("old", 1)
	addrs := cluster.Addrs(r.nodes)
	var err error
	r.app, err = app.Dial(ctx, strings.Join(addrs, ","), app.WithSessionTimeout(sessionTimeout*time.Millisecond),
		app.WithHooks(app.Hooks{State: func(s app.StateChange) { r.states <- s }}),
		app.WithRenewal(func(ctx context.Context, c *app.Client) error {
			_, err := c.Create(ctx, "/renewed", nil, app.Ephemeral)
			return err
		}))
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.app.Close() })
	must.Do(r.app.Create(ctx, "/here", nil, app.Ephemeral))(t)
	r.session, _ = r.app.Session()
	r.run("backup", "create", r.backup, r.nodes[0].DataDir())
	r.undone = r.eras("since", 2)
	cluster.Eventually(t, func() bool {
		st, err := r.app.Set(ctx, "/here", nil, -1)
		if err == nil {
			r.seen = st.Mzxid
		}
		return err == nil
	}, hangGuard, "the client does not go on")
	return r
}

// run runs a command, which succeeds, and returns what it prints.
func (r *restored) run(args ...string) string {
	r.t.Helper()
	return string(must.Output(r.t, exec.Command(cluster.Binary(r.t), args...)))
}

var goesOn = regexp.MustCompile(`it goes on with epoch (\d+), which ends (\d+) sessions?`)

// restore restores the backup into servers that are stopped. It returns the epochs.
func (r *restored) restore(nodes ...*cluster.Node) (epochs []string) {
	r.t.Helper()
	for _, node := range nodes {
		m := goesOn.FindStringSubmatch(r.run("restore", r.backup, node.DataDir(), "--force"))
		require.NotNil(r.t, m)
		epochs = append(epochs, m[1])
	}
	return epochs
}

// goesOn asserts that the client hears that its session has expired, gets another one and works with it.
func (r *restored) goesOn() {
	r.t.Helper()
	expired := false
	for {
		select {
		case s := <-r.states:
			if s.State == app.Expired {
				require.Equal(r.t, r.session, s.SessionID)
				expired = true
			}
			if s.State != app.Connected || !expired {
				continue
			}
			require.NotEqual(r.t, r.session, s.SessionID)
		case <-r.ctx.Done():
			require.Fail(r.t, "the client does not hear that its session has expired")
		}
		break
	}
	for _, path := range append([]string{"/here"}, r.undone...) {
		_, there := must.Do2(r.app.Exists(r.ctx, path))(r.t)
		require.False(r.t, there, path)
	}
	st, there := must.Do2(r.app.Exists(r.ctx, "/renewed"))(r.t)
	require.True(r.t, there)
	require.Greater(r.t, st.Czxid, r.seen, "a zxid does not come again")
}

// TestRestore restores a backup in all servers while a client, which has seen later epochs, waits for them.
func TestRestore(t *testing.T) {
	t.Parallel()
	r := newRestored(t)
	r.end()
	epochs := r.restore(r.nodes...)
	require.Equal(t, []string{epochs[0], epochs[0], epochs[0]}, epochs)
	dirs := []string{"doctor", "--no-measure", "--output", "json"}
	for _, node := range r.nodes {
		dirs = append(dirs, node.DataDir())
	}
	text, _ := exec.Command(cluster.Binary(t), dirs...).CombinedOutput()
	require.Contains(t, string(text), `"holding"`)
	require.NotContains(t, string(text), "other-history")
	r.begin()
	r.goesOn()
	kept := append(r.kept, r.creates("after", sceneCreates)...)
	r.keeps(kept)
	r.again()
	r.keeps(kept)
	require.Equal(t, r.undone, r.lost(r.nodes[1], r.undone))
	r.same()
}

// TestRestoreOfAMajority restores a backup in two servers. The third one stays outside, with its files as they are,
// until it is restored or set aside.
func TestRestoreOfAMajority(t *testing.T) {
	t.Parallel()
	r := newRestored(t)
	r.end()
	third, two := r.nodes[2], r.among(r.nodes[:2]...)
	held := third.Held()
	r.restore(two.nodes...)
	third.Launch()
	two.begin()
	r.goesOn()
	kept := append(r.kept, two.creates("after", sceneCreates)...)
	r.answers(third)
	cluster.Eventually(t, func() bool { return r.zabState(third).Outside }, hangGuard,
		"server 3 does not stay outside")
	require.Equal(t, held, third.Held())
	third.Stop()
	r.restore(third)
	third.Start()
	r.keeps(kept)
	r.same()
}

// TestRestoreOfDifferentEpochs restores a backup in servers of which one has promised a later epoch than the others.
// It leads if it comes with them; if it comes after them it stays outside, and what they have acknowledged is not
// lost.
func TestRestoreOfDifferentEpochs(t *testing.T) {
	t.Parallel()
	for name, isLate := range map[string]bool{"together": false, "late": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRestored(t)
			r.end()
			third, two := r.nodes[2], r.among(r.nodes[:2]...)
			require.NoError(t,
				os.WriteFile(filepath.Join(third.DataDir(), "version-2", "acceptedEpoch"), []byte("40"), 0o644))
			epochs := r.restore(r.nodes...)
			require.Equal(t, "41", epochs[2])
			require.Equal(t, epochs[0], epochs[1])
			if !isLate {
				r.nodes[0].Launch()
				third.Launch()
				r.among(r.nodes[0], third).whole()
				r.nodes[1].Start()
				r.goesOn()
				r.keeps(append(r.kept, r.creates("after", sceneCreates)...))
				r.same()
				return
			}
			two.begin()
			r.goesOn()
			kept := append(r.kept, two.creates("after", sceneCreates)...)
			two.eras("more", 1)
			third.Launch()
			r.answers(third)
			cluster.Eventually(t, func() bool { return r.zabState(third).Outside }, hangGuard,
				"server 3 does not stay outside")
			r.again()
			two.keeps(kept)
			r.end()
			r.run("adopt", filepath.Join(third.Dir(), "zoo.cfg"), "--yes")
			r.begin()
			r.keeps(kept)
			r.same()
		})
	}
}
