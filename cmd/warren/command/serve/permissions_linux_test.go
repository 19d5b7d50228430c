package serve_test

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/cmdline"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// plainUser runs warren as a user that permissions bind, and has folders that are that user's. As root, a test takes
// an id without rights, and its own otherwise.
type plainUser struct {
	t      *testing.T
	dir    string
	binary string
	uid    int
}

func newPlainUser(t *testing.T) *plainUser {
	t.Helper()
	dir := must.Do(os.MkdirTemp("", "permissions"))(t) // the folders above a t.TempDir are closed to others
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	self := must.Do(os.Executable())(t)
	u := &plainUser{t: t, dir: dir, binary: filepath.Join(dir, "warren"), uid: os.Geteuid()}
	b := must.ReadFile(t, self)
	require.NoError(t, os.WriteFile(u.binary, b, 0o755))
	if u.uid == 0 {
		u.uid = 65534
	}
	return u
}

// run runs one command line to its end.
func (u *plainUser) run(args ...string) (code int, text string) {
	u.t.Helper()
	cmd := cmdline.Process(u.t, args...)
	cmd.Path = u.binary
	cmd.Dir = u.dir
	if u.uid != os.Geteuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(u.uid), Gid: uint32(u.uid)}}
	}
	b, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil {
		require.True(u.t, errors.As(err, &exit), "%v", err)
	}
	return cmd.ProcessState.ExitCode(), string(b)
}

// give makes everything below a folder that of the user.
func (u *plainUser) give(dir string) {
	u.t.Helper()
	require.NoError(u.t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, u.uid, u.uid))
	}))
}

// take makes a file or folder one that the user may only read: root's, where there is one.
func (u *plainUser) take(path string) {
	u.t.Helper()
	info := must.Do(os.Stat(path))(u.t)
	mode := os.FileMode(0o444)
	if info.IsDir() {
		mode = 0o555
	}
	require.NoError(u.t, os.Chmod(path, mode))
	require.NoError(u.t, os.Chown(path, os.Geteuid(), os.Getegid()))
}

// What the user of the server may not write ends the start before a port is open, although it is needed much later.
// All ports are taken, so a server that opened one first would end with 4 or 14. ZooKeeper says the same of
// directories, and finds out about files when it needs them.
func TestPermissionsAreFoundAtTheStart(t *testing.T) {
	for name, tt := range map[string]struct {
		logDir   bool   // there is one
		take     string // "" is nothing
		more     string // lines of zoo.cfg
		code     int
		sentence string
	}{
		"all is well":            {code: 4, sentence: "address already in use"},
		"one directory":          {take: "data/version-2", code: 3, sentence: "this user may not create files in it"},
		"directory of snapshots": {logDir: true, take: "data/version-2", code: 3, sentence: "data/version-2"},
		"directory of the log":   {logDir: true, take: "log/version-2", code: 3, sentence: "log/version-2"},
		"a file of the log":      {take: "data/version-2/log.1", code: 3, sentence: "may not write log.1"},
		"meta.db":                {take: "data/version-2/meta.db", code: 3, sentence: "may not write meta.db"},
		"the lock":               {take: "data/version-2/.warren.lock", code: 3, sentence: "write .warren.lock"},
		"what a crash left behind": {take: "data/version-2/acceptedEpoch.tmp", code: 3,
			sentence: "acceptedEpoch.tmp"},
		"a copy of a log": {take: "data/version-2/log.0.bak", code: 4, sentence: "address already in use"},
		"audit log": {take: "audit.log", more: "audit.enable=true\naudit.file=DIR/audit.log", code: 2,
			sentence: "audit.log"},
		"directory of the audit log": {take: "audit", more: "audit.enable=true\naudit.file=DIR/audit/log", code: 2,
			sentence: "DIR/audit"},
	} {
		t.Run(name, func(t *testing.T) {
			u := newPlainUser(t)
			path := func(name string) string { return filepath.Join(u.dir, name) }
			cfg := config.Default()
			cfg.DataDir, cfg.DataLogDir = path("data"), path("data")
			if tt.logDir {
				cfg.DataLogDir = path("log")
			}
			cfg.ClientPort, cfg.ClientPortAddress, cfg.Admin.Enabled = 0, "127.0.0.1", false
			srv := server.New(cfg, server.Options{})
			require.NoError(t, srv.Start())
			c := must.Do(wire.Dial(srv.Addr().String(), wire.Options{}))(t) // a session is the first txn
			c.Close()
			srv.Stop()
			for _, name := range []string{"acceptedEpoch.tmp", "log.0.bak"} {
				require.NoError(t, os.WriteFile(path("data/version-2/"+name), nil, 0o644))
			}
			require.NoError(t, os.WriteFile(path("audit.log"), nil, 0o644))
			require.NoError(t, os.Mkdir(path("audit"), 0o755))

			taken := must.Listen(t)
			_, port, _ := net.SplitHostPort(taken.Addr().String())
			text := fmt.Sprintf("dataDir=%s\ndataLogDir=%s\nclientPort=0\nclientPortAddress=127.0.0.1\n"+
				"admin.serverAddress=127.0.0.1\nadmin.serverPort=%s\n%s\n", cfg.DataDir, cfg.DataLogDir, port,
				cmp.Or(tt.more, "audit.file=DIR/audit.log"))
			text = strings.ReplaceAll(text, "DIR", u.dir)
			require.NoError(t, os.WriteFile(path("zoo.cfg"), []byte(text), 0o644))
			u.give(u.dir)
			if tt.take != "" {
				u.take(path(tt.take))
			}
			code, out := u.run("server", path("zoo.cfg"))
			require.Equal(t, tt.code, code, out)
			require.Contains(t, out, strings.ReplaceAll(tt.sentence, "DIR", u.dir))
			if code == 4 {
				return // which only the attempt tells
			}
			code, out = u.run("config", "check", path("zoo.cfg"))
			require.Equal(t, tt.code, code, out)
			require.Contains(t, out, strings.ReplaceAll(tt.sentence, "DIR", u.dir))
		})
	}
}
