//go:build interop

package interop

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// operated is a server with its admin server, and what the test keeps on it.
type operated struct {
	*cluster.Node
	admin string // host:port
	conn  *wire.Conn
}

// operate starts a server and gives it a state of which every command has something to say.
func operate(t *testing.T, kind cluster.Kind, settings map[string]string) *operated {
	t.Helper()
	port := strconv.Itoa(cluster.FreePort(t))
	o := &operated{admin: net.JoinHostPort("127.0.0.1", port)}
	all := map[string]string{"admin.enableServer": "true", "admin.serverAddress": "127.0.0.1",
		"admin.serverPort": port}
	maps.Copy(all, settings)
	o.Node = cluster.Start(t, cluster.Options{Kind: kind, Settings: all})
	return o
}

// populate leaves a session with an ephemeral and watches of every kind, a quota, and enough txns for a digest.
func (o *operated) populate(t *testing.T) {
	t.Helper()
	c := wire.Open(t, o.Addr(), wire.Options{TimeoutMs: 30_000})
	o.conn = c
	create := func(path, data string, mode proto.CreateMode) {
		must.Do(c.Create(path, []byte(data), mode))(t, path)
	}
	create("/app", "", proto.ModePersistent)
	create("/app/a", "one", proto.ModePersistent)
	create("/app/e", "", proto.ModeEphemeral)
	create("/zookeeper/quota/app", "", proto.ModePersistent)
	create("/zookeeper/quota/app/zookeeper_limits", "count=1000,bytes=100000", proto.ModePersistent)
	create("/zookeeper/quota/app/zookeeper_stats", "count=3,bytes=3", proto.ModePersistent)
	for i := range 130 {
		c.MustSetData(t, "/app/a", []byte(fmt.Sprint(i)), -1)
	}
	watch := func() {
		c.MustGetData(t, "/app/a", true)
		c.MustChildren(t, "/app", true)
		_, err := c.Exists("/app/none", true)
		require.ErrorIs(t, err, proto.ErrNoNode)
	}
	watch()
	c.MustSetData(t, "/app/a", []byte("x"), -1)
	create("/app/none", "", proto.ModePersistent)
	require.NoError(t, c.Delete("/app/none", -1))
	watch()
	gone := wire.Open(t, o.Addr(), wire.Options{TimeoutMs: 30_000})
	require.NoError(t, gone.CloseSession())
	gone.Close()
	require.NoError(t, c.Ping())
}

// word asks a four-letter word when no connection but the test's own is there.
func (o *operated) word(t *testing.T, word string) string {
	t.Helper()
	return must.Do(wire.FourLetter(o.Addr(), word, 10*time.Second))(t, "%s: %s", o.Kind(), word)
}

// settle waits until the connections of earlier words are gone.
func (o *operated) settle(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(o.word(t, "srvr"), "\nConnections: 2\n") },
		10*time.Second, 20*time.Millisecond)
}

// get asks the admin server.
func (o *operated) get(t *testing.T, path string) (*http.Response, string) {
	t.Helper()
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp := must.Do(client.Get("http://" + o.admin + path))(t)
	defer resp.Body.Close()
	return resp, string(must.ReadAll(t, resp.Body))
}

// TestSurface asks ZooKeeper and Warren in the same state everything that an operator or a program can ask, and
// compares names and types. The names of Warren's exporter are compared with ZooKeeper's monitor, since Debian has no
// exporter.
func TestSurface(t *testing.T) {
	zk, warren := operate(t, cluster.ZooKeeper, nil), operate(t, cluster.Warren, nil)
	sides := []*operated{zk, warren}
	for _, o := range sides {
		o.populate(t)
	}
	f := newFacts(t)
	for _, w := range strings.Fields("conf cons dirs dump envi gtmk hash isro ruok srvr stat wchc wchp wchs") {
		for i, o := range sides {
			o.settle(t)
			f.text(i, "word "+w, o.word(t, w))
		}
	}
	for i, o := range sides {
		o.settle(t)
		f.monitor(i, "mntr", strings.ReplaceAll(strings.ReplaceAll("\n"+o.word(t, "mntr"), "\nzk_", "\n"), "\t", "="))
		f.stmk(i, o)
		f.refusals(i, o)
	}
	for _, c := range strings.Fields(`configuration conf config connections cons dirs dump environment env envi
		get_trace_mask gtmk hash initial_configuration icfg is_read_only isro last_snapshot lsnp leader lead
		observers obsr observer_connection_stat_reset orst ruok server_stats srvr set_trace_mask
		set_trace_mask?traceMask=306 stmk?traceMask=x stats stat voting_view watch_summary wchs watches wchc
		watches_by_path wchp zabstate nothing`) {
		for i, o := range sides {
			resp, body := o.get(t, "/commands/"+c)
			f.json(i, "command "+c, fmt.Sprintf("%d %s", resp.StatusCode, resp.Header.Get("Content-Type")), body)
		}
	}
	for i, o := range sides {
		_, body := o.get(t, "/commands/system_properties")
		f.properties(i, body)
		_, body = o.get(t, "/commands")
		for _, name := range regexp.MustCompile(`>(\w+)<`).FindAllStringSubmatch(body, -1) {
			f.add(i, "commands", name[1])
		}
		_, body = o.get(t, "/commands/monitor")
		f.monitor(i, "monitor", flatJSON(body))
	}
	_, body := warren.get(t, "/metrics")
	f.exporter(body)
	for _, w := range []string{"crst", "srst"} {
		for i, o := range sides {
			f.text(i, "word "+w, o.word(t, w))
		}
	}
	for _, c := range []string{"connection_stat_reset", "crst", "stat_reset", "srst"} {
		for i, o := range sides {
			resp, body := o.get(t, "/commands/"+c)
			f.json(i, "command "+c, fmt.Sprintf("%d %s", resp.StatusCode, resp.Header.Get("Content-Type")), body)
		}
	}
	f.programs(sides)
	f.compare(surfaceDifferences)
}

