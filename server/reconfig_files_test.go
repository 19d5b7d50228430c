package server_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// filed is a server that is started from its files.
type filed struct {
	t      *testing.T
	id     int
	file   string
	quorum [2]int
	client int
	*server.Server
}

func newFiled(t *testing.T, id int) *filed {
	t.Helper()
	ports := cluster.FreePorts(t, 3)
	f := &filed{t: t, id: id, file: filepath.Join(t.TempDir(), "zoo.cfg"), quorum: [2]int{ports[0], ports[1]},
		client: ports[2]}
	t.Cleanup(f.stop)
	return f
}

// line returns the server line of this server.
func (f *filed) line() string {
	return fmt.Sprintf("server.%d=127.0.0.1:%d:%d:participant;127.0.0.1:%d", f.id, f.quorum[0], f.quorum[1], f.client)
}

// write makes the first zoo.cfg with the given servers.
func (f *filed) write(members ...*filed) {
	f.t.Helper()
	dir := filepath.Dir(f.file)
	text := fmt.Sprintf("# server %d\ntickTime=100\ninitLimit=50\nsyncLimit=50\ndataDir=%s\nreconfigEnabled=true\n"+
		"standaloneEnabled=false\n"+
		"skipACL=yes\npreAllocSize=64\nwarren.diskWatermarkBytes=0\nadmin.enableServer=false\n"+
		"4lw.commands.whitelist=*\n", f.id, dir)
	for _, m := range members {
		text += m.line() + "\n"
	}
	require.NoError(f.t, os.WriteFile(f.file, []byte(text), 0o600))
	require.NoError(f.t, os.WriteFile(filepath.Join(dir, "myid"), fmt.Append(nil, f.id), 0o600))
}

func (f *filed) start() {
	f.t.Helper()
	cfg, _ := must.Do2(config.Load(f.file, nil, nil))(f.t)
	s := server.New(cfg, server.Options{Log: zap.NewNop()})
	require.NoError(f.t, s.Start())
	f.Server = s
}

func (f *filed) stop() {
	if f.Server != nil {
		f.Server.Stop()
		f.Server = nil
	}
}

func (f *filed) dial() *wire.Conn {
	f.t.Helper()
	var c *wire.Conn
	require.Eventually(f.t, func() (ok bool) {
		var err error
		c, err = wire.Dial(fmt.Sprintf("127.0.0.1:%d", f.client), wire.Options{TimeoutMs: 60_000})
		return err == nil
	}, time.Minute, time.Millisecond)
	f.t.Cleanup(c.Close)
	return c
}

// configured waits until the files say that the members are these, and returns the name of the dynamic file.
func (f *filed) configured(members ...*filed) (dynamic string) {
	f.t.Helper()
	var want []string
	for _, m := range members {
		want = append(want, m.line())
	}
	require.Eventually(f.t, func() bool {
		version := f.Status().Config
		dynamic = fmt.Sprintf("%s.dynamic.%x", f.file, int64(version))
		static, _ := os.ReadFile(f.file)
		lines, _ := os.ReadFile(dynamic)
		return version > 0 && strings.HasSuffix(string(static), "\ndynamicConfigFile="+dynamic+"\n") &&
			string(lines) == strings.Join(want, "\n")
	}, time.Minute, time.Millisecond)
	return dynamic
}

func reconfig(t *testing.T, c *wire.Conn, joining, leaving string) {
	t.Helper()
	require.Eventually(t, func() bool {
		r := c.MustDo(t, wire.Reconfig(joining, leaving, "", -1))
		if r.Header.Err == proto.ErrNewConfigNoQuorum {
			return false
		}
		require.Equal(t, proto.OK, r.Header.Err)
		return true
	}, time.Minute, 10*time.Millisecond)
}

