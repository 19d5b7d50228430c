package server

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal/vfs"
)

// doomVariable names the place at which the process of a test is to panic.
const doomVariable = "WARREN_DOOM"

// dooms are goroutines that panic while they hold locks that all clients need.
var dooms = map[string]func(t *testing.T){
	// The goroutine of a connection applies its own write: it is the host and the applier at that moment.
	"applier": func(t *testing.T) {
		s := New(memConfig(), Options{FS: vfs.NewMem(), Meta: meta.NewMem(1), Version: testVersion,
			Applied: func(zxid proto.Zxid, _ []byte, _ int64) {
				if zxid.Counter() > 1 { // the first is that of the session
					panic("doom")
				}
			}})
		require.NoError(t, s.Start())
		_, err := dialWire(t, s, wire.Options{}).Create("/a", nil, 0)
		t.Fatal("the process goes on: ", err)
	},
	// The goroutine of a connection holds the lock of the tree, the one of all watches and its own.
	"reader": func(t *testing.T) {
		cfg := memConfig()
		cfg.MaxWatches = 1
		s := New(cfg, Options{FS: vfs.NewMem(), Meta: meta.NewMem(1), Version: testVersion,
			Log: zap.New(doomedCore{zapcore.NewNopCore()})})
		require.NoError(t, s.Start())
		c := dialWire(t, s, wire.Options{})
		_, err := c.Do(wire.SetWatches(1, nil, []string{"/a", "/b"}, nil))
		t.Fatal("the process goes on: ", err)
	},
}

// doomedCore is a log that panics when a connection brings too many watches.
type doomedCore struct{ zapcore.Core }

func (c doomedCore) Enabled(zapcore.Level) bool { return true }

func (c doomedCore) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if e.Message == "closing client connection: it sets more watches than a limit allows" {
		panic("doom")
	}
	return ce
}

// A panic ends the process, with the stack of the goroutine, whatever locks that goroutine holds: a server that went
// on without them would stand for good, and would look alive.
func TestPanicsEndTheProcess(t *testing.T) {
	if name := os.Getenv(doomVariable); name != "" {
		dooms[name](t)
		return
	}
	for name := range dooms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			cmd := exec.Command(os.Args[0], "-test.run=^TestPanicsEndTheProcess$", "-test.timeout=5m")
			cmd.Env = append(os.Environ(), doomVariable+"="+name)
			cmd.Stdout, cmd.Stderr = &out, &out
			require.NoError(t, cmd.Start())
			stuck := time.AfterFunc(hangGuard, func() { _ = cmd.Process.Kill() })
			err := cmd.Wait()
			require.True(t, stuck.Stop(), "the server stands")
			require.Error(t, err)
			require.Equal(t, 2, cmd.ProcessState.ExitCode(), "%s", &out)
			require.Contains(t, out.String(), "panic: doom")
			require.Contains(t, out.String(), "goroutine ")
		})
	}
}