// stmk is a word with eight bytes behind it.
func (f *facts) stmk(side int, o *operated) {
	text := o.word(f.t, "stmk"+string(binary.BigEndian.AppendUint64(nil, 258)))
	f.exact(side, "word stmk", text+", then "+o.word(f.t, "gtmk"))
	text = o.word(f.t, "stmk"+string(binary.BigEndian.AppendUint64(nil, 306)))
	f.exact(side, "word stmk back", text)
}

// refusals is words that are none, and what telnet sends for ^C.
func (f *facts) refusals(side int, o *operated) {
	for _, w := range []string{"lead", "lsnp", "quit", "kill", "\xff\xf4\xff\xfd"} {
		nc := must.Dial(f.t, o.Addr())
		require.NoError(f.t, nc.SetDeadline(time.Now().Add(10*time.Second)))
		must.Do(io.WriteString(nc, w))(f.t)
		text, err := io.ReadAll(nc)
		var refused net.Error
		if err != nil {
			require.ErrorAs(f.t, err, &refused)
			require.False(f.t, refused.Timeout(), "%s: %q is not closed", o.Kind(), w)
		}
		f.exact(side, fmt.Sprintf("word %q", w), string(text))
		require.NoError(f.t, nc.Close())
	}
}

// programs is what kazoo and ZooKeeper's own scripts make of the answers.
func (f *facts) programs(sides []*operated) {
	for i, o := range sides {
		out := must.Output(f.t,
			exec.CommandContext(programContext(f.t), "/usr/bin/python3", "-c", kazooWords, o.Addr()))
		f.text(i, "kazoo", string(out))
		host, port := must.Do2(net.SplitHostPort(o.Addr()))(f.t)
		// What zkServer.sh status runs.
		cmd := exec.CommandContext(programContext(f.t), "java", "-Xmx64m", "-cp",
			o.Dir()+":/usr/share/java/zookeeper.jar", "org.apache.zookeeper.client.FourLetterWordMain",
			host, port, "srvr")
		status := must.Do(cmd.Output())(f.t)
		f.text(i, "zkServer.sh status", string(status))
		cmd = exec.CommandContext(programContext(f.t), "/usr/share/zookeeper/bin/zkCli.sh", "-server",
			o.Addr(), "version")
		out = must.Do(cmd.Output())(f.t)
		for line := range strings.Lines(string(out)) {
			if strings.HasPrefix(line, "ZooKeeper CLI version") {
				f.text(i, "zkCli.sh version", line)
			}
		}
	}
}

const kazooWords = `
import sys
from kazoo.client import KazooClient
client = KazooClient(hosts=sys.argv[1])
client.start()
print(len(client.server_version()))
for word in (b"ruok", b"isro", b"srvr", b"dirs", b"wchs"):
    print(client.command(word))
client.stop()
`

// TestWhitelist compares the texts of refused words, and that srvr is always allowed.
func TestWhitelist(t *testing.T) {
	f := newFacts(t)
	for i, kind := range []cluster.Kind{cluster.ZooKeeper, cluster.Warren} {
		o := operate(t, kind, map[string]string{"4lw.commands.whitelist": "ruok, dirs"})
		for _, w := range strings.Fields("conf cons crst dump envi gtmk hash isro mntr ruok srst stat " +
			"stmk wchc wchp wchs") {
			f.exact(i, "word "+w, o.word(t, w))
		}
		f.text(i, "word dirs", o.word(t, "dirs"))
		f.text(i, "word srvr", o.word(t, "srvr"))
		nc := must.Dial(t, o.Addr())
		must.Do(io.WriteString(nc, "\xff\xf4\xff\xfd"))(t)
		require.NoError(t, nc.SetDeadline(time.Now().Add(10*time.Second)))
		text, _ := io.ReadAll(nc) // a reset is as good as an end
		f.exact(i, "telnet", string(text))
		require.NoError(t, nc.Close())
	}
	f.compare(whitelistDifferences)
}

// number reports whether text is an integer.
func number(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil
}
