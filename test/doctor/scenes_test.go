package doctor

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/seed94657493/warren/cmd/warren/doctor"
	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/internal/findings"
	"github.com/seed94657493/warren/kerberos"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/krb5"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/pki"
	"github.com/seed94657493/warren/test/wire"
)

// found are findings with their severities.
type found = map[string]doctor.Severity

// slow are accidents that are told in full after half a minute, when a server that has begun ought to serve. They are
// made only when the table is written.
var slow = []string{"one server lists the others with different ports",
	"the certificate of the ports between servers has expired, and the server was restarted"}

// scenes have the accidents in the order of the table.
var scenes = []scene{
	{"three servers", openThree, []accident{
		{"one of three voters is dead: no other may fail", kills(2), func(h *hosts) {
			h.nodes[2].Launch()
			says(h.t, h.nodes[0], "ERROR\tno longer: only 2 of 3 voters are in sync")
		},
			found{"unreachable": doctor.Error, "no-spare": doctor.Error}, silent{2}, 1, ""},
		{"a majority of the voters is dead, as the survivor and its clients see it", func(h *hosts) {
			h.keepsTheLast(func() { kills(1, 2)(h) })
		}, launches(1, 2),
			found{"no-quorum": doctor.Critical, "unreachable": doctor.Error, "not-serving": doctor.Error},
			silent{1, 2}, 2, ""},
		{"the leader hangs, and another server leads", func(h *hosts) { h.nodes[0].Pause() },
			func(h *hosts) { h.nodes[0].Resume() },
			found{"unreachable": doctor.Error, "no-spare": doctor.Error}, silent{0}, 1, ""},
		{"a server is drained and refuses a client", func(h *hosts) {
			h.drain(2)
			_, err := wire.Dial(h.nodes[2].Addr(), wire.Options{TimeoutMs: 30_000})
			require.Error(h.t, err)
			h.refuses(2, "drain")
			_, text := must.Do2(h.get(2, "/metrics"))(h.t)
			require.Regexp(h.t, `(?m)^connection_rejected 0`, text, "that was no limit")
		}, func(h *hosts) { h.drain(2, "--resume") },
			found{"drained": doctor.Notice}, nil, 0, ""},
	}},
	{"three servers with what is not theirs", openWithStrangers, []accident{
		withoutFiles(),
		{"a server has less free disk space than its watermark", sets(2, "warren.diskWatermarkBytes",
			"1000000000000000"),
			sets(2, "warren.diskWatermarkBytes", "0"), found{"disk-full": doctor.Error}, nil, 1, ""},
		{"a server has the data directory of another ensemble", func(h *hosts) {
			h.nodes[2].Stop()
			h.nodes[2].PutData(h.kept[h.nodes[2]])
			h.nodes[2].Launch()
		}, func(h *hosts) {
			h.nodes[2].Kill()
			h.nodes[2].Wipe()
			h.nodes[2].Launch()
		}, found{"outside": doctor.Critical, "no-spare": doctor.Error}, nil, 1,
			""},
	}},
	{"three servers without what is theirs", openThree, []accident{
		{"a majority of the voters has lost its databases", func(h *hosts) {
			h.keep()
			h.nodes[0].Wipe()
			h.nodes[1].Wipe()
			launches(0, 1, 2)(h)
		}, func(h *hosts) {
			kills(0, 1, 2)(h)
			h.nodes[0].PutData(h.kept[h.nodes[0]])
			h.nodes[1].PutData(h.kept[h.nodes[1]])
			launches(0, 1, 2)(h)
		}, found{"databases-missing": doctor.Critical, "blank": doctor.Warning}, nil, 2,
			""},
		{"one server has lost its database, and the others are up", func(h *hosts) {
			h.nodes[2].Kill()
			h.nodes[2].Wipe()
			launches(2)(h)
			says(h.t, h.nodes[2], "the database is missing: this server does not vote")
			h.nodes[2].WaitServing()
		}, func(*hosts) {}, found{}, nil, 0, ""},
		{"one server has lost its database, and another is dead", func(h *hosts) {
			kills(1, 2)(h)
			h.kept = map[*cluster.Node]string{h.nodes[2]: h.nodes[2].CopyData()}
			h.nodes[2].Wipe()
			launches(2)(h)
		}, func(h *hosts) {
			h.nodes[2].Kill()
			h.nodes[2].PutData(h.kept[h.nodes[2]])
			launches(1, 2)(h)
		}, found{"no-quorum": doctor.Critical, "blank": doctor.Warning, "unreachable": doctor.Error,
			"not-serving": doctor.Error}, silent{1}, 2, ""},
	}},
	{"lists and ids", openWithOnePort, []accident{
		{"one server lists the others with different ports", func(h *hosts) {
			lines := maps.Clone(h.lines)
			for _, n := range h.nodes[:2] {
				lines[fmt.Sprintf("server.%d", n.ID())] = fmt.Sprintf("127.0.0.%d:%d:%d", 10+n.ID(),
					cluster.FreePort(h.t), cluster.FreePort(h.t))
			}
			h.again(2, lines)
		}, func(h *hosts) { h.again(2, h.lines) },
			found{"different-members": doctor.Error, "not-serving": doctor.Error, "no-spare": doctor.Error}, nil, 1,
			""},
		twin("smallest", 1, 2), twin("middle", 2, 3), twin("largest", 3, 1),
	}},
	// Servers tell of such a one for a minute and a half after it has gone, so each has a scene of its own.
	{"a server that moved", openWithSpare, []accident{
		moved("largest", func(a, b *cluster.Node) int { return b.ID() - a.ID() }),
	}},
	{"another server that moved", openWithSpare, []accident{
		moved("smallest", func(a, b *cluster.Node) int { return a.ID() - b.ID() }),
	}},
	{"five servers", func(t *testing.T) *hosts { return openHosts(t, 5, nil) }, []accident{
		{"two of five voters are dead: no other may fail", kills(3, 4), launches(3, 4),
			found{"unreachable": doctor.Error, "no-spare": doctor.Error}, silent{3, 4}, 1,
			""},
	}},
	{"files and clients", openWithLogsApart, []accident{
		{"a configuration was changed so that the next start would refuse it", func(h *hosts) {
			h.edit(2,
				"tickTime=abc\n")
		},
			func(h *hosts) { h.edit(2, "") }, found{"config": doctor.Error}, nil, 1, ""},
		{"the folder of the backups is missing", sets(2, "warren.console.backups", "/nowhere"),
			sets(2, "warren.console.backups", ""), found{"backup": doctor.Warning}, nil, 1, ""},
		{"the newest backup is three days old", func(h *hosts) {
			sets(2, "warren.console.backups", h.backup(72*time.Hour))(h)
		}, sets(2, "warren.console.backups", ""), found{"backup": doctor.Warning}, nil, 1, ""},
		{"the certificate of the client ports has expired", func(h *hosts) {
			h.certify(2, -time.Hour)
			h.again(2, map[string]string{"secureClientPort": strconv.Itoa(cluster.FreePort(h.t)),
				"ssl.keyStore.location": h.certificate(2), "ssl.clientAuth": "none"})
		}, func(h *hosts) {
			h.certify(2, 1000*time.Hour)
			require.NoError(h.t, syscall.Kill(h.nodes[2].Pid(), syscall.SIGHUP))
		}, found{"certificate": doctor.Critical}, nil, 1, ""},
		{"the certificate of the client ports expires in a week", func(h *hosts) {
			h.certify(2, 7*24*time.Hour)
			require.NoError(h.t, syscall.Kill(h.nodes[2].Pid(), syscall.SIGHUP))
		}, func(h *hosts) {
			h.certify(2, 1000*time.Hour)
			require.NoError(h.t, syscall.Kill(h.nodes[2].Pid(), syscall.SIGHUP))
		}, found{"certificate": doctor.Warning}, nil, 1, ""},
		{"an operator gives a wrong password", func(h *hosts) {
			require.NotZero(h.t, h.order(2, "super:wrong", "drain"))
		}, func(h *hosts) { h.word(2, "srst") }, found{"credentials-refused": doctor.Notice}, nil, 0,
			"AuthenticationFails"},
		{"a client presents a Kerberos ticket that the server cannot decrypt", func(h *hosts) {
			h.refuseTicket(2)
		}, func(h *hosts) { h.word(2, "srst") }, found{"credentials-refused": doctor.Notice}, nil, 0,
			"AuthenticationFails"},
		{"one address has almost as many connections as maxClientCnxns allows", func(h *hosts) {
			for range 17 {
				c := must.Do(wire.Dial(h.nodes[2].Addr(), wire.Options{TimeoutMs: 300_000}))(h.t)
				h.open = append(h.open, c)
			}
		}, (*hosts).closeAll, found{"connection-limit": doctor.Warning}, nil, 1, ""},
		{"one address opens more connections than maxClientCnxns allows", func(h *hosts) {
			var open []*wire.Conn
			cluster.Eventually(h.t, func() bool {
				c, err := wire.Dial(h.nodes[2].Addr(), wire.Options{TimeoutMs: 30_000})
				if err == nil {
					open = append(open, c)
				}
				return err != nil
			}, patience, "no connection is refused")
			for _, c := range open {
				c.Close()
			}
			h.refuses(2, "maxClientCnxns")
		}, func(h *hosts) { h.word(2, "srst") }, found{"connections-refused": doctor.Notice}, nil, 0,
			"ConnectionsRefused"},
		{"a snapshot cannot be written", func(h *hosts) {
			folder := h.snapshots(2)
			require.NoError(h.t, os.Rename(folder, folder+".away"))
			h.write("ERROR\tcannot write a snapshot")
		}, func(h *hosts) {
			folder := h.snapshots(2)
			require.NoError(h.t, os.Rename(folder+".away", folder))
			h.write("no longer: server")
		}, found{"snapshot-errors": doctor.Error}, nil, 1, "SnapshotsFail"},
	}},
	{"names and processes", openWithNames, []accident{
		{"the name server does not answer", func(h *hosts) {
			h.names.Become(cluster.Mute)
			h.again(2, nil) // it remembers the addresses
		}, func(h *hosts) {
			h.heardOfAll(time.Now()) // at the addresses that are known
			h.names.Become(cluster.Answering)
		}, found{"name": doctor.Warning}, nil, 1, ""},
		{"a server crashes and is restarted again and again", func(h *hosts) {
			for range findings.RestartsMany {
				h.nodes[2].Kill()
				noted := h.startsNoted(2)
				h.nodes[2].Start()
				cluster.Eventually(h.t, func() bool { return h.startsNoted(2) > noted }, patience,
					"the server notes its start")
			}
		}, func(h *hosts) { h.again(2, nil) }, found{"restarts": doctor.Error}, nil, 1,
			"RestartsInALoop"},
		{"a server's data almost fills its memory", func(h *hosts) {
			h.nodes[2].Stop()
			h.nodes[2].SetEnv("GOMEMLIMIT=80MiB")
			h.nodes[2].Start()
			h.large(75)
		}, func(h *hosts) {
			h.nodes[2].Stop()
			h.nodes[2].SetEnv()
			h.nodes[2].Launch()
		}, found{"memory": doctor.Warning}, nil, 1, ""},
	}},
	{"a network of their own", openWithFabric, []accident{
		{"the leader is cut off, as it sees itself", func(h *hosts) {
			h.beside = h.nodes[0]
			h.keepsTheLast(func() { h.fabric.Sever(h.beside.ID()) })
		}, (*hosts).mend,
			found{"no-quorum": doctor.Critical, "unreachable": doctor.Error, "not-serving": doctor.Error},
			silent{1, 2}, 2, ""},
		{"the leader is cut off, and another server leads, as the others see it", func(h *hosts) {
			h.beside = h.nodes[1]
			h.fabric.Sever(h.nodes[0].ID())
		}, (*hosts).mend, found{"unreachable": doctor.Error, "no-spare": doctor.Error}, silent{0}, 1, ""},
	}},
	{"disks and clocks with faults", openWithFaults, []accident{
		{"the disk of a follower is slow", func(h *hosts) {
			h.fault(2, syncFault, "30ms")
			h.word(2, "srst")
			cluster.Eventually(h.t, func() bool { // an average needs that many
				h.writes(1)
				return must.Do(wire.Gauge(h.nodes[2].Addr(), "zk_cnt_fsynctime", patience))(h.t) > 100
			}, patience, "the server has too few syncs")
		}, func(h *hosts) {
			h.fault(2, syncFault, "")
			h.word(2, "srst")
		}, found{"fsync": doctor.Warning}, nil, 1, "SlowSync"},
		{"the disk of a follower hangs, and the follower falls far behind", func(h *hosts) {
			h.fault(2, syncFault, "hold")
			h.writes(2 * findings.LagMax)
		}, func(h *hosts) { h.fault(2, syncFault, "") },
			found{"lag": doctor.Warning}, nil, 1, ""},
		{"the disk of a follower fails, and the server ends", func(h *hosts) {
			h.fault(2, syncFault, "fail")
			h.writes(1)
			<-h.nodes[2].Exited()
			require.Equal(h.t, 10, h.nodes[2].ExitCode())
		}, func(h *hosts) {
			h.fault(2, syncFault, "")
			h.nodes[2].Launch()
		}, found{"unreachable": doctor.Error, "no-spare": doctor.Error}, silent{2}, 1, ""},
		{"the clock of a follower is a minute ahead", func(h *hosts) {
			h.fault(2, clockFault, "1m")
			h.again(2, nil)
		}, func(h *hosts) {
			h.fault(2, clockFault, "")
			h.again(2, nil)
		}, found{"clock": doctor.Error}, nil, 1, ""},
	}},
	{"TLS between servers", openWithTLS, []accident{
		{"the certificate of the ports between servers and of the admin port expires in a week",
			func(h *hosts) { h.renewQuorum(2, 7*24*time.Hour) }, func(h *hosts) { h.renewQuorum(2, 1000*time.Hour) },
			found{"certificate": doctor.Warning}, nil, 1, ""},
		{"the certificate of the ports between servers has expired, and the server was restarted", func(h *hosts) {
			h.nodes[2].Stop()
			h.certifyQuorum(h.nodes[2], -time.Hour)
			h.nodes[2].Launch()
		}, func(h *hosts) { h.renewQuorum(2, 1000*time.Hour) },
			found{"certificate": doctor.Critical, "not-serving": doctor.Error, "no-spare": doctor.Error}, nil, 1,
			""},
	}},
	{"small disks", openWithDisks, []accident{
		{"an old snapshot cannot be removed", func(h *hosts) {
			h.busy(2)
			h.write("WARN\tcannot purge snapshots")
		}, func(h *hosts) {
			h.unmount()
			h.write("INFO\tpurged")
		}, found{"purge-errors": doctor.Warning}, nil, 1, ""},
		{"the disk of a follower is nearly full", func(h *hosts) { h.fill(2, 8<<20) },
			func(h *hosts) { h.fill(2, -1) }, found{"disk-full": doctor.Error}, nil, 1, ""},
		{"the disk of a follower is full to the last byte", func(h *hosts) { h.fill(2, 0) },
			func(h *hosts) { h.fill(2, -1) }, found{"disk-full": doctor.Error}, nil, 1, ""},
		{"the disk of the leader is full, and another server leads", func(h *hosts) { h.fill(0, 0) },
			func(h *hosts) { h.fill(0, -1) }, found{"disk-full": doctor.Error}, nil, 1, ""},
	}},
}

