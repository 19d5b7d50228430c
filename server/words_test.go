package server

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

func word(t testing.TB, s *Server, w string) string {
	t.Helper()
	return wire.MustFourLetter(t, s.Addr().String(), w, hangGuard)
}

// requireLines compares text with one regular expression for each line.
func requireLines(t *testing.T, text string, lines ...string) {
	t.Helper()
	require.True(t, strings.HasSuffix(text, "\n"), "the last line ends: %q", text)
	got := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, l := range got {
		if i < len(lines) {
			require.Regexp(t, "^(?:"+lines[i]+")$", l, "line %d", i+1)
		}
	}
	require.Len(t, got, len(lines), text)
}

const (
	reAddr    = ` /127\.0\.0\.1:\d+`
	reSession = `0x1[0-9a-f]{14}`
	reDate    = `\w{3} \w{3} \d\d \d\d:\d\d:\d\d \w+ \d{4}`
)

var summaryLines = []string{
	`Latency min/avg/max: \d+/\d+\.\d{1,4}/\d+`, `Received: \d+`, `Sent: \d+`, `Connections: 2`, `Outstanding: 0`,
	`Zxid: 0x[0-9a-f]+`, `Mode: standalone`, `Node count: 7`,
}

// TestWordsLineByLine compares every word with operations 2.3.
func TestWordsLineByLine(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	c := dialWire(t, s, wire.Options{TimeoutMs: 20_000})
	c.MustCreate(t, "/app", nil, proto.ModePersistent)
	c.MustCreate(t, "/app/e1", nil, proto.ModeEphemeral)
	c.MustGetData(t, "/app", true)
	require.ErrorIs(t, must.Err(c.Exists("/app/none", true)), proto.ErrNoNode)
	c.MustChildren(t, "/app", true)

	ask := func(w string) string { // after the connection of the last word has ended
		eventually(t, func() bool { return s.front.Conns.Len() == 1 }, "one connection")
		return word(t, s, w)
	}
	requireLines(t, ask("srvr"), slices.Concat([]string{`Zookeeper version: ` + regexp.QuoteMeta(testVersion)},
		summaryLines)...)
	requireLines(t, ask("stat"), slices.Concat([]string{
		`Zookeeper version: .*`, `Clients:`,
		reAddr + `\[1\]\(queued=0,recved=6,sent=6\)`, reAddr + `\[0\]\(queued=0,recved=1,sent=0\)`, ``,
	}, summaryLines)...)
	requireLines(t, ask("cons"),
		reAddr+`\[1\]\(queued=0,recved=6,sent=6,sid=`+reSession+`,lop=GETC,est=\d{13},to=20000,lcxid=0x5,lzxid=0x3,`+
			`lresp=\d+,llat=\d+,minlat=\d+,avglat=\d+,maxlat=\d+\)`,
		reAddr+`\[0\]\(queued=0,recved=1,sent=0\)`, ``)
	requireLines(t, ask("wchs"), `1 connections watching 2 paths`, `Total watches:2`)
	requireLines(t, ask("wchc"), reSession, "\t/app", "\t/app/none", ``)
	requireLines(t, ask("wchp"), "/app", "\t"+reSession, "/app/none", "\t"+reSession, ``)
	requireLines(t, ask("dirs"), `datadir_size: \d+`, `logdir_size: \d+`)
	requireLines(t, ask("dump"), `SessionTracker dump:`, `Session Sets \(1\)/\(1\):`, `1 expire at `+reDate+`:`,
		"\t"+reSession,
		`ephemeral nodes dump:`, `Sessions with Ephemerals \(1\):`, reSession+`:`, "\t/app/e1",
		`Connections dump:`, `Connections Sets \(1\)/\(2\):`, `2 expire at `+reDate+`:`,
		"\tip: /127.0.0.1:\\d+ sessionId: "+reSession, "\tip: /127.0.0.1:\\d+ sessionId: 0x0")
	conf := ask("conf")
	requireLines(t, strings.TrimSuffix(conf, "\n")+"\n", `clientPort=\d+`, `secureClientPort=-1`,
		`dataDir=/data/version-2`, `dataDirSize=\d+`,
		`dataLogDir=/data/version-2`, `dataLogSize=\d+`, `tickTime=200`, `maxClientCnxns=0`, `minSessionTimeout=400`,
		`maxSessionTimeout=60000`, `clientPortListenBacklog=-1`, `serverId=0`)
	require.Equal(t, "imok", ask("ruok"))
	require.Equal(t, "rw", ask("isro"))
	require.Contains(t, ask("envi"), "\nzookeeper.version="+testVersion+"\nhost.name=")
	require.Equal(t, "Connection stats reset.\n", ask("crst"))
	require.Equal(t, "Server stats reset.\n", ask("srst"))
	require.Regexp(t, `(?m)^Received: 1$`, ask("srvr"))
	require.Regexp(t, `\(queued=0,recved=0,sent=0,sid=`, ask("cons"))
}

