package doctor

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/doctor"
	"github.com/seed94657493/warren/test/cluster"
)

// scenesPerProcessor is how many tests run at once. They wait most of the time: for servers to notice something, and
// for clients to give up after clientWait.
const scenesPerProcessor = 3

func TestMain(m *testing.M) {
	if servers := os.Getenv(clientOf); servers != "" {
		os.Exit(beClient(servers))
	}
	code := cluster.MainBeside(m, scenesPerProcessor)
	theBrowser.end()
	_ = os.RemoveAll(faultyBinary.dir)
	os.Exit(code)
}

// patience bounds the wait for what an ensemble does by itself.
const patience = time.Minute

// visit is what one run of warren doctor has said.
type visit struct {
	Worst    doctor.Severity
	Findings doctor.Findings
}

// ofTheMachine are findings that no test can help.
var ofTheMachine = []string{"open-files", "fsync", "file-system", "disk-full"}

// examine runs warren doctor and checks what holds for every answer: the exit code says how bad the worst is, the
// findings are in the order of their urgency, and whatever is wrong has a remedy.
func examine(t *testing.T, args ...string) visit {
	t.Helper()
	return examineAs(t, exec.Command(cluster.Binary(t), append([]string{"doctor", "--output", "json"}, args...)...))
}

func examineAs(t *testing.T, cmd *exec.Cmd) (v visit) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var ended *exec.ExitError
	require.True(t, err == nil || errors.As(err, &ended), "%v", err)
	require.NoError(t, json.Unmarshal(out.Bytes(), &v), "%s%s", out.Bytes(), errs.Bytes())
	require.Equal(t, min(2, int(v.Worst)), cmd.ProcessState.ExitCode(), errs.String())
	require.True(t,
		slices.IsSortedFunc(v.Findings, func(a, b doctor.Finding) int { return int(b.Severity - a.Severity) }),
		"%+v", v.Findings)
	for _, f := range v.Findings {
		require.True(t, f.Severity == doctor.Notice || f.Remedy != "", "%+v", f)
	}
	return v
}

// severity returns how urgent a check has found something, and -1 if it has not.
func (v visit) severity(check string) doctor.Severity {
	for _, f := range v.Findings {
		if f.Check == check {
			return f.Severity
		}
	}
	return -1
}

// ills are the checks that have found something, without what is the machine's.
func (v visit) ills() []string {
	var all []string
	for _, f := range v.Findings {
		if f.Severity > doctor.Notice && !slices.Contains(ofTheMachine, f.Check) && !slices.Contains(all, f.Check) {
			all = append(all, f.Check)
		}
	}
	return all
}

// servers are their addresses behind the flags of warren doctor.
func servers(nodes []*cluster.Node, flags ...string) []string {
	args := append([]string{"--admin-port", "0"}, flags...)
	args = append(args, cluster.Addrs(nodes)...)
	return args
}

// ensemble starts servers that serve, each with the settings of all and those of its own.
func ensemble(t *testing.T, all map[string]string, own ...map[string]string) []*cluster.Node {
	t.Helper()
	options := make([]cluster.Options, len(own))
	for i := range options {
		options[i].Settings = map[string]string{"tickTime": "500", "preAllocSize": "64"}
		maps.Copy(options[i].Settings, all)
		maps.Copy(options[i].Settings, own[i])
	}
	return cluster.StartEnsemble(t, options...)
}

// eventually examines until it has found, for the most urgent of the checks of the test, just these.
func eventually(t *testing.T, args []string, ills ...string) visit {
	t.Helper()
	var v visit
	watch := cluster.NewWatch()
	for watch.Elapsed() < patience {
		if v = examine(t, args...); slices.Equal(v.ills(), ills) {
			return v
		}
	}
	require.Equal(t, ills, v.ills(), "%+v", v.Findings)
	return v
}