// openHosts starts an ensemble that serves, with these settings.
func openHosts(t *testing.T, n int, settings map[string]string) *hosts {
	h := newHosts(t, withSuper(n, settings)...)
	h.list()
	cluster.StartAll(h.nodes...)
	return h
}

// openThree starts an ensemble of three with nothing special.
func openThree(t *testing.T) *hosts { return openHosts(t, 3, nil) }

// withSuper are the settings of n servers, with a super user.
func withSuper(n int, settings map[string]string) []map[string]string {
	own := make([]map[string]string, n)
	for i := range own {
		own[i] = map[string]string{
			"DigestAuthenticationProvider.superDigest": auth.DigestIdentity("super:secret").ID,
		}
		maps.Copy(own[i], settings)
	}
	return own
}

// openWithOnePort starts three servers whose lines name no client ports: they take clients at the same port.
func openWithOnePort(t *testing.T) *hosts {
	port := cluster.FreePort(t)
	h := newHostsWith(t, func(o *cluster.Options) { o.Port = port },
		withSuper(3, map[string]string{"electionPortBindRetry": "0"})...)
	h.lines = map[string]string{}
	for _, n := range h.nodes {
		key, value, _ := strings.Cut(n.Line(), "=")
		h.lines[key], _, _ = strings.Cut(value, ":participant")
	}
	for _, n := range h.nodes {
		n.Set(h.lines)
	}
	cluster.StartAll(h.nodes...)
	h.heardOfAll(time.Time{})
	return h
}

