package server

import (
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/words"
)

// The server warns if any client on the network may fetch or replace the tree, and not if the port is on a loopback
// address or an ACL protects the root.
func TestOpenRootIsWarnedOf(t *testing.T) {
	cfg := config.Default()
	cfg.DataDir = t.TempDir()
	cfg.DataLogDir = cfg.DataDir
	cfg.ClientPort, cfg.Admin.Port, cfg.PreAllocSizeKB, cfg.DiskWatermark.Bytes = 0, 0, 0, 0
	core, logs := observer.New(zap.WarnLevel)
	s := New(cfg, Options{Log: zap.New(core)})
	require.NoError(t, s.Start())
	defer s.Stop()
	require.Zero(t, logs.FilterMessageSnippet("root's ACL is open").Len(), "the address is a loopback address")
	logs.TakeAll()

	s.words.AdminAt = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 8080}
	for _, v := range []struct {
		snapshot, restore, member bool
		can                       string
	}{
		{true, true, false, "can fetch the tree and replace the tree: "},
		{true, true, true, "can fetch the tree: "},
		{true, false, false, "can fetch the tree: "},
		{false, true, false, "can replace the tree: "},
		{false, true, true, ""},
		{false, false, false, ""},
	} {
		cfg.Admin.SnapshotEnabled, cfg.Admin.RestoreEnabled, cfg.Quorum.StandaloneEnabled = v.snapshot, v.restore,
			!v.member
		s.words.WarnOpenRoot()
		cfg.Quorum.StandaloneEnabled = true
		got := logs.TakeAll()
		if v.can == "" {
			require.Empty(t, got, "%+v", v)
			continue
		}
		require.Len(t, got, 1, "%+v", v)
		require.Contains(t, got[0].Message, v.can)
		require.Equal(t, v.snapshot, strings.Contains(got[0].Message, "admin.snapshot.enabled=false"))
		require.Equal(t, v.restore && !v.member, strings.Contains(got[0].Message, "admin.restore.enabled=false"))
	}
	require.Len(t, words.EveryPerm, 5)
	all := int32(0)
	for _, p := range words.EveryPerm {
		all |= p
	}
	require.Equal(t, proto.PermAll, all)
}
