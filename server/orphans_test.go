package server

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
)

// ZooKeeper may leave ephemerals whose session has ended. A standalone server removes them without a txn when it
// starts, so its tree is no longer the one to which its snapshots and log lead: it needs a snapshot of its own.
func TestRemovedOrphansStayRemoved(t *testing.T) {
	fs, epochs := vfs.NewMem(), meta.NewMem(1)
	core, logs := observer.New(zapcore.ErrorLevel)
	start := func() *Server {
		epochs.Crash() // what was closed can be used again
		cfg := memConfig()
		cfg.Admin.Enabled = false // another program may have its port
		s := started(t, cfg, Options{FS: fs, Meta: epochs, Log: zap.New(core)})
		return s
	}
	start().Stop() // the first snapshot
	h := proto.TxnHeader{ClientID: 0x99, Cxid: 1, Zxid: 1, Time: 1, Type: proto.OpCreate}
	anyone := proto.ID{Scheme: proto.Text("world"), Id: proto.Text("anyone")}
	orphan := proto.CreateTxn{Path: proto.Text("/orphan"), Acl: []proto.ACL{{Perms: 31, Id: anyone}}, Ephemeral: true,
		ParentCVersion: 1}
	file := proto.FileHeader{Magic: proto.MagicLog, Version: proto.FileVersion}
	require.NoError(t, vfs.WriteFile(fs, "/data/version-2/log.1",
		wal.AppendRecord(file.AppendTo(nil), orphan.AppendTo(h.AppendTo(nil)))))

	s := start()
	eventually(t, func() bool {
		all, err := s.disk.Snaps.List()
		return err == nil && all[0].Zxid == 1
	}, "a snapshot without the orphan")
	c := dialWire(t, s, wire.Options{})
	c.MustCreate(t, "/kept", nil, proto.ModePersistent)
	require.ErrorIs(t, must.Err(c.Exists("/orphan", false)), proto.ErrNoNode)
	c.Close()
	s.Stop()

	s = start()
	defer s.Stop()
	require.Empty(t, logs.All(), "the tree is the one that the txns speak of")
	c = dialWire(t, s, wire.Options{})
	c.MustExists(t, "/kept", false)
	require.ErrorIs(t, must.Err(c.Exists("/orphan", false)), proto.ErrNoNode)
}