// startsNoted is how many starts a server has noted. One that is killed at once may not have come so far.
func (h *hosts) startsNoted(i int) int {
	text, _ := os.ReadFile(filepath.Join(h.nodes[i].DataDir(), ".warren.starts"))
	return bytes.Count(text, []byte("\n"))
}

// heardOfAll waits until every server has heard every other one since then.
func (h *hosts) heardOfAll(since time.Time) {
	h.t.Helper()
	for _, n := range h.nodes {
		cluster.Eventually(h.t, func() bool {
			text := wire.MustFourLetter(h.t, n.Addr(), "fact", patience)
			var record findings.Record
			require.NoError(h.t, json.Unmarshal([]byte(text), &record), text)
			return len(record.Others) == len(h.nodes)-1 && !slices.ContainsFunc(record.Others,
				func(s findings.Server) bool { return !s.Known() || s.Heard.Before(since) })
		}, patience, "server %d has not heard of all others", n.ID())
	}
}

// openWithSpare starts three servers, and has a fourth in reserve.
func openWithSpare(t *testing.T) *hosts {
	h := newHosts(t, withSuper(4, nil)...)
	h.nodes, h.spare = h.nodes[:3], h.nodes[3]
	for _, n := range h.nodes {
		n.Lists(h.nodes...)
	}
	h.list()
	cluster.StartAll(h.nodes...)
	return h
}

