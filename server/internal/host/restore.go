package host

import (
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/datadir"
	"github.com/seed94657493/warren/server/internal/durable"
	"github.com/seed94657493/warren/snapshot"
)

// ErrCannotRestore means that the state of this server cannot be replaced now.
var ErrCannotRestore = errors.New(
	"server: cannot replace the state now: the server is stopping, or another restore is in progress")

// Restore replaces the state of a standalone server, and returns the last zxid of the new state. It returns when
// the server serves again.
func (h *Host) Restore(loader *datatree.Loader, trailer snapshot.Trailer) (proto.Zxid, error) {
	re := &restoration{h: h, loader: loader, trailer: trailer, done: make(chan error, 1)}
	if !h.Do(re.begin) {
		return 0, ErrCannotRestore
	}
	select {
	case err := <-re.done:
		return re.zxid, err
	case <-h.Applied.Done(): // the server has stopped first
		return 0, durable.ErrStopping
	}
}

// restoration replaces the state of a standalone server by a received one. The service ends when all requests
// received before are finished. Then the journal replaces the database, and the service begins again.
type restoration struct {
	h       *Host
	loader  *datatree.Loader
	trailer snapshot.Trailer
	began   time.Time
	zxid    proto.Zxid
	done    chan error
}

// begin runs in the host goroutine.
func (re *restoration) begin() {
	a, ok := re.h.core.(*alone)
	idle := func() { // behind the txns that are on their way to the state
		re.h.applier.Do(func() { re.h.journal.Call(func() { re.replace(a) }) })
	}
	if !ok || !a.Pause(idle) {
		re.done <- ErrCannotRestore
		return
	}
	re.began = re.h.Clock.Steady()
	re.h.again = true
}

// replace runs in the journal goroutine while nothing is on its way to the log or to the state.
func (re *restoration) replace(a *alone) {
	h := re.h
	re.zxid = h.Store.LastZxid()
	state, err := re.install()
	if err == nil {
		re.zxid = state.LastZxid()
		h.applier.Swap(state)
	}
	h.Do(func() {
		h.opening.then = func() { re.done <- err }
		a.Resume(re.zxid)
	})
	if err == nil {
		h.Log.Info("restored a snapshot", zap.Stringer("zxid", re.zxid), zap.Int("znodes", state.NumNodes()),
			zap.Duration("took", h.Clock.Steady().Sub(re.began)))
	}
}

// install makes the state durable as a snapshot that is newer than the whole log, so that a restart recovers the
// same state. It begins a new history; see package datadir.
func (re *restoration) install() (*datatree.State, error) {
	last := max(re.trailer.LastZxid, re.trailer.DigestZxid)
	state, err := re.loader.Done(last)
	if err != nil {
		return nil, err
	}
	if re.trailer.HasDigest && re.trailer.DigestVersion == proto.DigestVersion && re.trailer.Digest != state.Digest() {
		re.h.Log.Warn("the snapshot was taken during writes: znodes that they created are missing from it")
	}
	origin := datadir.Origin{Ensemble: re.trailer.Ensemble, Last: last, Digest: state.Digest()}
	return state, re.h.journal.BeginAnew(state, origin)
}
