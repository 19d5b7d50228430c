package doctor

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed94657493/warren/internal/findings"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// wordServer answers four-letter words until the test ends.
func wordServer(t *testing.T, words map[string]string) string {
	t.Helper()
	ln := must.Listen(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			word := make([]byte, 4)
			if _, err := io.ReadFull(conn, word); err == nil {
				answer, ok := words[string(word)]
				if !ok && string(word) != recordWord { // ZooKeeper closes
					answer = string(word) + " is not executed because it is not in the whitelist.\n"
				}
				_, _ = io.WriteString(conn, answer)
			}
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = ln.Close(); <-done })
	return ln.Addr().String()
}

const members = "server.1=a:1:2:participant;0.0.0.0:2181\nserver.2=b:1:2:participant;0.0.0.0:2181\n" +
	"server.3=c:1:2:participant;0.0.0.0:2181\nversion=0"

// healthy is what server i of three says.
func healthy(i int) map[string]string {
	mode, more := "follower", ""
	if i == 1 {
		mode, more = "leader", "zk_quorum_size\t3\nzk_synced_followers\t2\nzk_pending_syncs\t0\n"
	}
	return map[string]string{
		"srvr": fmt.Sprintf("Zookeeper version: 3.9.4-abc, built on 2026-01-01 00:00 UTC\n"+
			"Latency min/avg/max: 0/0.1/3\nReceived: 5\nSent: 5\n"+
			"Connections: 2\nOutstanding: 0\nZxid: 0x200000%03x\nMode: %s\nNode count: 9\n", 0x100-i, mode),
		"mntr": "zk_version\t3.9.4-abc, built on 2026-01-01 00:00 UTC\nzk_server_state\t" + mode +
			"\nzk_open_file_descriptor_count\t50\nzk_max_file_descriptor_count\t65536\n" +
			"zk_watch_count\t10\nzk_outstanding_requests\t0\nzk_avg_fsynctime\t0.5\n" +
			"zk_fsync_threshold_exceed_count\t0\nzk_znode_count\t9\nzk_digest_mismatches_count\t0\n" + more,
		"conf": fmt.Sprintf("clientPort=2181\nsecureClientPort=-1\ntickTime=2000\nmaxClientCnxns=60\n"+
			"minSessionTimeout=4000\nmaxSessionTimeout=40000\nserverId=%d\n"+
			"initLimit=10\nsyncLimit=5\nelectionAlg=3\nelectionPort=2\nquorumPort=1\npeerType=0\nmembership: \n%s",
			i, members),
		"hash": "200000080: 77\n",
		"cons": " /10.0.0.1:5[1](queued=0,recved=1,sent=1)\n /10.0.0.2:5[1](queued=0,recved=1,sent=1)\n\n",
	}
}

// examined checks an ensemble of word servers.
func examined(t *testing.T, all []map[string]string, change func(*Ensemble)) Findings {
	t.Helper()
	e := &Ensemble{Timeout: 5 * time.Second, MaxLag: 100, Now: time.Now}
	for _, words := range all {
		e.Servers = append(e.Servers, wordServer(t, words))
	}
	if change != nil {
		change(e)
	}
	return e.Check(t.Context())
}

func TestHealthyEnsemble(t *testing.T) {
	require.Empty(t, examined(t, []map[string]string{healthy(1), healthy(2), healthy(3)}, nil))
	alone := healthy(1)
	alone["srvr"] = strings.Replace(alone["srvr"], "leader", "standalone", 1)
	alone["mntr"], alone["conf"] = "zk_version\t3\n", "clientPort=2181\ntickTime=2000\nserverId=0\n"
	require.Empty(t, examined(t, []map[string]string{alone}, nil))
}