// openWithStrangers keeps what the servers had in another ensemble.
func openWithStrangers(t *testing.T) *hosts {
	h := openHosts(t, 3, map[string]string{"maxSessionTimeout": "300000"})
	c := must.Do(wire.Dial(h.nodes[0].Addr(), wire.Options{TimeoutMs: 10_000}))(t)
	c.MustCreate(t, "/n", nil, proto.ModePersistent)
	c.Close()
	h.keep()
	for _, n := range h.nodes {
		n.Wipe()
	}
	cluster.StartAll(h.nodes...)
	return h
}

// keep stops all servers and keeps what they have.
func (h *hosts) keep() {
	h.kept = map[*cluster.Node]string{}
	for _, n := range h.nodes {
		n.Stop()
		h.kept[n] = n.CopyData()
	}
}

// kills returns what kills servers, and launches what starts them.
func kills(some ...int) func(h *hosts) {
	return func(h *hosts) {
		for _, i := range some {
			h.nodes[i].Kill()
		}
	}
}

func launches(some ...int) func(h *hosts) {
	return func(h *hosts) {
		for _, i := range some {
			h.nodes[i].Launch()
		}
	}
}

// again restarts a server with other lines of zoo.cfg; sets returns what does so with one.
func (h *hosts) again(i int, settings map[string]string) {
	h.nodes[i].Stop()
	h.nodes[i].Set(settings)
	h.nodes[i].Launch()
}

func sets(i int, key, value string) func(h *hosts) {
	return func(h *hosts) { h.again(i, map[string]string{key: value}) }
}

// limitFiles bounds how many files a server may have open, and returns the bound that it had.
func (h *hosts) limitFiles(i int, most uint64) (before uint64) {
	h.t.Helper()
	var limit unix.Rlimit
	require.NoError(h.t, unix.Prlimit(h.nodes[i].Pid(), unix.RLIMIT_NOFILE, nil, &limit))
	before, limit.Cur = limit.Cur, most
	require.NoError(h.t, unix.Prlimit(h.nodes[i].Pid(), unix.RLIMIT_NOFILE, &limit, nil))
	return before
}

// closeAll ends the clients that were left open.
func (h *hosts) closeAll() {
	for _, c := range h.open {
		c.Close()
	}
	h.open = nil
}

