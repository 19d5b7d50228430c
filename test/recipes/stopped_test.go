package recipes

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
	"github.com/seed94657493/warren/test/must"
)

// holderVariable makes this program a holder: "server file".
const holderVariable = "WARREN_TEST_HOLDER"

// holderTimeout is the session timeout of a holder, long enough for a busy machine.
const holderTimeout = 4 * time.Second

// runHolder takes one of each and prints a line. After a stop it looks what it still believes to hold, and prints that
// if the file is there. It never lets go of the processor, so that it goes on before any other goroutine does. It ends
// with its input, as a locker does.
func runHolder(run string) (code int) {
	server, file, _ := strings.Cut(run, " ")
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	ctx := context.Background()
	c, err := client.Dial(ctx, server, client.WithSessionTimeout(holderTimeout))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	held := map[string]context.Context{}
	take := func(name string, h *recipes.Hold, err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, name, err)
			os.Exit(1)
		}
		held[name] = h.Context()
	}
	h, err := recipes.NewMutex(c, "/stopped/mutex").Lock(ctx)
	take("mutex", h, err)
	h, err = recipes.NewMutex(c, "/stopped/until-expiry", recipes.UntilExpiry()).Lock(ctx)
	take("until-expiry", h, err)
	h, err = recipes.NewSimpleMutex(c, "/stopped/simple").Lock(ctx)
	take("simple", h, err)
	h, err = recipes.NewSemaphore(c, "/stopped/semaphore", 1).Acquire(ctx)
	take("semaphore", h, err)
	several, err := recipes.NewMultiMutex(c, []string{"/stopped/a", "/stopped/b"}).Lock(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	held["several"] = several.Context()
	err = recipes.NewLatch(c, "/stopped/latch", "1").Run(ctx, func(leads context.Context, _ client.Zxid) error {
		held["latch"] = leads
		last := time.Now() // the stop may come as soon as the line is out
		fmt.Println("holds", len(held))
		for now := last; ; last, now = now, time.Now() {
			if now.Sub(last) < 100*time.Millisecond {
				continue
			}
			var believes []string
			for name, ctx := range held {
				select {
				case <-ctx.Done():
				default:
					believes = append(believes, name)
				}
				if ctx.Err() == nil {
					believes = append(believes, name)
				}
			}
			if _, err := os.Stat(file); err == nil { // that was no pause of a busy machine
				fmt.Println("believes", believes)
				break
			}
		}
		fmt.Println("over")
		os.Exit(0)
		return nil
	})
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// A process that is stopped until others may have what it held is told so by the first look at the Context of each
// Hold, in whichever goroutine it goes on.
func TestStoppedHolderIsToldFirst(t *testing.T) {
	file := filepath.Join(t.TempDir(), "over")
	holder := exec.Command(os.Args[0])
	holder.Env = append(os.Environ(), holderVariable+"="+address+" "+file)
	holder.Stderr = os.Stderr
	life := must.Do(holder.StdinPipe())(t)
	out := must.Do(holder.StdoutPipe())(t)
	require.NoError(t, holder.Start())
	defer func() {
		_ = holder.Process.Kill()
		_ = holder.Wait() // it was killed
		_ = life.Close()
	}()
	lines := bufio.NewReader(out)
	require.Equal(t, "holds 6\n", must.Do(lines.ReadString('\n'))(t))
	require.NoError(t, holder.Process.Signal(syscall.SIGSTOP))

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := must.Do(client.Dial(ctx, address, client.WithSessionTimeout(holderTimeout)))(t)
	defer c.Close()
	h, err := recipes.NewMutex(c, "/stopped/mutex").Lock(ctx)
	require.NoError(t, err, "the session of the process that was stopped expires")
	require.NoError(t, h.Release(ctx))
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, holder.Process.Signal(syscall.SIGCONT))
	require.Equal(t, "believes []\nover", strings.TrimSpace(string(must.ReadAll(t, lines))))
}
