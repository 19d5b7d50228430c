package deploy

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

// emulated runs the image's command as a container does: in a root of its own, with only the folders that the
// Dockerfile makes there, under a user that is not root.
type emulated struct {
	t    *testing.T
	root string
	user syscall.Credential
	env  []string // of the Dockerfile
}

// newContainer makes the folders. It takes root, for chroot.
func newContainer(t *testing.T, user syscall.Credential) *emulated {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("takes root, to change the root folder and the user")
	}
	c := &emulated{t: t, root: t.TempDir(), user: user, env: readImage(t).env}
	for _, folder := range []string{c.root, filepath.Dir(c.root)} { // both are of this test
		require.NoError(t, os.Chmod(folder, 0o755))
	}
	build := exec.Command("go", "build", "-pgo=off", "-o",
		filepath.Join(c.root, "usr/local/bin/warren"), "../../cmd/warren")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	must.Output(t, build)
	c.folder("tmp", 0, 0o777)
	for _, name := range []string{"data", "datalog", "logs", "conf"} {
		c.folder(name, 1000, 0o775)
	}
	c.folder("bitnami/zookeeper/data", 1001, 0o775)
	c.folder("opt/bitnami/zookeeper/conf", 1001, 0o775)
	return c
}

// folder makes an empty folder in the root, of group 0.
func (c *emulated) folder(name string, owner int, mode fs.FileMode) {
	c.t.Helper()
	dir := filepath.Join(c.root, name)
	require.NoError(c.t, os.RemoveAll(dir))
	require.NoError(c.t, os.MkdirAll(dir, 0o755))
	require.NoError(c.t, os.Chown(dir, owner, 0))
	require.NoError(c.t, os.Chmod(dir, mode))
}

// command is the binary of the container with these words.
func (c *emulated) command(env []string, words ...string) *exec.Cmd {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	c.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "/usr/local/bin/warren", words...)
	cmd.Dir, cmd.Env = "/data", append(c.env[:len(c.env):len(c.env)], env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: c.root, Credential: &c.user}
	return cmd
}

// serve starts a server, and returns what stops it and has checked that this is orderly.
func (c *emulated) serve(address string, env ...string) (stop func()) {
	c.t.Helper()
	var log strings.Builder
	cmd := c.command(env, "server")
	cmd.Stdout, cmd.Stderr = &log, &log
	require.NoError(c.t, cmd.Start())
	c.t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		if c.t.Failed() {
			c.t.Log(log.String())
		}
	})
	must.Output(c.t, c.command(nil, "health", "--wait", "30s", address))
	return func() {
		require.NoError(c.t, cmd.Process.Signal(syscall.SIGTERM))
		require.NoError(c.t, cmd.Wait())
	}
}

// A container that was made for Bitnami's image has its variables, its volume and its user. With the image replaced
// it serves the data of the volume, even after the container was made anew, and refuses clients that do not
// authenticate.
func TestImageTakesOverFromBitnami(t *testing.T) {
	c := newContainer(t, syscall.Credential{Uid: 1001, Gid: 0})
	ports := cluster.FreePorts(t, 1)
	address := fmt.Sprintf("127.0.0.1:%d", ports[0])
	env := []string{"ALLOW_ANONYMOUS_LOGIN=yes", "ZOO_SERVER_ID=1", fmt.Sprintf("ZOO_PORT_NUMBER=%d", ports[0]),
		"ZOO_HEAP_SIZE=1024"}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	connect := func(options ...client.Option) *client.Client {
		cl := must.Do(client.Dial(ctx, address, options...))(t)
		t.Cleanup(func() { _ = cl.Close() })
		return cl
	}

	stop := c.serve(address, env...)
	must.Do(connect().Create(ctx, "/kept", []byte("by the volume"), client.Persistent))(t)
	stop()
	var owners []uint32
	volume := filepath.Join(c.root, "bitnami")
	require.NoError(t, filepath.WalkDir(volume, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		owners = append(owners, info.Sys().(*syscall.Stat_t).Uid)
		return err
	}))
	require.GreaterOrEqual(t, len(owners), 3, "myid, a log and a snapshot are on the volume")
	for _, owner := range owners {
		require.EqualValues(t, 1001, owner)
	}
	for _, name := range []string{"data", "datalog"} {
		entries := must.ReadDir(t, filepath.Join(c.root, name))
		require.Empty(t, entries, "%s is a folder of the other image", name)
	}

	c.folder("opt/bitnami/zookeeper/conf", 1001, 0o775) // a new container
	stop = c.serve(address, append(env, "ALLOW_ANONYMOUS_LOGIN=no", "ZOO_ENABLE_AUTH=yes",
		"ZOO_SERVER_USERS=alice,bob", "ZOO_SERVER_PASSWORDS=one,two", "ZOO_CLIENT_USER=alice",
		"ZOO_CLIENT_PASSWORD=one")...)
	data, _ := must.Do2(connect(client.WithSASL(client.DigestMD5("bob", "two"))).Get(ctx, "/kept"))(t)
	require.Equal(t, "by the volume", string(data))
	short, cancelShort := context.WithTimeout(ctx, 5*time.Second)
	defer cancelShort()
	if anonymous, err := client.Dial(short, address); err == nil {
		defer anonymous.Close()
		_, _, err = anonymous.Get(short, "/kept")
		require.Error(t, err, "a client that does not authenticate reads")
	}
	stop()
}
