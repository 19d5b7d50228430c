package abuse

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/pki"
	"github.com/seed94657493/warren/test/wire"
)

// target is what is abused: a server alone, or an ensemble of three of which one is abused.
type target struct {
	nodes []*cluster.Node
	// Ports of a server alone.
	tls, admin, metrics string
}

// jaasText lets clients authenticate by SASL.
const jaasText = `Server {
	org.apache.zookeeper.server.auth.DigestLoginModule required user_good="secret";
};
`

// startTarget starts servers with the limits of a default configuration, and settings.
func startTarget(t *testing.T, members int, settings map[string]string) *target {
	t.Helper()
	dir := t.TempDir()
	ca := pki.NewCA("abuse")
	own := ca.Issue(pki.Options{Name: "server", Hosts: []string{"127.0.0.1"}, RSA: true})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "server.pem"), own.PEM(), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ca.pem"), ca.PEM(), 0o600))
	jaas := filepath.Join(dir, "jaas.conf")
	require.NoError(t, os.WriteFile(jaas, []byte(jaasText), 0o600))
	tg := &target{tls: freeAddr(t), admin: freeAddr(t), metrics: freeAddr(t)}
	all := map[string]string{
		"maxClientCnxns": "60", "4lw.commands.whitelist": "srvr, mntr",
		"secureClientPort":                port(tg.tls),
		"ssl.keyStore.location":           filepath.Join(dir, "server.pem"),
		"ssl.trustStore.location":         filepath.Join(dir, "ca.pem"),
		"ssl.quorum.keyStore.location":    filepath.Join(dir, "server.pem"),
		"ssl.quorum.trustStore.location":  filepath.Join(dir, "ca.pem"),
		"java.security.auth.login.config": jaas,
		"admin.enableServer":              "true", "admin.serverAddress": "127.0.0.1",
		"admin.serverPort":          port(tg.admin),
		"metricsProvider.className": "org.apache.zookeeper.metrics.prometheus.PrometheusMetricsProvider",
		"metricsProvider.httpHost":  "127.0.0.1",
		"metricsProvider.httpPort":  port(tg.metrics),
	}
	maps.Copy(all, settings)
	if members == 1 {
		tg.nodes = []*cluster.Node{cluster.Start(t, cluster.Options{Settings: all, Dir: memoryDir(t)})}
		return tg
	}
	common := map[string]string{"maxClientCnxns": "60",
		"ssl.quorum.keyStore.location":   filepath.Join(dir, "server.pem"),
		"ssl.quorum.trustStore.location": filepath.Join(dir, "ca.pem"),
	}
	maps.Copy(common, settings)
	var options []cluster.Options
	for range members {
		options = append(options, cluster.Options{Settings: common, Dir: memoryDir(t)})
	}
	tg.nodes = cluster.StartEnsemble(t, options...)
	return tg
}

// site is where the bad client finds what it abuses.
type site struct {
	Client           string // client port of the server that is abused
	TLS, Admin       string // of a server alone
	Quorum, Election []string
}

var memberLine = regexp.MustCompile(`(?m)^server\.(\d+)=([^:]+):(\d+):(\d+)`)

func (tg *target) site(t *testing.T) site {
	at := site{Client: tg.nodes[0].Addr(), TLS: tg.tls, Admin: tg.admin}
	text := must.ReadFile(t, filepath.Join(tg.nodes[0].Dir(), "zoo.cfg"))
	for _, m := range memberLine.FindAllStringSubmatch(string(text), -1) {
		at.Quorum = append(at.Quorum, net.JoinHostPort(m[2], m[3]))
		at.Election = append(at.Election, net.JoinHostPort(m[2], m[4]))
	}
	return at
}

// processorTime is what all servers have used.
func (tg *target) processorTime(t *testing.T) (used time.Duration) {
	for _, n := range tg.nodes {
		used += cluster.ProcessorTime(t, n.Pid())
	}
	return used
}

// watchMemory notes the largest resident memory of any server, in MiB, until stop is called.
func (tg *target) watchMemory() (most *atomic.Int64, stop func()) {
	most = &atomic.Int64{}
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			most.Store(max(most.Load(), tg.memory()))
			select {
			case <-over:
				return
			case <-tick.C:
			}
		}
	}()
	return most, func() { close(over); <-ended }
}

// memory is the resident memory of the largest server, in MiB.
func (tg *target) memory() (most int64) {
	for _, n := range tg.nodes {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", n.Pid()))
		if err != nil {
			continue // it has ended: the load sees that
		}
		var size, resident int64
		if _, err := fmt.Sscan(string(text), &size, &resident); err == nil {
			most = max(most, resident*int64(os.Getpagesize())>>20)
		}
	}
	return most
}

// held is what the clients of a server hold, as mntr shows it.
type held map[string]int64

// heldNames are the lines of mntr that must be again what they were.
var heldNames = []string{"num_alive_connections", "open_file_descriptor_count", "watch_count", "ephemerals_count",
	"global_sessions", "outstanding_tls_handshake", "goroutines"}

// held asks every server.
func (tg *target) held() ([]held, error) {
	var all []held
	for _, n := range tg.nodes {
		text, err := wire.FourLetter(n.Addr(), "mntr", time.Minute)
		if err != nil {
			return nil, err
		}
		h := held{}
		for line := range strings.Lines(text) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), "\t")
			if v, err := strconv.ParseInt(value, 10, 64); err == nil {
				h[strings.TrimPrefix(key, "zk_")] = v
			}
		}
		all = append(all, h)
	}
	if len(tg.nodes) > 1 {
		return all, nil
	}
	n, err := tg.goroutines()
	all[0]["goroutines"] = n
	return all, err
}

// goroutines asks the metrics of a server alone.
func (tg *target) goroutines() (int64, error) {
	client := http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + tg.metrics + "/metrics")
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	m := threadsLine.FindSubmatch(text)
	if m == nil {
		return 0, errors.New("the metrics do not say how many goroutines there are")
	}
	return strconv.ParseInt(string(m[1]), 10, 64)
}

var threadsLine = regexp.MustCompile(`(?m)^jvm_threads_current (\d+)$`)

// heldSlack is how much more than before may be held of anything: files that a server opens for itself.
const heldSlack = 8

// back waits until the servers hold no more than before, and returns what keeps them from it after patience.
func (tg *target) back(before []held, patience time.Duration) error {
	deadline := time.Now().Add(patience)
	for {
		err := tg.more(before)
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (tg *target) more(before []held) error {
	now, err := tg.held()
	if err != nil {
		return err
	}
	for i := range now {
		for _, name := range heldNames {
			if name == "global_sessions" && !*fullFlag {
				continue // the sessions of lost connections take seconds to expire
			}
			if now[i][name] > before[i][name]+heldSlack {
				return fmt.Errorf("server %d: %s is %d, was %d", i, name, now[i][name], before[i][name])
			}
		}
	}
	return nil
}

// memoryDir is a directory for data that is in memory where the system has such: another program that uses the disk
// is no bad client, and may take it for half a minute.
func memoryDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "warren-abuse-")
	if err != nil {
		return ""
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func freeAddr(t *testing.T) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(cluster.FreePort(t)))
}

func port(addr string) string {
	_, p, _ := net.SplitHostPort(addr)
	return p
}