func TestEnsembleChecks(t *testing.T) {
	// swap replaces text in the answer of a server, which must have it.
	swap := func(t *testing.T, s map[string]string, word, old, with string) {
		require.Contains(t, s[word], old)
		s[word] = strings.Replace(s[word], old, with, 1)
	}
	for name, tt := range map[string]struct {
		spoil    func(t *testing.T, s []map[string]string)
		change   func(e *Ensemble)
		severity Severity
		check    string
	}{
		"unreachable": {nil, func(e *Ensemble) { e.Servers[2] = "127.0.0.1:1" }, Error, "unreachable"},
		"no answer":   {func(_ *testing.T, s []map[string]string) { s[2]["srvr"] = "" }, nil, Error, "unreachable"},
		"other port": {func(_ *testing.T, s []map[string]string) {
			s[2]["srvr"] = "HTTP/1.1 400 Bad Request\r\n\r\n"
		}, nil, Error, "unreachable"},
		"not serving": {func(_ *testing.T, s []map[string]string) {
			s[2]["srvr"] = "This ZooKeeper instance is not currently serving requests\n"
		}, nil, Error, "not-serving"},
		"read-only": {
			func(t *testing.T, s []map[string]string) { swap(t, s[1], "srvr", "Mode: follower", "Mode: read-only") },
			nil, Error, "read-only",
		},
		"no leader": {func(t *testing.T, s []map[string]string) {
			for i := range s {
				s[i]["srvr"] = "This ZooKeeper instance is not currently serving requests\n"
			}
		}, nil, Critical, "no-quorum"},
		"only followers": {nil, func(e *Ensemble) { e.Servers = e.Servers[1:] }, Notice, "leader-not-asked"},
		"several leaders": {
			func(t *testing.T, s []map[string]string) { swap(t, s[1], "srvr", "Mode: follower", "Mode: leader") }, nil,
			Critical, "several-leaders",
		},
		"no majority": {func(t *testing.T, s []map[string]string) {
			swap(t, s[0], "mntr", "synced_followers\t2", "synced_followers\t0")
		}, nil, Critical, "no-quorum"},
		"no spare": {func(t *testing.T, s []map[string]string) {
			swap(t, s[0], "mntr", "synced_followers\t2", "synced_followers\t1")
		}, nil, Error, "no-spare"},
		"pending syncs": {func(t *testing.T, s []map[string]string) {
			swap(t, s[0], "mntr", "pending_syncs\t0", "pending_syncs\t500")
		}, nil, Warning, "pending-syncs"},
		"alone": {func(t *testing.T, s []map[string]string) {
			swap(t, s[2], "srvr", "Mode: follower", "Mode: standalone")
		}, nil, Critical, "not-in-ensemble"},
		"other members": {
			func(t *testing.T, s []map[string]string) { swap(t, s[2], "conf", "server.3=c", "server.3=d") }, nil,
			Error, "different-members",
		},
		"not all asked": {nil, func(e *Ensemble) { e.Servers = e.Servers[:2] }, Notice, "not-asked"},
		"same id": {func(t *testing.T, s []map[string]string) { swap(t, s[2], "conf", "serverId=3", "serverId=2") },
			nil, Critical, "same-id"},
		"another client port": {
			func(t *testing.T, s []map[string]string) {
				swap(t, s[1], "conf", "clientPort=2181\nsecureClientPort=-1", "clientPort=2182\nsecureClientPort=-1")
			}, nil, Error, "client-port",
		},
		"other ticks": {
			func(t *testing.T, s []map[string]string) { swap(t, s[2], "conf", "tickTime=2000", "tickTime=3000") }, nil,
			Warning, "different-settings",
		},
		"other version": {
			func(t *testing.T, s []map[string]string) { swap(t, s[2], "srvr", "3.9.4-abc", "3.8.0-def") }, nil, Notice,
			"different-versions",
		},
		"behind": {func(t *testing.T, s []map[string]string) { swap(t, s[2], "srvr", "0x2000000fd", "0x200000003") },
			nil, Warning, "lag"},
		"in an old epoch": {
			func(t *testing.T, s []map[string]string) { swap(t, s[2], "srvr", "0x2000000fd", "0x1000000fd") },
			nil, Error, "lag",
		},
		"other digest": {func(_ *testing.T, s []map[string]string) { s[2]["hash"] = "200000080: 78\n" }, nil,
			Critical, "digest"},
		"digest mismatches": {func(t *testing.T, s []map[string]string) {
			swap(t, s[2], "mntr", "digest_mismatches_count\t0", "digest_mismatches_count\t4")
		}, nil, Critical, "digest"},
		"few open files": {func(t *testing.T, s []map[string]string) { swap(t, s[2], "mntr", "\t65536", "\t1024") },
			nil, Warning, "open-files"},
		"open files used": {
			func(t *testing.T, s []map[string]string) { swap(t, s[2], "mntr", "count\t50\n", "count\t60000\n") }, nil,
			Error, "open-files",
		},
		"connections": {func(_ *testing.T, s []map[string]string) {
			s[1]["cons"] = strings.Repeat(" /10.0.0.9:77[1](queued=0,recved=1,sent=1)\n", 48)
		}, nil, Warning, "connection-limit"},
		"watches": {func(t *testing.T, s []map[string]string) {
			swap(t, s[1], "mntr", "watch_count\t10", "watch_count\t3000000")
		}, nil, Warning, "many-watches"},
		"outstanding": {
			func(t *testing.T, s []map[string]string) { swap(t, s[1], "mntr", "requests\t0", "requests\t5000") }, nil,
			Warning, "outstanding",
		},
		"slow disk": {
			func(t *testing.T, s []map[string]string) { swap(t, s[1], "mntr", "fsynctime\t0.5", "fsynctime\t20.25") },
			nil, Warning, "fsync",
		},
		"slow syncs": {
			func(t *testing.T, s []map[string]string) { swap(t, s[1], "mntr", "exceed_count\t0", "exceed_count\t2") },
			nil, Warning, "fsync",
		},
		"znodes": {func(t *testing.T, s []map[string]string) {
			swap(t, s[1], "mntr", "znode_count\t9", "znode_count\t6000000")
		}, nil, Warning, "many-znodes"},
		"whitelist": {func(_ *testing.T, s []map[string]string) { delete(s[1], "cons") }, nil, Notice, "whitelist"},
	} {
		t.Run(name, func(t *testing.T) {
			s := []map[string]string{healthy(1), healthy(2), healthy(3)}
			if tt.spoil != nil {
				tt.spoil(t, s)
			}
			all := examined(t, s, tt.change)
			require.True(t, found(all, tt.severity, tt.check), "%+v", all)
			require.False(t, tt.severity == Notice && all.Worst() > Notice, "%+v", all)
		})
	}
}