// asks reads an answer of the API of a server.
func (h *hosts) asks(i int, path string, into any) {
	h.t.Helper()
	_, text := must.Do2(h.get(i, path))(h.t)
	require.NoError(h.t, json.Unmarshal([]byte(text), into), text)
}

// keepsTheLast cuts the first server off from all others, and wants its API and its console to go on showing the last
// that it has known, and since when it knows no more.
func (h *hosts) keepsTheLast(cut func()) {
	h.t.Helper()
	type tree struct {
		Serving          bool
		Znodes, Sessions *int
		Zxid             string
		TreeAt           int64
	}
	type server struct {
		ID                                int
		LastState                         string
		HeardAt, SilentSince, Connections *int64
	}
	var before, now tree
	var all struct{ Servers []server }
	h.asks(0, "/api/v1/ensemble", &before)
	cut()
	cluster.Eventually(h.t, func() bool {
		now, all.Servers = tree{}, nil
		h.asks(0, "/api/v1/ensemble", &now)
		h.asks(0, "/api/v1/servers", &all)
		all.Servers = slices.DeleteFunc(all.Servers, func(s server) bool { return s.ID == h.nodes[0].ID() })
		return !now.Serving && !slices.ContainsFunc(all.Servers, func(s server) bool { return s.SilentSince == nil })
	}, patience, "it does not notice")
	require.NotNil(h.t, now.Znodes)
	require.NotNil(h.t, now.Sessions)
	require.Equal(h.t, before.Znodes, now.Znodes)
	require.NotEmpty(h.t, now.Zxid)
	require.GreaterOrEqual(h.t, now.TreeAt, before.TreeAt)
	clock := func(ms int64) string { return "ot known since " + time.UnixMilli(ms).Format(time.TimeOnly) }
	unknown := []string{clock(now.TreeAt)}
	for _, s := range all.Servers {
		require.NotNil(h.t, s.HeardAt)
		require.NotNil(h.t, s.Connections)
		require.NotEmpty(h.t, s.LastState)
		unknown = append(unknown, clock(*s.SilentSince))
	}
	if !theBrowser.open(h.t) {
		return
	}
	var page *drawn
	cluster.Eventually(h.t, func() bool {
		var err error
		page, err = h.overview(0, func(d *drawn) bool { return len(d.Findings) > 0 })
		return err == nil
	}, patience, "the console draws no overview")
	text := strings.Join(append(page.Servers, page.Figures...), "\n")
	for _, part := range append(unknown, fmt.Sprintf("Znodes%d", *now.Znodes)) {
		require.Contains(h.t, text, part)
	}
}

// refuses wants a server to tell everywhere that it has refused connections for this reason, and for no other.
func (h *hosts) refuses(i int, reason string) {
	h.t.Helper()
	_, metrics := must.Do2(h.get(i, "/metrics"))(h.t)
	some := regexp.MustCompile(`(?m)^warren_server_connections_refused_total\{reason="(.*)"\} [1-9]`)
	require.Len(h.t, some.FindAllString(metrics, -1), 1)
	require.Equal(h.t, reason, some.FindStringSubmatch(metrics)[1])
	cluster.Eventually(h.t, func() bool { // it may refuse this one, too
		mntr, err := wire.FourLetter(h.nodes[i].Addr(), "mntr", patience)
		return err == nil && regexp.MustCompile(`(?m)^zk_connections_refused_`+reason+`\t[1-9]`).MatchString(mntr)
	}, patience, "mntr does not tell of %s", reason)
	_, api := must.Do2(h.get(i, "/api/v1/ensemble"))(h.t)
	require.Regexp(h.t, `"reason": ?"`+reason+`", ?"count": ?[1-9]`, api)
}

// withID returns a server by the id that it has in the lines.
func (h *hosts) withID(id int) *cluster.Node {
	return h.nodes[slices.IndexFunc(h.nodes, func(n *cluster.Node) bool { return n.ID() == id })]
}

// drain drains a server, or lets it take clients again.
func (h *hosts) drain(i int, flags ...string) {
	h.t.Helper()
	require.Zero(h.t, h.order(i, "super:secret", append([]string{"drain"}, flags...)...))
}

// order gives an order to a server by a user with a password, and returns the exit code of the command.
func (h *hosts) order(i int, user string, command ...string) int {
	h.t.Helper()
	host, _ := must.Do2(net.SplitHostPort(h.nodes[i].Addr()))(h.t)
	secret := filepath.Join(h.t.TempDir(), "auth")
	require.NoError(h.t, os.WriteFile(secret, []byte("digest "+user+"\n"), 0o600))
	_, code := h.run(append(command, "--auth-file", secret,
		"--admin", "http://"+net.JoinHostPort(host, h.port)+"/commands")...)
	return code
}

// openWithLogsApart starts servers with few connections for each address, whose snapshots are apart from their logs,
// and are written often.
func openWithLogsApart(t *testing.T) *hosts {
	h := openHosts(t, 3, map[string]string{"maxClientCnxns": "20", "snapCount": "10", "maxSessionTimeout": "300000"})
	for i := range h.nodes {
		h.again(i, map[string]string{"dataLogDir": t.TempDir()})
	}
	return h
}

