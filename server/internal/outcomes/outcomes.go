// Package outcomes finds out what has become of requests whose clients have lost their connections before the answers.
//
// Each write is a txn in the log, also one that was refused, and names its session and the xid of the request. So the
// log of any server that has applied all that the client has asked for tells what was executed, and what the reply
// was. Source: extensions 2.
//
// A Finder reads files and takes Store.Mu for reading, for a moment at a time. Any goroutine may ask it, and waits for
// the disk. The log is read by a goroutine of its own, "outcomes", which ends when nobody asks. Those that ask while
// it reads wait for the next reading, which is for all of them: after the death of a leader many clients ask at once.
package outcomes

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/seed94657493/warren/internal/sched"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/rebuild"
	"github.com/seed94657493/warren/wal"
)

// Bounds of one reading.
const (
	bytesMax = 1 << 30 // of log files
	timeMax  = 10 * time.Second
	// tailMax is how long the newest txn may be missing in the log: it may be applied before it is written here.
	tailMax = 2 * time.Second
)

var (
	// errNotLogged means that the log does not reach back far enough.
	errNotLogged = errors.New("the log of this server does not begin early enough")
	errSlow      = fmt.Errorf("the log of this server could not be read in %v", timeMax)
)

// Finder finds outcomes in the log of one server.
type Finder struct {
	env *env.Env

	mu      sync.Mutex
	reading bool
	waiting []*question
}

// New returns a Finder. It may be asked when the server has recovered.
func New(e *env.Env) *Finder { return &Finder{env: e} }

// question is what one client asks. What was found is complete when done is open.
type question struct {
	session proto.SessionID
	after   proto.Zxid
	xids    map[int32]bool
	found   []proto.Outcome
	err     error
	done    *sched.Gate
}

// Find returns the outcomes of those requests of a session that were executed. REQUIRES: the server has applied all of
// them, or they never will be; and the caller holds no lock.
func (f *Finder) Find(session proto.SessionID, asked *proto.OutcomesRequest) ([]proto.Outcome, error) {
	q := &question{session: session, after: asked.After, xids: map[int32]bool{}, done: sched.NewGate(f.env.Runtime)}
	for _, xid := range asked.Xids {
		q.xids[xid] = true
	}
	f.mu.Lock()
	f.waiting = append(f.waiting, q)
	mine := !f.reading
	f.reading = true
	f.mu.Unlock()
	if mine && !f.env.Spawn("outcomes", f.read) { // the server stops
		f.read()
	}
	q.done.Wait()
	return q.found, q.err
}

// read reads the log until nobody waits.
func (f *Finder) read() {
	for {
		f.mu.Lock()
		asked := f.waiting
		f.waiting, f.reading = nil, len(asked) > 0
		f.mu.Unlock()
		if len(asked) == 0 {
			return
		}
		f.answer(asked)
		for _, q := range asked {
			q.done.Open()
		}
	}
}

// answer answers questions by one reading.
func (f *Finder) answer(asked []*question) {
	last, logged := f.env.Store.LastZxid(), proto.Zxid(f.env.Store.Logged.Load())
	bySession := map[proto.SessionID][]*question{} // of one that has lost its connection again there may be several
	var after proto.Zxid
	for _, q := range asked {
		switch {
		case len(q.xids) == 0 || q.after >= last: // nothing of it was executed
		case q.after < logged:
			q.err = errNotLogged
		default:
			if len(bySession) == 0 || q.after < after {
				after = q.after
			}
			bySession[q.session] = append(bySession[q.session], q)
		}
	}
	if len(bySession) == 0 {
		return
	}
	if err := f.scan(bySession, after, last); err != nil {
		for _, all := range bySession {
			for _, q := range all {
				q.found, q.err = nil, err
			}
		}
	}
}

// scan reads the log from the txn behind after up to last, which must be in it.
func (f *Finder) scan(bySession map[proto.SessionID][]*question, after, last proto.Zxid) error {
	rt := f.env.Runtime
	began := rt.Elapsed()
	r := rebuild.NewReader(context.Background(), rebuild.Dirs{FS: f.env.FS, Log: f.env.LogDir(), Last: last},
		rebuild.Pace{})
	for ; ; sched.Sleep(rt, 5*time.Millisecond) {
		for _, all := range bySession {
			for _, q := range all {
				q.found = nil
			}
		}
		newest, err := f.files(r, bySession, after, began+timeMax)
		late := rt.Elapsed()-began > tailMax
		switch {
		case err != nil && (late || errors.Is(err, errNotLogged)): // otherwise the end is perhaps being written
			return err
		case err == nil && newest >= last:
			return nil
		case late:
			return fmt.Errorf("the log ends with %v, but %v is applied", newest, last)
		}
	}
}

// files is one reading of the files that have txns behind after, which ends at a time of the runtime. It returns the
// newest txn of them.
func (f *Finder) files(
	r *rebuild.Reader, by map[proto.SessionID][]*question, after proto.Zxid, until time.Duration,
) (proto.Zxid, error) {
	names, err := wal.Names(r.FS, r.Log)
	if err != nil {
		return 0, err
	}
	names = wal.Needed(names, after+1)
	if len(names) == 0 {
		return 0, errNotLogged
	}
	if first, _, _ := wal.FileZxid(names[0]); first > after+1 { // an older file was purged
		return 0, errNotLogged
	}
	left, newest := int64(bytesMax), proto.Zxid(0)
	for _, name := range names {
		info, err := r.FS.Stat(filepath.Join(r.Log, name))
		if err != nil {
			return 0, fmt.Errorf("outcomes: %w", err)
		}
		if left -= info.Size(); left < 0 {
			return 0, errors.New("too much was written since the requests were sent")
		}
		err = r.Scan(name, func(rec *wal.Record) error {
			newest = rec.Zxid
			switch {
			case f.env.Runtime.Elapsed() > until:
				return errSlow
			case rec.Zxid <= after:
				return nil
			}
			return f.record(by, rec.Payload)
		})
		if err != nil {
			return 0, err
		}
	}
	return newest, nil
}

// record notes the outcome of a txn, if it was asked for.
func (f *Finder) record(by map[proto.SessionID][]*question, payload []byte) error {
	in := proto.NewReader(payload)
	var h proto.TxnHeader
	if h.Decode(&in); in.Err() != nil {
		return in.Err()
	}
	for _, q := range by[h.ClientID] {
		if h.Zxid <= q.after || !q.xids[h.Cxid] {
			continue
		}
		a, body := answer{state: f.env.Store, header: &h}, in
		o := proto.Outcome{Xid: h.Cxid, Zxid: h.Zxid}
		if o.Body, o.Err = a.reply(&body); body.Err() != nil {
			return body.Err()
		}
		if o.Err != proto.ErrSessionMoved { // refused because the client was elsewhere: it never had that answer
			q.found = append(q.found, o)
		}
	}
	return nil
}
