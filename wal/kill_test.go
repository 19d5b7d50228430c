package wal

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
)

// TestKill kills a process that appends to a log on a real disk, at random moments, and checks that
// every txn it reported after a Sync is there.
func TestKill(t *testing.T) {
	if dir := os.Getenv("WAL_KILL_DIR"); dir != "" {
		appendUntilKilled(t, dir)
		return
	}
	rng := newRand(t, 1)
	dir := t.TempDir()
	durable := proto.Zxid(0)
	for range 4 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKill$")
		cmd.Env = append(os.Environ(), "WAL_KILL_DIR="+dir)
		out := must.Do(cmd.StdoutPipe())(t)
		require.NoError(t, cmd.Start())
		lines := bufio.NewScanner(out)
		for n := rng.IntN(300); n >= 0 && lines.Scan(); n-- {
			durable = reported(durable, lines.Text())
		}
		require.NoError(t, cmd.Process.Kill())
		for lines.Scan() {
			durable = reported(durable, lines.Text())
		}
		require.Error(t, cmd.Wait())

		var zxids []proto.Zxid
		_, err := Verify(Options{FS: vfs.OS(), Dir: dir}, 1, func(r *Record) error {
			zxids = append(zxids, r.Zxid)
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, span(1, proto.Zxid(len(zxids))), zxids)
		require.GreaterOrEqual(t, proto.Zxid(len(zxids)), durable)
	}
	require.Positive(t, durable)
}

func reported(durable proto.Zxid, line string) proto.Zxid {
	if z, err := strconv.Atoi(strings.TrimPrefix(line, "synced ")); err == nil {
		return proto.Zxid(z)
	}
	return durable
}

func appendUntilKilled(t *testing.T, dir string) {
	l, _ := open(t, Options{FS: vfs.OS(), Dir: dir, PreallocSize: 256 << 10}, 1)
	for z := l.LastZxid() + 1; ; z += 3 {
		add(t, l, z, z+2, int(z%2000))
		require.NoError(t, l.Sync())
		fmt.Println("synced", int(z)+2)
		if z%50 == 0 {
			require.NoError(t, l.Roll())
		}
	}
}