// openWithDisks starts servers with disks of their own for their logs.
func openWithDisks(t *testing.T) *hosts {
	disks := make([]string, 3)
	for i := range disks {
		if disks[i] = cluster.Disk(t, "64m"); disks[i] == "" {
			t.Skip("no disks of a given size: that takes root")
		}
	}
	h := openHosts(t, 3, map[string]string{"warren.diskWatermarkBytes": strconv.Itoa(16 << 20), "snapCount": "10",
		"autopurge.purgeInterval": "1"})
	h.disks = map[*cluster.Node]string{}
	for i, n := range h.nodes {
		h.disks[n] = disks[i]
		n.Stop()
		n.Wipe()
		n.Set(map[string]string{"dataLogDir": disks[i]})
	}
	cluster.StartAll(h.nodes...)
	return h
}

// openWithNames starts servers that know each other, and each other's client ports, by name.
func openWithNames(t *testing.T) *hosts {
	names := cluster.NewNameServer(t, 3)
	id := 0
	h := newHostsWith(t, func(o *cluster.Options) {
		id++
		names.Move(id, o.Host)
		o.Name, o.ResolvConf = cluster.NameOf(id), names.File
	}, withSuper(3, map[string]string{"clientPortAddress": "0.0.0.0"})...)
	h.names = names
	h.list()
	for key, line := range h.lines {
		before, client, _ := strings.Cut(line, ";")
		h.lines[key] = before + client[strings.LastIndexByte(client, ':'):]
		h.lines[key] = strings.Replace(h.lines[key], ":participant:", ":participant;", 1)
	}
	for _, n := range h.nodes {
		n.Set(h.lines)
	}
	cluster.StartAll(h.nodes...)
	return h
}

// openWithFabric starts servers in a network that can be cut.
func openWithFabric(t *testing.T) *hosts {
	fabric := cluster.NewFabric(t, 3)
	if fabric == nil {
		t.Skip("no network namespaces: they take root")
	}
	id := 0
	h := newHostsWith(t, func(o *cluster.Options) {
		id++
		o.Host, o.Namespace = fabric.Addr(id), fabric.Namespace(id)
		o.Settings["admin.serverAddress"] = o.Host
	}, withSuper(3, nil)...)
	h.fabric = fabric
	h.list()
	cluster.StartAll(h.nodes...)
	return h
}

// mend ends what has cut off the first server.
func (h *hosts) mend() {
	h.fabric.Mend(h.nodes[0].ID())
	h.beside = nil
}

// list gives all servers the lines of all, with their client ports.
func (h *hosts) list() {
	h.lines = map[string]string{}
	for _, n := range h.nodes {
		key, value, _ := strings.Cut(n.Line(), "=")
		h.lines[key] = value
	}
	for _, n := range h.nodes {
		n.Set(h.lines)
	}
}

// openWithFaults starts servers whose disks and clocks may have faults, which the leader waits for.
func openWithFaults(t *testing.T) *hosts {
	h := newHosts(t, withSuper(3, map[string]string{"syncLimit": "240", "fsync.warningthresholdms": "60000"})...)
	h.list()
	for _, n := range h.nodes {
		n.Use(faulty(t))
	}
	cluster.StartAll(h.nodes...)
	return h
}

// writes makes so many txns.
func (h *hosts) writes(n int) {
	h.t.Helper()
	c := must.Do(wire.Dial(h.nodes[0].Addr(), wire.Options{TimeoutMs: 30_000}))(h.t)
	defer c.Close()
	for n > 0 {
		requests := make([]wire.Request, min(n, 1000))
		for i := range requests {
			requests[i] = wire.SetData("/", nil, -1)
		}
		for _, call := range c.SendAll(requests) {
			require.NoError(h.t, call.Wait())
		}
		n -= len(requests)
	}
	require.NoError(h.t, c.CloseSession())
}

// large makes so many znodes with almost as much data as a znode may have.
func (h *hosts) large(n int) {
	h.t.Helper()
	c := must.Do(wire.Dial(h.nodes[0].Addr(), wire.Options{TimeoutMs: 30_000}))(h.t)
	defer c.Close()
	for i := range n {
		c.MustCreate(h.t, fmt.Sprintf("/large-%d", i), make([]byte, 900<<10), proto.ModePersistent)
	}
}

// refuseTicket brings a client to a server whose keytab has another key than that with which its ticket is encrypted.
func (h *hosts) refuseTicket(i int) {
	h.t.Helper()
	const service = "zookeeper/localhost@EXAMPLE.COM"
	forge, file := krb5.NewForge(h.t), filepath.Join(h.t.TempDir(), "jaas.conf")
	config := forge.Config("EXAMPLE.COM")
	require.NoError(h.t, os.WriteFile(file, []byte("Server {\n  com.sun.security.auth.module.Krb5LoginModule "+
		"required useKeyTab=true storeKey=true keyTab=\""+forge.Keytab("keytab", "new", service)+
		"\" principal=\""+service+"\";\n};\n"), 0o600))
	h.again(i, map[string]string{"java.security.auth.login.config": file, "java.security.krb5.conf": config,
		"authProvider.sasl": "org.apache.zookeeper.server.auth.SASLAuthenticationProvider"})
	h.nodes[i].WaitServing()
	login := must.Do(kerberos.NewLogin(kerberos.LoginOptions{Config: config, Timeout: patience,
		TicketCache: forge.Cache("cache", "app@EXAMPLE.COM", "old", time.Now().Add(time.Hour), service)}))(h.t)
	var c *wire.Conn
	cluster.Eventually(h.t, func() bool { // on a busy machine, another server may begin to lead
		var err error
		c, err = wire.Dial(h.nodes[i].Addr(), wire.Options{TimeoutMs: 30_000})
		return err == nil
	}, patience, "the server takes no client")
	defer c.Close()
	_, _ = c.Do(wire.Sasl(krb5.FirstToken(h.t, login, service))) // it is answered, or closed
	says(h.t, h.nodes[i], "SASL authentication failed")
	require.Contains(h.t, h.nodes[i].Log(), "the ticket is not encrypted with the key of the service")
}

