package abuse

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

// The bad client is a process of its own, this test binary started anew, at a low priority once it has prepared
// itself: what the good clients wait is then what the server does to them, and not that the bad one, which has a
// machine of its own elsewhere, has taken the processors that all of them share here.

// orderVariable is the environment variable that makes this binary a bad client.
const orderVariable = "WARREN_ABUSE"

// order is what the bad client is told at its start, as JSON.
type order struct {
	Name  string // of the abuse
	Full  bool
	Lasts time.Duration
	Site  site
}

// Words that are said between the two, a line each. The bad client says ready, and in the end how often it has done
// what it does, 0 if that is not counted.
const (
	ready     = "ready"
	attackNow = "attack" // and then end
)

// abuser is the process of a bad client, as the test sees it.
type abuser struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	ended chan error
	start time.Duration // processor time before the abuse
	used  time.Duration // during the abuse
	done  int           // how often it has done what it does, 0 if that is not counted
}

// startAbuser starts the process and waits until it has prepared itself.
func startAbuser(t *testing.T, o order) *abuser {
	t.Helper()
	text := must.Do(json.Marshal(o))(t)
	b := &abuser{t: t, ended: make(chan error, 1)}
	b.cmd = exec.Command(os.Args[0])
	b.cmd.Env = append(os.Environ(), orderVariable+"="+string(text))
	b.cmd.Stderr = os.Stderr
	b.in = must.Do(b.cmd.StdinPipe())(t)
	out := must.Do(b.cmd.StdoutPipe())(t)
	require.NoError(t, b.cmd.Start())
	t.Cleanup(func() { b.in.Close(); _ = b.cmd.Process.Kill() }) // it may have ended
	said := bufio.NewReader(out)
	line := must.Do(said.ReadString('\n'))(t, "the bad client has not come to its start")
	require.Equal(t, ready, strings.TrimSpace(line))
	go func() {
		line, _ := said.ReadString('\n') // if it has died, Wait says so
		b.done, _ = strconv.Atoi(strings.TrimSpace(line))
		b.ended <- b.cmd.Wait()
	}()
	return b
}

// tell says a word.
func (b *abuser) tell(word string) {
	b.t.Helper()
	if word == attackNow {
		b.start = cluster.ProcessorTime(b.t, b.cmd.Process.Pid)
		b.stepBack()
	}
	must.Do(io.WriteString(b.in, word+"\n"))(b.t)
}

// stepBack gives all threads of the bad client the low priority, which those that they start inherit.
func (b *abuser) stepBack() {
	b.t.Helper()
	threads := must.ReadDir(b.t, fmt.Sprintf("/proc/%d/task", b.cmd.Process.Pid))
	for _, thread := range threads {
		id := must.Atoi(b.t, thread.Name())
		if err := unix.Setpriority(unix.PRIO_PROCESS, id, *niceFlag); !errors.Is(err, unix.ESRCH) {
			require.NoError(b.t, err)
		}
	}
}

// wait returns when the abuse is over.
func (b *abuser) wait() {
	b.t.Helper()
	require.NoError(b.t, <-b.ended, "the bad client")
	b.used = b.cmd.ProcessState.UserTime() + b.cmd.ProcessState.SystemTime() - b.start
}

// obey is the bad client. It returns the exit code.
func obey(text string) int {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	list := abuses()
	ab := list[slices.IndexFunc(list, func(ab abuse) bool { return ab.name == o.Name })]
	a := &attack{t: witness{}, site: o.Site, full: o.Full, ctx: context.Background()}
	if ab.prepare != nil {
		ab.prepare(a)
	}
	fmt.Println(ready)
	words := bufio.NewScanner(os.Stdin)
	if !words.Scan() || words.Text() != attackNow {
		return 2 // the test is over
	}
	go func() {
		words.Scan()
		os.Exit(2) // the test is over
	}()
	var cancel context.CancelFunc
	a.ctx, cancel = context.WithTimeout(context.Background(), o.Lasts)
	defer cancel()
	ab.run(a)
	a.closeAll()
	fmt.Println(a.done.Load())
	return 0
}

// witness ends the bad client when it cannot do what it wants to.
type witness struct{}

// Errorf implements require.TestingT.
func (witness) Errorf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// FailNow implements require.TestingT.
func (witness) FailNow() { os.Exit(1) }
