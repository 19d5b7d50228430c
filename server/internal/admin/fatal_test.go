package admin

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// doomVariable makes this binary a process with a handler that panics.
const doomVariable = "WARREN_DOOM"

// doomedNode panics while it holds a lock.
type doomedNode struct {
	*fakeNode
	mu sync.Mutex
}

// TraceMask implements Node.
func (n *doomedNode) TraceMask() int64 {
	n.mu.Lock()
	panic("doom")
}

// A panic of a handler ends the process with its stack: the lock that it holds would never be free again.
func TestPanicOfAHandlerEndsTheProcess(t *testing.T) {
	if os.Getenv(doomVariable) != "" {
		web := httptest.NewUnstartedServer(nil)
		web.Config = New(Options{Node: &doomedNode{fakeNode: &fakeNode{}}}).http
		web.Start()
		resp, err := http.Get(web.URL + "/commands/get_trace_mask")
		t.Fatal("the process goes on: ", resp, err)
	}
	var out bytes.Buffer
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), doomVariable+"=1")
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Start())
	stuck := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	require.True(t, stuck.Stop(), "the process stands")
	require.Error(t, err)
	require.Equal(t, 2, cmd.ProcessState.ExitCode(), "%s", &out)
	require.Contains(t, out.String(), "panic: doom")
	require.Contains(t, out.String(), "doomedNode).TraceMask", "the stack of the handler")
}

// An answer that is cut off on purpose ends only its connection.
func TestCutOffAnswerEndsNoProcess(t *testing.T) {
	web := httptest.NewServer(Fatal(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler)
	})))
	defer web.Close()
	require.Error(t, must.Err(http.Get(web.URL)))
}
