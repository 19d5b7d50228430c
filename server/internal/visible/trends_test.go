package visible

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/ensemble"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/facts"
	"github.com/seed94657493/warren/server/internal/serve"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
)

// What is left of a nearly full disk belongs to the log: the figures take nothing of it, and leave no part of a file.
func TestTrendsLeaveAFullDiskAlone(t *testing.T) {
	disk := vfs.NewMem()
	require.NoError(t, disk.MkdirAll("/data"))
	cfg := config.Default()
	cfg.DataDir = "/data"
	e := env.New(cfg, env.Options{FS: disk, Log: zap.NewNop()})
	front := serve.New(e, nil)
	n := New(ensemble.New(&facts.Facts{Env: e}, nil, front, nil), nil, front)
	names := func() []string {
		all := must.Do(disk.List("/data"))(t)
		return all
	}

	log := must.Do(disk.Create("/data/log"))(t)
	must.Do(log.Write(make([]byte, vfs.BlockSize)))(t)
	disk.SetCapacity(vfs.BlockSize) // not a byte is free
	n.saveTrends()
	require.Equal(t, []string{"log"}, names())

	disk.SetCapacity(trendsRoom + vfs.BlockSize)
	disk.FailNth(vfs.OpWrite, 0, vfs.ErrNoSpace) // somebody else has taken the room
	n.saveTrends()
	require.Equal(t, []string{"log"}, names())

	n.saveTrends()
	require.ElementsMatch(t, []string{"log", filepath.Base(trendsFile)}, names())
	require.NoError(t, log.Close())
}
