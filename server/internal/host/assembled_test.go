package host

import (
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/durable"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/flow"
	"github.com/seed94657493/warren/server/internal/serve"
	"github.com/seed94657493/warren/server/internal/sessions"
	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/wal/vfs"
	"github.com/seed94657493/warren/zab"
)

// assembled is the parts of a server that a host needs, without goroutines.
type assembled struct {
	*env.Env
	disk   *durable.Disk
	front  *serve.Front
	member *Host
}

func assemble(cfg *config.Config, fs vfs.FS, store meta.Store) *assembled {
	e := env.New(cfg, env.Options{FS: fs})
	a := &assembled{Env: e, disk: durable.New(e, store), front: serve.New(e, nil)}
	a.member = New(e, a.disk, a.front, Network{})
	return a
}

func (a *assembled) release() { a.disk.Release() }

// client is a flow.Client that records that its connection was aborted.
type client struct {
	flow.Client
	aborted, superseded bool
}

func (c *client) Abort() { c.aborted = true }

func (c *client) Supersede() { c.aborted, c.superseded = true, true }

func (c *client) Superseded() bool { return c.superseded }

func (c *client) Generation() int64 { return 0 }

func (c *client) Unanswered()                                           {}
func (c *client) Resumed(*sessions.Session, sessions.Conn, int32, bool) {}

// rigConfig is the configuration of server 1 of 3, on a filesystem in memory.
func rigConfig() *config.Config {
	cfg := config.Default()
	cfg.DataDir, cfg.DataLogDir = "/data", "/data"
	cfg.ClientPort, cfg.ClientPortAddress = 0, "127.0.0.1"
	cfg.PreAllocSizeKB = 0
	cfg.TickTime = 200 * time.Millisecond
	cfg.DiskWatermark.Bytes, cfg.DiskWatermark.Percent = 0, 0
	cfg.ServerID = 1
	cfg.Quorum.ServerID = 1
	cfg.Quorum.InitLimit, cfg.Quorum.SyncLimit = 5, 5
	for id := int64(1); id <= 3; id++ {
		cfg.Quorum.Members = append(cfg.Quorum.Members, config.Member{ID: id, Weight: 1,
			Addresses: []config.PeerAddress{{Host: "127.0.0.1", QuorumPort: 1, ElectionPort: 1}}})
	}
	return cfg
}

// recovered is a server that has read its disk, with a journal, and the configuration that its core would start
// from.
func recovered(fs *vfs.Mem, store meta.Store) (*assembled, zab.Config, error) {
	s := assemble(rigConfig(), fs, store)
	if err := s.disk.Recover(); err != nil {
		s.release()
		return nil, zab.Config{}, err
	}
	s.Tracker = sessions.New(s.Config.TickTime, proto.ServerID(1), s.Clock.WallMs(), 0)
	m := s.member
	m.ID, m.applier = 1, serve.NewApplyQueue(s.front, &m.Queued, &m.Finished)
	m.journal = durable.NewJournal(s.disk, journalOwner{m})
	cfg, err := m.CoreConfig()
	if err == nil {
		_, err = zab.New(cfg)
	}
	if err != nil {
		s.release()
	}
	return s, cfg, err
}