// What a server is shows in its answers, as far as it gives them.
func TestPrograms(t *testing.T) {
	const srvr = "Zookeeper version: 3.8.4-9316c2a, built on 2024-02-12\nMode: standalone\n"
	refused := recordWord + " is not executed because it is not in the whitelist.\n"
	record := func(program string) string {
		text := must.Do(json.Marshal(&findings.Record{Self: findings.Server{Instance: 1, Program: program}}))(t)
		return string(text)
	}
	for want, words := range map[string]map[string]string{
		"":                {"srvr": srvr},
		"ZooKeeper 3.8.4": {"srvr": srvr, "envi": "Environment:\njava.version=17.0.9\n"},
		"Warren":          {"srvr": srvr, "envi": "Environment:\njava.version=n/a\n"},
		"Warren ":         {"srvr": srvr, recordWord: refused},
		"Warren  ":        {"srvr": srvr, recordWord: record("")}, // of 0.1
		"Warren 0.2.0":    {"srvr": srvr, recordWord: record("Warren 0.2.0")},
	} {
		e := Ensemble{Servers: []string{wordServer(t, words)}, Timeout: time.Second, Now: time.Now}
		require.Equal(t, []string{strings.TrimSpace(want)}, e.Look(t.Context()).Programs)
	}
}

// TestClocks lets an admin server say another time.
func TestClocks(t *testing.T) {
	for skew, want := range map[time.Duration]Severity{0: Notice, 10 * time.Second: Warning, -2 * time.Hour: Error} {
		admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", time.Now().Add(skew).UTC().Format(http.TimeFormat))
		}))
		port := must.Port(t, admin.Listener.Addr().String())
		all := examined(t, []map[string]string{healthy(1), healthy(2), healthy(3)}, func(e *Ensemble) {
			e.AdminPort = must.Atoi(t, port)
		})
		admin.Close()
		require.Equal(t, want > Notice, found(all, want, "clock"), "%v: %+v", skew, all)
	}
}