// openWithTLS starts servers that use TLS among each other, and offer it at their admin ports.
func openWithTLS(t *testing.T) *hosts {
	h := newHosts(t, withSuper(3, map[string]string{"sslQuorum": "true", "admin.portUnification": "true"})...)
	h.ca = pki.NewCA("ca")
	h.list()
	for _, n := range h.nodes {
		trust := filepath.Join(n.Dir(), "trust.pem")
		require.NoError(t, os.WriteFile(trust, h.ca.PEM(), 0o600))
		h.certifyQuorum(n, 1000*time.Hour)
		n.Set(map[string]string{"ssl.quorum.trustStore.location": trust,
			"ssl.quorum.keyStore.location": filepath.Join(n.Dir(), "quorum.pem")})
	}
	cluster.StartAll(h.nodes...)
	return h
}

// certifyQuorum gives a server a certificate for the others, which is valid for so long; renewQuorum does so while it
// runs.
func (h *hosts) certifyQuorum(n *cluster.Node, left time.Duration) {
	h.t.Helper()
	own := h.ca.Issue(pki.Options{Name: "s", Hosts: []string{fmt.Sprintf("127.0.0.%d", 10+n.ID()), "127.0.0.1"},
		NotAfter: time.Now().Add(left)})
	require.NoError(h.t, os.WriteFile(filepath.Join(n.Dir(), "quorum.pem"), own.PEM(), 0o600))
}

func (h *hosts) renewQuorum(i int, left time.Duration) {
	h.t.Helper()
	h.certifyQuorum(h.nodes[i], left)
	require.NoError(h.t, syscall.Kill(h.nodes[i].Pid(), syscall.SIGHUP))
}

// fill leaves so many bytes free on the disk of a server; -1 frees what was filled.
func (h *hosts) fill(i int, free int64) {
	h.t.Helper()
	ballast := filepath.Join(h.disks[h.nodes[i]], "ballast")
	if free < 0 {
		require.NoError(h.t, os.Remove(ballast))
		return
	}
	var st syscall.Statfs_t
	require.NoError(h.t, syscall.Statfs(h.disks[h.nodes[i]], &st))
	err := os.WriteFile(ballast, make([]byte, int64(st.Bavail)*st.Bsize-free), 0o600)
	require.True(h.t, err == nil || free == 0, "%v", err)
}

// edit adds text to the zoo.cfg of a server that runs, instead of what was added before.
func (h *hosts) edit(i int, more string) {
	h.t.Helper()
	name := filepath.Join(h.nodes[i].Dir(), "zoo.cfg")
	text := must.ReadFile(h.t, name)
	const mark = "# added by hand\n"
	before, _, _ := strings.Cut(string(text), mark)
	require.NoError(h.t, os.WriteFile(name, []byte(before+mark+more), 0o600))
}

// certificate is the file with the certificate of a server, and certify makes one that is valid for so long.
func (h *hosts) certificate(i int) string { return filepath.Join(h.nodes[i].Dir(), "server.pem") }

func (h *hosts) certify(i int, left time.Duration) {
	h.t.Helper()
	own := pki.NewCA("ca").Issue(pki.Options{Name: "s", Hosts: []string{"127.0.0.1"}, NotAfter: time.Now().Add(left)})
	require.NoError(h.t, os.WriteFile(h.certificate(i), own.PEM(), 0o600))
}

// word sends a four-letter word to a server.
func (h *hosts) word(i int, word string) {
	h.t.Helper()
	wire.MustFourLetter(h.t, h.nodes[i].Addr(), word, patience)
}

// backup makes a backup of a server, which says that it is of so long ago, and returns its folder.
func (h *hosts) backup(ago time.Duration) string {
	h.t.Helper()
	folder := filepath.Join(h.t.TempDir(), "backup")
	out, code := h.run("backup", "create", folder, "--config", filepath.Join(h.nodes[2].Dir(), "zoo.cfg"))
	require.Zero(h.t, code, out)
	name := filepath.Join(folder, "manifest.json")
	text := must.ReadFile(h.t, name)
	text = text[:bytes.LastIndex(text, []byte("sha256 "))]
	text = regexp.MustCompile(`("taken": *)"[^"]*"`).ReplaceAll(text,
		[]byte(`${1}"`+time.Now().Add(-ago).UTC().Format(time.RFC3339)+`"`))
	text = fmt.Appendf(text, "sha256 %x\n", sha256.Sum256(text))
	require.NoError(h.t, os.WriteFile(name, text, 0o600))
	return folder
}