// The files of a server follow the configuration of the ensemble, and it starts from them.
func TestFilesFollowReconfigurations(t *testing.T) {
	a, b, c := newFiled(t, 1), newFiled(t, 2), newFiled(t, 3)
	a.write(a)
	b.write(a, b)
	c.write(a, c)
	first := must.ReadFile(t, a.file)
	a.start()
	require.Equal(t, a.file+".dynamic.100000000", a.configured(a),
		"the first configuration has the number of its epoch")
	require.Equal(t, string(first), string(must.ReadFile(t, a.file+".bak")))
	b.start()
	c.start()
	b.dial() // it follows
	require.Contains(t, string(must.ReadFile(t, b.file)), a.line(),
		"a server that is in no configuration can be started anew with what it has")

	conn := a.dial()
	reconfig(t, conn, b.line()+","+c.line(), "")
	for _, f := range []*filed{a, b, c} {
		f.configured(a, b, c)
	}
	static := must.ReadFile(t, a.file)
	require.Contains(t, string(static), "# server 1\ntickTime=100\n", "everything else stays as it was")

	old := b.dial()
	old.MustCreate(t, "/old", nil, proto.ModePersistent)
	was := b.client
	b.client = cluster.FreePort(t)
	reconfig(t, conn, b.line(), "")
	for _, f := range []*filed{a, b, c} {
		f.configured(a, b, c)
	}
	b.dial()
	require.NoError(t, must.Err(old.Exists("/old", false)), "connections to the old port go on")
	require.Eventually(t, func() bool {
		nc, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", was))
		if err == nil {
			_ = nc.Close()
		}
		return err != nil
	}, time.Minute, time.Millisecond, "the old port is closed")

	b.quorum = [2]int(cluster.FreePorts(t, 2))
	reconfig(t, conn, b.line(), "")
	for _, f := range []*filed{a, b, c} {
		f.configured(a, b, c)
	}
	for _, f := range []*filed{a, b, c} {
		f.stop()
	}
	for _, f := range []*filed{b, c} {
		f.start() // server 1 is not needed: they find each other at the new ports
	}
	b.dial().MustExists(t, "/old", false)
	a.start()
	conn = a.dial()
	reconfig(t, conn, "", "3")
	a.configured(a, b)
	b.configured(a, b)
	require.NotContains(t, c.Status().Mode, "leader")
	require.Len(t, must.Glob(t, a.file+".dynamic.*"), 5, "old ones stay")
}

// joined is a server that a second one has joined, the content of the first server's file when it was alone, and
// the name of its dynamic file.
func joined(t *testing.T) (a, b *filed, alone []byte, dynamic string) {
	t.Helper()
	a, b = newFiled(t, 1), newFiled(t, 2)
	a.write(a)
	b.write(a, b)
	alone = must.ReadFile(t, a.file)
	a.start()
	b.start()
	reconfig(t, a.dial(), b.line(), "")
	return a, b, alone, a.configured(a, b)
}

// The last committed configuration counts, whatever older files say. Newer files count instead of it.
func TestNewerConfigurationCounts(t *testing.T) {
	a, b, older, dynamic := joined(t)
	a.stop()
	b.stop()

	require.NoError(t, os.WriteFile(a.file, older, 0o600))
	a.start()
	require.Equal(t, dynamic, a.configured(a, b), "the files are written again")
	require.Equal(t, "looking", a.Status().Mode, "it needs the other one")
	a.stop()

	forced := a.file + ".dynamic.200000000"
	require.NoError(t, os.WriteFile(forced, []byte(a.line()), 0o600))
	require.NoError(t, os.WriteFile(a.file, fmt.Appendf(nil, "%sdynamicConfigFile=%s\n",
		strings.Replace(string(older), a.line()+"\n", "", 1), forced), 0o600))
	a.start()
	a.dial()
	require.EqualValues(t, 0x200000000, a.Status().Config)
	a.stop()
	require.NoError(t, os.WriteFile(a.file, older, 0o600))
	a.start()
	a.dial()
	require.EqualValues(t, 0x200000000, a.Status().Config, "what counted is kept")
	reconfig(t, a.dial(), "", "")
	require.Greater(t, a.Status().Config, proto.Zxid(0x200000000), "later ones have larger numbers")
}

// A state restored from a backup does not say which servers are in the ensemble now: the files do.
func TestRestoredStateDoesNotSayWhoDecides(t *testing.T) {
	a, b, alone, _ := joined(t)
	a.dial().MustCreate(t, "/kept", nil, proto.ModePersistent)
	a.stop()
	b.stop()
	old := filepath.Join(filepath.Dir(a.file), "version-2")
	for _, name := range []string{"meta.db", "acceptedEpoch", "currentEpoch"} {
		require.NoError(t, os.Remove(filepath.Join(old, name)))
	}
	require.NoError(t, os.WriteFile(a.file, alone, 0o600))
	a.start()
	a.dial().MustExists(t, "/kept", false)
	a.configured(a)
}

// A file that cannot be written does not end the server.
func TestServerWithoutItsFilesGoesOn(t *testing.T) {
	a, b := newFiled(t, 1), newFiled(t, 2)
	a.write(a)
	b.write(a, b)
	a.start()
	b.start()
	a.configured(a)
	require.NoError(t, os.Remove(a.file))
	conn := a.dial()
	reconfig(t, conn, b.line(), "")
	b.configured(a, b)
	conn.MustCreate(t, "/goes-on", nil, proto.ModePersistent)
}
