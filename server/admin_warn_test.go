package server

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
)

// A tree that anybody on the network may fetch is warned of; one behind a loopback address or an ACL is not.
func TestOpenSnapshotsAreWarnedOf(t *testing.T) {
	cfg := config.Default()
	cfg.DataDir = t.TempDir()
	cfg.DataLogDir = cfg.DataDir
	cfg.ClientPort, cfg.Admin.Port, cfg.PreAllocSizeKB, cfg.DiskWatermark.Bytes = 0, 0, 0, 0
	core, logs := observer.New(zap.WarnLevel)
	s := New(cfg, Options{Log: zap.New(core)})
	require.NoError(t, s.Start())
	defer s.Stop()
	warned := func() int { return logs.FilterMessageSnippet("root's ACL is open").Len() }
	require.Zero(t, warned(), "the address is a loopback address")

	s.adminAddr = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 8080}
	s.warnOpenSnapshots()
	require.Equal(t, 1, warned())
	cfg.Admin.SnapshotEnabled = false
	s.warnOpenSnapshots()
	require.Equal(t, 1, warned())
	require.Len(t, everyPerm, 5)
	all := int32(0)
	for _, p := range everyPerm {
		all |= p
	}
	require.Equal(t, proto.PermAll, all)
}