// TestMntrLinesParse matches every line with the expression of Telegraf, for which one bad line is an error.
func TestMntrLinesParse(t *testing.T) {
	s, c := serveOne(t, memConfig())
	c.MustCreate(t, "/app", nil, proto.ModePersistent)
	telegraf := regexp.MustCompile(`^zk_(\w+)\s+([\w\.\-]+)`)
	lines := strings.Split(strings.TrimSuffix(word(t, s, "mntr"), "\n"), "\n")
	seen := map[string]string{}
	for _, l := range lines {
		require.Regexp(t, telegraf, l)
		key, value, ok := strings.Cut(l, "\t")
		require.True(t, ok, l)
		require.NotContains(t, seen, key)
		seen[key] = value
		if key != "zk_version" && key != "zk_server_state" {
			require.Regexp(t, `^-?\d+(\.\d{1,4})?$`, value, l)
		}
	}
	require.Equal(t, "zk_version\t"+testVersion, lines[0])
	require.Equal(t, "zk_server_state\tstandalone", lines[1])
	require.Equal(t, "6", seen["zk_znode_count"])
	require.Equal(t, "2", seen["zk_cnt_updatelatency"], "createSession and create")
	for _, key := range []string{"avg_latency", "num_alive_connections", "outstanding_requests", "watch_count",
		"ephemerals_count",
		"approximate_data_size", "uptime", "global_sessions", "open_file_descriptor_count",
		"max_file_descriptor_count",
		"p99_readlatency", "p999_updatelatency", "cnt_fsynctime", "sum_snapshottime", "connection_rejected"} {
		require.Contains(t, seen, "zk_"+key)
	}
}

// TestGoClientParsesTheWords uses the expressions of go-zookeeper.
func TestGoClientParsesTheWords(t *testing.T) {
	s, c := serveOne(t, memConfig())
	addr := []string{s.Addr().String()}
	// A connection that has only read, or done nothing yet, is listed with all its fields too.
	dialWire(t, s, wire.Options{})
	c.MustChildren(t, "/", false)
	servers, ok := zk.FLWSrvr(addr, hangGuard)
	require.True(t, ok)
	require.NoError(t, servers[0].Error)
	require.EqualValues(t, 5, servers[0].NodeCount)
	require.Equal(t, []bool{true}, zk.FLWRuok(addr, hangGuard))
	lines := strings.Split(word(t, s, "cons"), "\n")
	full := 0
	for _, l := range lines {
		if strings.Contains(l, ",lcxid=0x") {
			full++
		}
	}
	require.Equal(t, 2, full)
}

func TestWordsBeforeAndAfterServing(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	s.Doors.Bar()
	defer s.Doors.Open()
	const not = "This ZooKeeper instance is not currently serving requests\n"
	for w, want := range map[string]string{"ruok": "imok", "isro": "null", "srvr": not, "mntr": not, "wchs": not,
		"gtmk":                                 "306",
		"stmk\x00\x00\x00\x00\x00\x00\x01\x32": "306", "hash": strings.TrimSuffix(not, "\n")} {
		require.Equal(t, want, word(t, s, w), w)
	}
	require.Error(t, must.Err(wire.Dial(s.Addr().String(), wire.Options{})))
}

func TestWordsInPiecesAndWithTrailingBytes(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	for _, pieces := range [][]string{{"ruok\r\n"}, {"r", "uok"}, {"ru", "ok\n"}, {"ruo", "k"}} {
		nc := dialRaw(t, s)
		for _, p := range pieces {
			must.Do(nc.Write([]byte(p)))(t)
		}
		got := make([]byte, 5)
		n := must.Do(nc.Read(got))(t)
		require.Equal(t, "imok", string(got[:n]), pieces)
	}
}

// TestTraceMask sets the mask in one piece and in several; a client that ends in between gets no answer and changes
// nothing.
func TestTraceMask(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	require.Equal(t, "306", word(t, s, "gtmk"))
	require.Equal(t, "-2", word(t, s, "stmk\xff\xff\xff\xff\xff\xff\xff\xfe"))
	require.Equal(t, "-2", word(t, s, "gtmk"))
	nc := dialRaw(t, s)
	for _, piece := range []string{"stm", "k\x00\x00", "\x00\x00\x00\x00", "\x01\x02\n"} {
		must.Do(nc.Write([]byte(piece)))(t)
	}
	require.Equal(t, "258", string(must.ReadAll(t, nc)))
	half := dialRaw(t, s)
	must.Do(half.Write([]byte("stmk\x00\x00")))(t)
	require.NoError(t, half.CloseWrite())
	require.Empty(t, must.ReadAll(t, half))
	require.Equal(t, "258", word(t, s, "gtmk"))
}

// TestHashListsDigests compares the word with the digests of the tree at every 128th zxid.
func TestHashListsDigests(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	require.Empty(t, word(t, s, "hash"))
	c := dialWire(t, s, wire.Options{})
	c.MustCreate(t, "/a", nil, proto.ModePersistent)
	var want string
	for zxid := proto.Zxid(3); zxid <= 300; zxid++ {
		c.MustSetData(t, "/a", []byte{byte(zxid)}, -1)
		if zxid%128 == 0 {
			s.Store.Mu.RLock()
			want += fmt.Sprintf("%x: %d\n", int64(zxid), s.Store.State.Digest())
			s.Store.Mu.RUnlock()
		}
	}
	require.Equal(t, want, word(t, s, "hash"))
	require.Len(t, strings.Split(want, "\n"), 3)
}