// TestCertificates looks at certificates of several ages, of a server that asks for a client's too.
func TestCertificates(t *testing.T) {
	for left, want := range map[time.Duration]Severity{
		-time.Hour: Critical, 5 * 24 * time.Hour: Warning, 300 * 24 * time.Hour: Notice,
	} {
		key := must.Do(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
		template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-1000 * time.Hour),
			NotAfter: time.Now().Add(left)}
		der := must.Do(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))(t)
		ln := must.Do(tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
			Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
			ClientAuth:   tls.RequireAnyClientCert}))(t)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				conn, err := ln.Accept()
				if err != nil {
					return
				}
				_ = conn.(*tls.Conn).HandshakeContext(t.Context()) // the client has no certificate
				_ = conn.Close()
			}
		}()
		port := must.Port(t, ln.Addr().String())
		s := healthy(1)
		s["conf"] = strings.Replace(s["conf"], "secureClientPort=-1", "secureClientPort="+port, 1)
		all := examined(t, []map[string]string{s, healthy(2), healthy(3)}, nil)
		require.Equal(t, want > Notice, found(all, want, "certificate"), "%v: %+v", left, all)
		require.NoError(t, ln.Close())
		<-done
		all = examined(t, []map[string]string{s, healthy(2), healthy(3)}, nil)
		require.True(t, found(all, Warning, "certificate"), "the port is closed: %+v", all)
	}
}

// TestRealServer asks our own.
func TestRealServer(t *testing.T) {
	cfg := config.Default()
	cfg.DataDir = t.TempDir()
	cfg.DataLogDir, cfg.ClientPort, cfg.Admin.Port = cfg.DataDir, 0, 0
	cfg.FourLetterWhitelist = []string{"*"}
	cfg.PreAllocSizeKB, cfg.DiskWatermark.Bytes = 64, 0
	srv := server.New(cfg, server.Options{Version: "3.9.4-0, built on 01/01/2026 00:00 UTC"})
	require.NoError(t, srv.Start())
	defer srv.Stop()
	port := must.Port(t, srv.AdminAddr().String())
	e := &Ensemble{Servers: []string{srv.Addr().String()}, Timeout: 5 * time.Second, MaxLag: 100, Now: time.Now}
	e.AdminPort = must.Atoi(t, port)
	for _, f := range e.Check(t.Context()) {
		require.Contains(t, []string{"open-files", "fsync"}, f.Check, "%+v", f) // those are the machine's
	}
	a := e.examine(t.Context(), e.Servers[0])
	require.Equal(t, "standalone", a.facts.Mode)
	require.Empty(t, a.denied)
	require.NotEmpty(t, a.conf["tickTime"])
	require.NotEmpty(t, a.numbers["max_file_descriptor_count"])
	require.NotEmpty(t, maps.Collect(maps.All(a.perHost)))
	require.False(t, a.clock.IsZero())
}

