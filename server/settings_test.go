package server

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal/vfs"
	"github.com/seed94657493/warren/zab"
)

// ofThree is the configuration of a voter, and of two others that are not started.
func ofThree() *config.Config {
	cfg := memberConfig()
	for i := range cfg.Members {
		m := &cfg.Members[i]
		m.Addresses = []config.PeerAddress{{Host: "127.0.0.1", QuorumPort: 2*i + 1, ElectionPort: 2*i + 2}}
		m.Client.Port, m.Secure.Port = config.PortUnset, config.PortUnset
	}
	return cfg
}

// settingsOf returns the settings that a host with this configuration gives to its core and to its peers.
func settingsOf(t *testing.T, cfg *config.Config) (zab.Config, peers.Config) {
	t.Helper()
	s := New(cfg, Options{FS: vfs.NewMem(), Meta: meta.NewMem(1)})
	require.NoError(t, s.recover())
	defer s.release()
	core := must.Do(s.member.CoreConfig())(t)
	must.Do(zab.New(core))(t)
	s.Members.Store(s.member.QuorumWith(core.Ensemble))
	s.member.Security = must.Do(s.member.OpenQuorum())(t)
	s.member.ID, s.member.Active = core.ID, core.Ensemble
	between := s.member.PeersConfig()
	must.Do(peers.New(between))(t)
	return core, between
}

func TestPeerSettings(t *testing.T) {
	cfg := ofThree()
	off := func() [3]bool {
		_, between := settingsOf(t, cfg)
		return [3]bool{between.NoKeepAlive, between.NagleAccepted, between.NagleDialled}
	}
	require.Equal(t, [3]bool{false, false, false}, off())
	cfg.PeerTCPKeepAlive = false
	require.Equal(t, [3]bool{true, false, false}, off())
	cfg.PeerTCPKeepAlive, cfg.LeaderNoDelay = true, false
	require.Equal(t, [3]bool{false, true, false}, off())
	cfg.LeaderNoDelay, cfg.FollowerNoDelay = true, false
	require.Equal(t, [3]bool{false, false, true}, off())
}

func TestCoreTiming(t *testing.T) {
	cfg := ofThree()
	cfg.TickTime, cfg.InitLimit = 100*time.Millisecond, 7
	core, _ := settingsOf(t, cfg)
	require.Equal(t, zab.Timing{Tick: 10 * time.Millisecond, TickTime: 10, InitLimit: 7, SyncLimit: 5,
		FinalizeWait: core.Timing.FinalizeWait, ResendMin: 20, ResendMax: 6000,
		DialPause: 2, DialAttempts: 50, ObserverLookPause: 20, QuorumLimit: 100}, core.Timing)
	cfg.LeaderConnectDelay, cfg.ConnectToLearnerMasterLimit = 400*time.Millisecond, 3
	cfg.ObserverReconnectDelay, cfg.ObserverElectionDelay, cfg.MaxTimeToWaitForEpoch = 300*time.Millisecond, 0, 0
	core, _ = settingsOf(t, cfg)
	require.Equal(t, zab.Timing{Tick: 10 * time.Millisecond, TickTime: 10, InitLimit: 7, SyncLimit: 5,
		FinalizeWait: core.Timing.FinalizeWait, ResendMin: 20, ResendMax: 6000,
		DialPause: 40, DialAttempts: 5, DialLimit: 3, ObserverDialPause: 30, QuorumLimit: 100, EpochWait: 1},
		core.Timing)
}

func TestGreetingTime(t *testing.T) {
	cfg := ofThree()
	_, between := settingsOf(t, cfg)
	require.Equal(t, 5*cfg.TickTime, between.Timeouts.Greeting)
	cfg.QuorumCnxnTimeout = 70 * time.Millisecond
	_, between = settingsOf(t, cfg)
	require.Equal(t, 70*time.Millisecond, between.Timeouts.Greeting)
}

func TestSyncLimits(t *testing.T) {
	cfg := ofThree()
	core, _ := settingsOf(t, cfg)
	require.Equal(t, [2]int{10, 100}, [2]int{core.Limits.SnapSyncsMax, core.Limits.DiffSyncsMax})
	cfg.MaxConcurrentSnapSyncs, cfg.MaxConcurrentDiffSyncs = 1, 2
	core, _ = settingsOf(t, cfg)
	require.Equal(t, [2]int{1, 2}, [2]int{core.Limits.SnapSyncsMax, core.Limits.DiffSyncsMax})
}

// All other keys that the core or the links get unchanged. Each value differs from the default.
func TestEnsembleSettings(t *testing.T) {
	cfg := ofThree()
	core, between := settingsOf(t, cfg)
	require.Equal(t, zab.DefaultLimits().WindowTxns, core.Limits.WindowTxns)
	require.Equal(t, [2]int{20, 6000}, [2]int{core.Timing.ResendMin, core.Timing.ResendMax})
	require.Equal(t, 5*time.Second, between.Timeouts.Connect)
	require.Equal(t, 3, between.BindAttempts)
	require.False(t, between.ListenAllIPs)

	cfg.CommitLogCount = 1_000_000
	cfg.MinNotificationInterval, cfg.MaxNotificationInterval = 70*time.Millisecond, 900*time.Millisecond
	cfg.CnxTimeout, cfg.ElectionPortBindRetry, cfg.QuorumListenOnAllIPs = 7*time.Second, 9, true
	core, between = settingsOf(t, cfg)
	require.Equal(t, 1_000_000, core.Limits.WindowTxns)
	require.Equal(t, [2]int{7, 90}, [2]int{core.Timing.ResendMin, core.Timing.ResendMax})
	require.Equal(t, 7*time.Second, between.Timeouts.Connect)
	require.Equal(t, 9, between.BindAttempts)
	require.True(t, between.ListenAllIPs)
}