// busy makes the oldest snapshot of a server a file that cannot be removed, until unmount is called.
func (h *hosts) busy(i int) {
	h.t.Helper()
	h.write("wrote snapshot")
	all := must.Glob(h.t, filepath.Join(h.snapshots(i), "snapshot.*"))
	file := slices.MinFunc(all, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
	out, err := exec.Command("mount", "--bind", file, file).CombinedOutput()
	require.NoError(h.t, err, "%s", out)
	h.unmount = sync.OnceFunc(func() {
		out, err := exec.Command("umount", "-l", file).CombinedOutput()
		require.NoError(h.t, err, "%s", out)
	})
	h.t.Cleanup(h.unmount)
}

// snapshots is the folder with the snapshots of a server.
func (h *hosts) snapshots(i int) string { return filepath.Join(h.nodes[i].DataDir(), "version-2") }

// write writes until the third server says something in its log that it has not said before. On a busy machine,
// another server may lead meanwhile.
func (h *hosts) write(until string) {
	h.t.Helper()
	before := strings.Count(h.nodes[2].Log(), until)
	var c *wire.Conn
	defer func() {
		if c != nil {
			c.Close()
		}
	}()
	cluster.Eventually(h.t, func() bool {
		var err error
		if c == nil {
			if c, err = wire.Dial(h.nodes[0].Addr(), wire.Options{TimeoutMs: 30_000}); err != nil {
				c = nil
				return false
			}
			_, err = c.Create("/written", nil, proto.ModePersistent)
		}
		if err == nil || errors.Is(err, proto.ErrNodeExists) {
			_, err = c.SetData("/written", make([]byte, 100), -1)
		}
		if err != nil {
			c.Close()
			c = nil
		}
		return strings.Count(h.nodes[2].Log(), until) > before
	}, patience, "no %q", until)
}

// moved is the accident that another server has the id of a follower, the first by order, and an address of its own.
func moved(which string, order func(a, b *cluster.Node) int) accident {
	return accident{fmt.Sprintf("two servers have the same id, the %s: the second one has an address that is "+
		"only in its own list", which), func(h *hosts) {
		holder := slices.MinFunc(h.nodes[1:], order)
		h.spare.Renumber(holder.ID())
		listed := []*cluster.Node{h.spare}
		for _, n := range h.nodes {
			if n != holder {
				listed = append(listed, n)
			}
		}
		h.spare.Lists(listed...)
		_, line, _ := strings.Cut(h.spare.Line(), "=")
		h.spare.Set(h.lines)
		h.spare.Set(map[string]string{fmt.Sprint("server.", holder.ID()): line})
		h.spare.Wipe()
		h.spare.Launch()
		h.nodes = append(h.nodes, h.spare)
	}, func(h *hosts) {
		h.spare.Kill()
		h.nodes = slices.DeleteFunc(h.nodes, func(n *cluster.Node) bool { return n == h.spare })
	}, found{"same-id": doctor.Critical}, nil, 1, ""}
}

// twin is the accident that a server was replaced by one with the id of another: its myid was copied.
func twin(which string, id, place int) accident {
	var n *cluster.Node
	return accident{fmt.Sprintf("two servers have the same id, the %s: myid was copied to a new server", which),
		func(h *hosts) {
			n = h.withID(place)
			n.Stop()
			h.kept = map[*cluster.Node]string{n: n.CopyData()}
			n.Renumber(id)
			n.Wipe()
			n.Launch()
		}, func(h *hosts) {
			n.Kill()
			n.Renumber(place)
			n.PutData(h.kept[n])
			n.Launch()
		}, found{"same-id": doctor.Critical, "unreachable": doctor.Error, "no-spare": doctor.Error}, nil, 1,
		""}
}

// withoutFiles is the accident that clients have all file descriptors of a server but the last ones. The limit is
// lowered once more when they have: the server also closes files and connections of its own, and would serve one more
// client for each.
func withoutFiles() accident {
	const most, spare = 1024, 32
	var before uint64
	return accident{"clients have all file descriptors of a server but the last ones", func(h *hosts) {
		before = h.limitFiles(2, most)
		refused := regexp.MustCompile(`"connections_refused_descriptors" ?: ?[1-9]`)
		cluster.Eventually(h.t, func() bool { // connections also end because a server is late, or leads no more
			for {
				c, err := wire.Dial(h.nodes[2].Addr(), wire.Options{TimeoutMs: 300_000})
				if err != nil {
					break
				}
				h.open = append(h.open, c)
			}
			_, numbers, err := h.get(2, "/commands/monitor")
			return err == nil && refused.MatchString(numbers)
		}, agreement, "no connection is refused")
		v := h.sees("open-files", h.nodes...)
		v.names(h.t, "too many connections: the last file descriptors are reserved for files and other servers")
		h.limitFiles(2, most-spare)
	}, func(h *hosts) {
		h.closeAll()
		h.limitFiles(2, before)
		h.word(2, "srst")
	}, found{"open-files": doctor.Error}, nil, 1, ""}
}
