package embed

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/wal/vfs"
)

// member is one server and the state that outlives it.
type member struct {
	ensemble *Ensemble
	id       int
	door     *door
	cfg      *config.Config

	mu      sync.Mutex // one action on a server at a time
	disk    *disk      // nil if the data is in a directory
	host    *host
	running atomic.Pointer[server.Server] // changed under mu
	forget  context.CancelFunc            // ends the watch over the running server
}

// prepare makes what a member needs for its first start. It also reserves the member's place on the network, so
// that a server that starts a little earlier waits for it.
func (m *member) prepare(clients map[int]int) {
	m.cfg = m.ensemble.options.config(m.id, clients)
	if m.ensemble.options.Dir == "" {
		m.disk = newDisk(m.id)
	}
	m.host = m.ensemble.network.plug(m.id)
}

func (m *member) status() (st server.Status, up bool) {
	s := m.running.Load()
	if s == nil {
		return st, false
	}
	return s.Status(), true
}

// start brings the server up. It does nothing if it runs.
func (m *member) start() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running.Load() != nil {
		return nil
	}
	first := m.host != nil
	if !first {
		m.host = m.ensemble.network.plug(m.id)
	}
	o := server.Options{
		Log: m.ensemble.options.Log.Named(strconv.Itoa(m.id)), Version: m.ensemble.options.Version,
		Program:  m.ensemble.options.Program,
		DialPeer: m.host.dial, ListenPeer: m.host.listen, ListenClient: m.door.listen,
	}
	fs := vfs.OS()
	if m.disk != nil {
		fs, o.Meta = m.disk.mem, m.disk.mount()
	}
	o.FS = fs
	var err error
	if first && m.ensemble.options.founder(m.id) {
		err = found(fs, m.cfg.DataDir)
	}
	s := server.New(m.cfg, o)
	if err == nil {
		err = s.Start()
	}
	if err != nil {
		m.host.unplug()
		m.host = nil
		return fmt.Errorf("embed: starting server %d: %w", m.id, err)
	}
	m.running.Store(s)
	ctx, cancel := context.WithCancel(context.Background())
	m.forget = cancel
	m.ensemble.watches.Go(func() {
		if s.Wait(ctx) != nil {
			m.failed(s)
		}
	})
	return nil
}

// failed ends a server whose disk has failed, as a process ends. It is not known which of the unsynced data such
// a disk holds.
func (m *member) failed(s *server.Server) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running.Load() != s {
		return
	}
	s.Stop()
	if m.disk != nil {
		m.disk.crash(m.ensemble.draw(), unsyncedSome)
	}
	m.ended()
}

// stop ends the server as an operator does.
func (m *member) stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.running.Load()
	if s == nil {
		return
	}
	s.Stop()
	m.ended()
}

// ended notes that the server is down. REQUIRES: m.mu.
func (m *member) ended() {
	m.running.Store(nil)
	m.forget()
	m.host.unplug()
	m.host = nil
}

// How much unsynced data a disk keeps when a process is killed, in percent.
const unsyncedAll = 100

// kill ends the server abruptly. First it is cut off the network, then its disk is detached: later actions of the
// server have no effect.
func (m *member) kill(unsyncedPercent int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.running.Load()
	if s == nil {
		if m.host != nil { // nil if the server was never started
			m.host.unplug()
			m.host = nil
		}
		return
	}
	m.host.unplug()
	s.CutClients()
	if m.disk != nil {
		m.disk.detach()
	}
	s.Abort()
	if m.disk != nil {
		m.disk.crash(m.ensemble.draw(), unsyncedPercent)
	}
	m.ended()
}

// wipe empties the disk.
func (m *member) wipe() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.running.Load() != nil:
		return fmt.Errorf("embed: wiping server %d: it runs", m.id)
	case m.disk == nil:
		return fmt.Errorf("embed: wiping server %d: its data is in %s, which is not touched", m.id, m.cfg.DataDir)
	}
	m.disk = newDisk(m.id)
	return nil
}

// draw returns a new source of random numbers.
func (e *Ensemble) draw() *rand.Rand {
	e.mu.Lock()
	defer e.mu.Unlock()
	return rand.New(rand.NewPCG(e.rand.Uint64(), 0))
}
