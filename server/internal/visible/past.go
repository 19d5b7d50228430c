package visible

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/internal/znodetext"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/rebuild"
)

// Moment is a state in the past: that after a txn, or before the first txn that was made after a time.
type Moment struct {
	Zxid   uint64 // 0 for a time
	TimeMs int64  // ms since 1970
}

// Past is a znode as it was.
type Past struct {
	Zxid     string   `json:"zxid" doc:"last txn of that state"`
	At       int64    `json:"at" doc:"when it was made, ms since 1970; 0 if a snapshot has it and the log does not"`
	Snapshot string   `json:"snapshot" doc:"the file from which the state was brought back"`
	Exists   bool     `json:"exists" doc:"the znode was there; if not, the fields after this one are empty"`
	Znode    Znode    `json:"znode" doc:"the znode"`
	Children Children `json:"children" doc:"a page of its children"`
}

// Bounds of looking at the past.
const (
	// pastBytes is how much memory a state may take, about, and pastTimeout how long it may take to bring it back. A
	// comparison has two states.
	pastBytes, pastTimeout = 256 << 20, time.Minute
	// pastIdle is how long a state is kept for the next page.
	pastIdle = 2 * time.Minute
	// comparedMax is how many znodes are compared.
	comparedMax = 20_000
	// pastData is how many bytes of the data of a znode are shown.
	pastData = 64 << 10
)

// pastPace leaves three quarters of a processor to clients.
var pastPace = rebuild.Pace{Work: 4 * time.Millisecond, Rest: 12 * time.Millisecond}

// travel brings states back, one at a time, and keeps the last one for a while. No lock of the running server is held
// meanwhile: it reads files.
type travel struct {
	mu     sync.Mutex // held while a state is brought back or read
	at     Moment
	replay *rebuild.Replay // nil if none is kept
	drop   *time.Timer
}

// errNeedsAll is told to visitors that may not see all that was.
var errNeedsAll = refusal(http.StatusForbidden, "the past has all znodes: it is shown to the "+
	"super user, and to visitors to which the ACL of / gives every permission by name")

// errPastBusy is told with 429.
var errPastBusy = refusal(http.StatusTooManyRequests, "the past is being looked at by another request: try again")

// begin takes the lock, if the visitor may see all that was.
func (n *Shown) begin(a Actor) error {
	if err := n.needsAll(a, errNeedsAll); err != nil {
		return err
	}
	if !n.past.mu.TryLock() {
		return errPastBusy
	}
	return nil
}

// dirs are the files of the server, up to the last txn that it has applied.
func (n *Shown) dirs() rebuild.Dirs {
	return rebuild.Dirs{FS: n.FS, Snapshots: n.SnapDir(), Log: n.LogDir(), Last: n.Store.LastZxid()}
}

// bring returns the state of a moment.
func bring(ctx context.Context, d rebuild.Dirs, at, from rebuild.Target, s datatree.Sink) (*rebuild.Replay, error) {
	ctx, cancel := context.WithTimeout(ctx, pastTimeout)
	defer cancel()
	r, err := rebuild.At(ctx, d, at, from, rebuild.Limits{Bytes: pastBytes, Pace: pastPace}, s)
	switch {
	case err == nil:
		return r, nil
	case errors.Is(err, rebuild.ErrTooLarge):
		return nil, refusal(http.StatusInsufficientStorage, err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		return nil, refusal(http.StatusInsufficientStorage, "it takes longer than it may")
	case errors.Is(err, rebuild.ErrNoTarget), errors.Is(err, rebuild.ErrGap):
		return nil, refusal(http.StatusGone, "the files of this server do not lead there: "+
			err.Error())
	}
	return nil, err
}

func targetOf(m Moment) rebuild.Target {
	return rebuild.Target{Zxid: proto.Zxid(m.Zxid), TimeMs: m.TimeMs}
}

// Past returns a znode as it was, with a page of its children.
func (n *Shown) Past(ctx context.Context, a Actor, at Moment, path, after string, limit int) (*Past, error) {
	if err := n.begin(a); err != nil {
		return nil, err
	}
	p, d := &n.past, n.dirs()
	defer p.mu.Unlock()
	if at.Zxid > uint64(d.Last) {
		return nil, refusal(http.StatusNotFound, "this server has no such txn yet")
	}
	if p.replay == nil || p.at != at {
		p.replay = nil // it is garbage before the next one comes
		var err error
		if p.replay, err = bring(ctx, d, targetOf(at), rebuild.Target{}, nil); err != nil {
			return nil, err
		}
		p.at = at
	}
	if p.drop != nil {
		p.drop.Stop()
	}
	p.drop = time.AfterFunc(pastIdle, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.replay = nil
	})
	return n.pastZnode(p.replay, path, after, limit), nil
}

func (n *Shown) pastZnode(r *rebuild.Replay, path, after string, limit int) *Past {
	state := r.State
	p := &Past{Zxid: state.LastZxid().String(), At: r.LastTime, Snapshot: r.Snapshot(),
		Znode:    Znode{Path: path, ACL: []znodetext.ACL{}},
		Children: Children{Path: path, Order: "name", Children: []Child{}}}
	id := state.Lookup([]byte(path))
	if id == 0 {
		return p
	}
	st, data := state.Stat(id), state.Data(id)
	p.Exists, p.Znode.Stat = true, n.stat(&st)
	p.Znode.Raw, p.Znode.Whole = slices.Clone(data[:min(len(data), pastData)]), len(data) <= pastData
	p.Znode.ACL = znodetext.ACLs(state.ACLs().List(state.Node(id).ACL))
	p.Children.Total = st.NumChildren
	for _, child := range p.Children.cut(state, namedAfter(state, id, after), limit) {
		p.Children.Children = append(p.Children.Children, n.child(state, child, true))
	}
	return p
}