// What the console of a server says of it is what doctor says, word for word.
func TestConsoleSaysTheSame(t *testing.T) {
	cfg := config.Default()
	cfg.DataDir = t.TempDir()
	cfg.DataLogDir, cfg.ClientPort, cfg.Admin.Port = cfg.DataDir, 0, 0
	cfg.FourLetterWhitelist = []string{"*"}
	cfg.PreAllocSizeKB, cfg.DiskWatermark.Bytes = 64, 1<<60 // more than any disk has
	srv := server.New(cfg, server.Options{Version: "3.9.4-0, built on 01/01/2026 00:00 UTC"})
	require.NoError(t, srv.Start())
	defer srv.Stop()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	base := "http://" + srv.AdminAddr().String() + "/api/v1/"
	wrong, err := client.Post(base+"login", "application/json", strings.NewReader(`{"user":"bob","password":"x"}`))
	require.NoError(t, err)
	require.NoError(t, wrong.Body.Close())
	require.Equal(t, http.StatusUnauthorized, wrong.StatusCode)

	response := must.Do(client.Get(base + "ensemble"))(t)
	defer response.Body.Close()
	var overview struct {
		Problems []struct {
			Severity            Severity
			Check, Text, Remedy string
		}
	}
	require.NoError(t, json.NewDecoder(response.Body).Decode(&overview))
	port := must.Port(t, srv.AdminAddr().String())
	e := &Ensemble{Servers: []string{srv.Addr().String()}, Timeout: 5 * time.Second, MaxLag: 100, Now: time.Now}
	e.AdminPort = must.Atoi(t, port)
	said := map[string]Finding{}
	for _, f := range e.Check(t.Context()) {
		said[f.Check] = Finding{Severity: f.Severity, Check: f.Check, What: f.What, Remedy: f.Remedy}
	}
	shown := map[string]Finding{}
	last := Critical
	for _, p := range overview.Problems {
		require.LessOrEqual(t, p.Severity, last, "the most urgent first")
		last, shown[p.Check] = p.Severity, Finding{Severity: p.Severity, Check: p.Check,
			What: p.Text, Remedy: p.Remedy}
	}
	for _, all := range []map[string]Finding{said, shown} { // figures of the machine differ between two looks
		delete(all, "open-files")
		delete(all, "fsync")
	}
	require.Equal(t, said, shown)
	require.Contains(t, shown, "disk-full")
	require.Contains(t, shown, "credentials-refused")
}

// TestLiveDirectory looks at a directory while its server writes: nothing is wrong with it.
func TestLiveDirectory(t *testing.T) {
	cfg := config.Default()
	cfg.DataDir = t.TempDir()
	cfg.DataLogDir, cfg.ClientPort, cfg.Admin.Enabled = cfg.DataDir, 0, false
	cfg.PreAllocSizeKB, cfg.SnapCount, cfg.DiskWatermark.Bytes = 64, 10, 0
	srv := server.New(cfg, server.Options{})
	require.NoError(t, srv.Start())
	defer srv.Stop()
	c := wire.Open(t, srv.Addr().String(), wire.Options{TimeoutMs: 60_000})
	stop, written := make(chan struct{}), make(chan error, 1)
	go func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				written <- nil
				return
			default:
			}
			if err := c.Send(wire.Create(fmt.Sprintf("/n-%d", i), make([]byte, 300), wire.OpenACL,
				proto.ModePersistent)).Wait(); err != nil {
				written <- err
				return
			}
		}
	}()
	for range 10 {
		d := &Directory{FS: vfs.OS(), DataDir: cfg.DataDir, LogDir: cfg.DataDir, MaxFrameBytes: 0xfffff,
			Settle: 5 * time.Millisecond, Now: time.Now}
		for _, f := range d.Check() {
			require.Contains(t, []string{"disk-full", "purge"}, f.Check, "%+v", f) // those are the machine's
		}
	}
	close(stop)
	require.NoError(t, <-written)
}

// Severities read as they are written.
func TestSeverity(t *testing.T) {
	for s := Notice; s <= Critical; s++ {
		text := must.Do(s.MarshalText())(t)
		var again Severity
		require.NoError(t, again.UnmarshalText(text))
		require.Equal(t, s, again)
	}
	require.Error(t, new(Severity).UnmarshalText([]byte("bad")))
	require.Equal(t, Notice, Findings{}.Worst())
}

func FuzzAnswers(f *testing.F) {
	for _, text := range healthy(1) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a := &answers{text: text, digests: map[proto.Zxid]string{}, perHost: map[string]int{}}
		a.facts = findings.Server{ID: findings.NoServer, Heard: time.Now()}
		a.facts.Read(&findings.Words{Srvr: text, Mntr: text, Conf: text})
		a.numbers = findings.Numbered(text)
		a.conf, a.membership = findings.Configured(text)
		a.parseHash(text)
		a.parseCons(text)
		c := &ensembleCheck{Ensemble: &Ensemble{Now: time.Now, MaxLag: 1}, all: []*answers{a}}
		c.take(nil, findings.Ensemble([]findings.Server{a.facts}, time.Now(), 1))
		c.notAsked([]findings.Server{a.facts})
		c.digests()
		c.load(a)
		for _, x := range c.Findings {
			require.NotEmpty(t, x.What)
		}
	})
}
