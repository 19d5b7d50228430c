package orders

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/internal/answers"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/durable"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/host"
	"github.com/seed94657493/warren/server/internal/serve"
	"github.com/seed94657493/warren/zab"
)

// Live is the Server that runs. Any goroutine may call its methods. It has no state but the level of the log and
// whether a restore is in progress.
type Live struct {
	*env.Env
	disk  *durable.Disk
	front *serve.Front
	host  *host.Host
	level levelDial

	restoring sync.Mutex // held during Restore, which refuses to wait for it
}

// NewLive returns a server that is steered. level is the one of the log; nil if operators may not change it.
func NewLive(e *env.Env, d *durable.Disk, f *serve.Front, m *host.Host, level *zap.AtomicLevel) *Live {
	return &Live{Env: e, disk: d, front: f, host: m, level: levelDial{level: level, log: e.Log}}
}

// Close ends a change of the level of the log, since a program may go on without the server.
func (n *Live) Close() { n.level.close() }

var _ Server = (*Live)(nil)

func (n *Live) Shed(percent int) int { return n.front.Shed(percent) }

func (n *Live) Clients() int { return n.front.Clients() }

// errNoOtherServer is why a server is not drained.
var errNoOtherServer = errors.New("clients have no other server: this one is not a member of an ensemble that serves")

func (n *Live) Drain(rate int, dry bool) error {
	switch r, ok := n.host.RoleNow(); {
	case rate == 0 && dry:
	case rate == 0:
		n.front.Undrain()
	case !ok || r.ReadOnly || len(n.Membership().Members) < 2:
		return errNoOtherServer
	case dry:
	default:
		n.front.Drain(rate)
	}
	return nil
}

func (n *Live) Drained() answers.Drained {
	rate, on := n.front.Draining()
	return answers.Drained{Draining: on, Clients: n.front.Clients(), Rate: rate}
}

const (
	// orderWait is how long a handover, or the end of a session, may take. An election, if there is one after all,
	// takes less in most cases.
	orderWait = 10 * time.Second
	// orderPause is the time between two looks whether an order is carried out.
	orderPause = 2 * time.Millisecond
)

// awaitOrder waits until done reports true, and returns false if that takes too long.
func awaitOrder(done func() bool) bool {
	for began := time.Now(); !done(); time.Sleep(orderPause) {
		if time.Since(began) > orderWait {
			return false
		}
	}
	return true
}

func (n *Live) HandOver(to int64, dry bool) (answers.HandedOver, error) {
	heir, began := proto.ServerID(to), time.Now()
	h := answers.HandedOver{From: int64(n.host.ID), To: to, Leader: int64(n.host.ID)}
	if !n.Config.Distributed() {
		return h, errNotLeading
	}
	epoch := n.host.View.Load().Epoch
	err := n.host.HandOverTo(heir, dry)
	switch v := n.host.View.Load(); {
	case errors.Is(err, zab.ErrNotLeading) && v.Serving && v.Leader == heir:
		h.From, h.Leader = to, to // it was done before
		return h, nil
	case errors.Is(err, zab.ErrNotLeading) && v.Serving && v.Leader >= 0 && v.Leader != n.host.ID:
		return h, fmt.Errorf("this server does not lead: ask server %d, which does", v.Leader)
	case errors.Is(err, zab.ErrNotLeading):
		return h, errNotLeading
	case err != nil || dry || heir == n.host.ID:
		return h, err
	}
	awaitOrder(func() bool {
		v := n.host.View.Load()
		ended := v.Serving && (v.State != zab.Leading || v.Epoch != epoch)
		if ended {
			h.Leader = int64(v.Leader)
		}
		return ended
	})
	h.TookMs = time.Since(began).Milliseconds()
	if h.Leader != to {
		return h, fmt.Errorf("server %d does not lead: it did not answer in time, or has failed", to)
	}
	return h, nil
}

var errNotLeading = errors.New("this server does not lead, or it hands over already")

var (
	errUnknownSession = errors.New("there is no session with this id, nor with this label of this server: it has " +
		"ended, or the label is that of another server")
	errSessionStays = errors.New("the session has not ended yet: the leader did not answer in time")
)

func (n *Live) EndSession(session string, dry bool) (ended answers.EndedSession, err error) {
	id, ok := n.sessionOf(session)
	if !ok {
		return ended, errUnknownSession
	}
	ended.Label = n.front.Labels.Text(id)
	n.Store.Mu.RLock()
	ended.TimeoutMs, _ = n.Store.State.Session(id)
	ended.Ephemerals = n.Store.State.FirstEphemerals(id, 0, func(datatree.NodeID) {})
	n.Store.Mu.RUnlock()
	n.front.Conns.Each(func(c *serve.Conn) {
		if s := c.Session.Load(); s != nil && s.ID == id {
			ended.Client, ended.TimeoutMs = c.Remote.String(), s.TimeoutMs()
		}
	})
	if dry {
		return ended, nil
	}
	if err := n.host.EndSession(id); err != nil {
		return ended, err
	}
	if !awaitOrder(func() bool { return !n.lives(id) }) {
		return ended, errSessionStays
	}
	ended.Ended = true
	return ended, nil
}

// lives reports whether there is a session with an id, as far as this server has applied txns.
func (n *Live) lives(id proto.SessionID) bool {
	n.Store.Mu.RLock()
	_, lives := n.Store.State.Session(id)
	n.Store.Mu.RUnlock()
	return lives || n.Tracker.HasLocal(id)
}

// sessionOf finds the session that a text names: by its id, in the forms of answers and of snapshots, or by one of its
// labels. The HMACs of many sessions are made without a lock.
func (n *Live) sessionOf(name string) (proto.SessionID, bool) {
	number, err := strconv.ParseUint(name, 0, 64)
	if err != nil {
		if signed, signedErr := strconv.ParseInt(name, 10, 64); signedErr == nil {
			number, err = uint64(signed), nil
		}
	}
	if id := proto.SessionID(number); err == nil && n.lives(id) {
		return id, true
	}
	n.Store.Mu.RLock()
	all := n.Store.State.SessionIDs()
	n.Store.Mu.RUnlock()
	n.front.Conns.Each(func(c *serve.Conn) {
		if s := c.Session.Load(); s != nil && s.IsLocal() {
			all = append(all, s.ID)
		}
	})
	for _, id := range all {
		if err == nil && n.front.Labels.Number(id) == proto.SessionID(number) || n.front.Labels.Text(id) == name {
			return id, true
		}
	}
	return 0, false
}

func (n *Live) LogLevel() answers.Level { return n.level.view(zapcore.LevelOf(n.Log.Core())) }

func (n *Live) SetLogLevel(level zapcore.Level, last time.Duration) error {
	return n.level.set(level, last)
}

func (n *Live) LastSnapshot() (t answers.TakenSnapshot) {
	all, err := n.disk.Snaps.List()
	if err != nil || len(all) == 0 {
		return t
	}
	t.Zxid, t.Bytes, t.Txns = all[0].Zxid.String(), all[0].Size, -1
	if last := n.Store.LastZxid(); last.Epoch() == all[0].Zxid.Epoch() {
		t.Txns = max(0, int64(last)-int64(all[0].Zxid))
	}
	return t
}

func (n *Live) TakeSnapshot(ctx context.Context) (t answers.TakenSnapshot, err error) {
	d := n.disk.Snapshotter.Order(ctx)
	if d.Err != nil {
		return t, d.Err
	}
	_ = d.File.Close() // it was only read
	t = n.LastSnapshot()
	t.Taken = true
	return t, nil
}
