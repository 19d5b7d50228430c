package facts

import (
	"sync/atomic"
	"time"

	"github.com/seed94657493/warren/server/internal/durable"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/host"
	"github.com/seed94657493/warren/server/internal/serve"
)

// Facts are what a server knows of itself, for operators. They hide nothing: what the reader may know is decided by
// the caller, or by package visible. Any goroutine may ask.
type Facts struct {
	*env.Env
	disk  *durable.Disk
	front *serve.Front
	host  *host.Host
	// Role returns the present role of this member of an ensemble. ok is false on a standalone server and before
	// recovery.
	Role      func() (r host.QuorumRole, ok bool)
	traceMask atomic.Int64
	liveness  *env.Liveness
	backups   backupLooks
}

// traceMaskDefault is ZooKeeper's default: requests, server packets, sessions and warnings. Source: operations 7.2.
const traceMaskDefault = 306

// New returns the facts of a server. Most of them exist once the server has recovered.
func New(e *env.Env, d *durable.Disk, f *serve.Front, h *host.Host) *Facts {
	s := &Facts{Env: e, disk: d, front: f, host: h, Role: h.RoleNow}
	s.liveness = env.NewLiveness(e, s.takeLocks)
	s.traceMask.Store(traceMaskDefault)
	return s
}

// takeLocks returns when it has had each of the locks that requests of clients take.
func (f *Facts) takeLocks() {
	f.host.Ended()
	f.Store.LockedZxid()
	f.front.ProbeLocks()
	f.Tracker.Locals()
}

// Stalled returns for how long clients have waited for the server itself, 0 if that is not too long. It returns soon.
func (f *Facts) Stalled() time.Duration { return f.liveness.Stalled() }

// Mode is the role as the words srvr and stat show it: standalone, leader, follower, observer, looking or read-only.
func (f *Facts) Mode() string { return f.host.Mode() }

// Decides reports whether this server decides when sessions expire: a leader, and a standalone server.
func (f *Facts) Decides() bool { return f.host.Rules() }

// NotServing is the answer to words and commands that need a serving server, in its absence. Source: operations 2.2.
const NotServing = "This ZooKeeper instance is not currently serving requests"

// Serving reports whether the server is in service: it serves clients, or leads and leaves them to the others.
func (f *Facts) Serving() bool { return f.Doors.InService() }

// TakesClients reports whether clients are served.
func (f *Facts) TakesClients() bool { return f.Doors.IsOpen() }

// ReadOnly reports whether only read-only clients are served.
func (f *Facts) ReadOnly() bool { return f.Env.ReadOnly.Load() }

// TraceMask returns the mask that the word stmk sets. It has no effect.
func (f *Facts) TraceMask() int64 { return f.traceMask.Load() }

// SetTraceMask replaces it.
func (f *Facts) SetTraceMask(mask int64) { f.traceMask.Store(mask) }

// SessionIDsOpen reports whether a client that knows the id of a session can take the session over.
func (f *Facts) SessionIDsOpen() bool { return f.front.SessionIDsOpen() }

// Draining reports whether the server takes no more clients, because an operator drains it.
func (f *Facts) Draining() bool {
	_, on := f.front.Draining()
	return on
}
