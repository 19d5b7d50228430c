package accidents

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
)

// finding is what a surface tells of one thing that is wrong: its severity, its check, and the id of the server that
// it is about, 0 for the ensemble.
type finding struct {
	severity, check string
	server          int
}

func (f finding) String() string { return f.severity + " " + f.check }

// findings are a set, sorted.
type findings []finding

// with returns the set with one more finding. What the machine is ill of by itself, and notices, are left out.
func (all findings) with(severity, check string, server int) findings {
	f := finding{severity, check, server}
	if severity == "notice" || slices.Contains([]string{"open-files", "fsync", "file-system", "memory"}, check) ||
		slices.Contains(all, f) {
		return all
	}
	all = append(all, f)
	slices.SortFunc(all, func(a, b finding) int { return strings.Compare(a.key(), b.key()) })
	return all
}

func (f finding) key() string { return fmt.Sprint(f.check, f.server, f.severity) }

// site is an ensemble of processes with admin ports.
type site struct {
	t     *testing.T
	nodes []*cluster.Node
	admin map[*cluster.Node]string // host:port
}

// newSite starts three servers.
func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, admin: map[*cluster.Node]string{}}
	var options []cluster.Options
	var ports []string
	for range 3 {
		port := strconv.Itoa(cluster.FreePort(t))
		ports = append(ports, port)
		options = append(options, cluster.Options{Reconfig: true, Settings: map[string]string{"tickTime": "500",
			"preAllocSize": "64", "admin.enableServer": "true", "admin.serverAddress": "127.0.0.1",
			"admin.serverPort": port}})
	}
	s.nodes = cluster.Ensemble(t, options...)
	for i, n := range s.nodes {
		s.admin[n] = "127.0.0.1:" + ports[i]
		n.Launch()
	}
	for _, n := range s.nodes {
		n.WaitServing()
	}
	return s
}

// get returns the status and the text of a page of an admin port; 0 if there is no answer.
func (s *site) get(n *cluster.Node, path string) (int, []byte) {
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + s.admin[n] + path)
	if err != nil {
		return 0, nil
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, nil
	}
	return response.StatusCode, text
}

// api returns the findings that the console and other readers of the API see, and the role of the server.
func (s *site) api(n *cluster.Node) (all findings, state string) {
	var e struct {
		State    string
		Problems []struct {
			Severity, Check string
			Server          *int
		}
	}
	code, text := s.get(n, "/api/v1/ensemble")
	if code != http.StatusOK || json.Unmarshal(text, &e) != nil {
		return findings{{"no answer", strconv.Itoa(code), 0}}, ""
	}
	for _, p := range e.Problems {
		about := 0
		if p.Server != nil {
			about = *p.Server
		}
		all = all.with(p.Severity, p.Check, about)
	}
	return all, e.State
}

var metric = regexp.MustCompile(`(?m)^warren_finding\{check="([^"]*)",server="([^"]*)",severity="([^"]*)"\} 1$`)

// metrics returns the findings of /metrics.
func (s *site) metrics(n *cluster.Node) (all findings) {
	code, text := s.get(n, "/metrics")
	if code != http.StatusOK {
		return findings{{"no answer", strconv.Itoa(code), 0}}
	}
	for _, m := range metric.FindAllSubmatch(text, -1) {
		about, _ := strconv.Atoi(string(m[2])) // empty for the ensemble
		all = all.with(string(m[3]), string(m[1]), about)
	}
	return all
}

// readyz returns the status of /readyz and whether its text tells all of what the API tells, in the same words.
func (s *site) readyz(n *cluster.Node) (code int, same bool) {
	var e struct {
		Problems []struct{ Severity, Text string }
	}
	_, text := s.get(n, "/api/v1/ensemble")
	code, ready := s.get(n, "/readyz")
	if json.Unmarshal(text, &e) != nil {
		return code, false
	}
	told := 0
	for _, p := range e.Problems {
		if !strings.Contains(string(ready), p.Severity+": "+p.Text+"\n") {
			return code, false
		}
		told++
	}
	lines := regexp.MustCompile(`(?m)^(notice|warning|error|critical): `).FindAll(ready, -1)
	return code, told == len(lines)
}

// command runs status or doctor about all servers, and returns its exit code and its findings.
func (s *site) command(name string) (code int, all findings) {
	s.t.Helper()
	args := []string{name, "--output", "json", "--admin-port", "0"}
	ids := map[string]int{}
	for _, n := range s.nodes {
		args = append(args, n.Addr())
		ids[n.Addr()], ids[fmt.Sprintf("server %d", n.ID())] = n.ID(), n.ID()
	}
	cmd := exec.Command(cluster.Binary(s.t), args...)
	out, err := cmd.Output()
	var ended *exec.ExitError
	require.True(s.t, err == nil || errors.As(err, &ended), "%v", err)
	var said struct {
		Findings []struct{ Severity, Check, Subject string }
	}
	require.NoError(s.t, json.Unmarshal(out, &said), "%s", out)
	for _, f := range said.Findings {
		all = all.with(f.Severity, f.Check, ids[f.Subject])
	}
	return cmd.ProcessState.ExitCode(), all
}

// logged returns the levels at which the part of a log tells findings, and which of them it says are over.
func logged(text string) (begun map[string]string, over map[string]bool) {
	begun, over = map[string]string{}, map[string]bool{}
	check := regexp.MustCompile(`"?check"?[=:] ?"?([a-z-]+)`)
	for line := range strings.Lines(text) {
		m := check.FindStringSubmatch(line)
		switch {
		case m == nil:
		case strings.Contains(line, "no longer: "):
			over[m[1]] = true
		case strings.Contains(line, "ERROR"):
			begun[m[1]] = "ERROR"
		case strings.Contains(line, "WARN"):
			begun[m[1]] = "WARN"
		}
	}
	return begun, over
}
