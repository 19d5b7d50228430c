package orders

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/seed94657493/warren/internal/answers"
)

// Pause is the least time between two orders of one kind that change something, except for snapshots.
const Pause = time.Second

// Server is the server that is steered. Its methods are called by many goroutines at once, while the server has
// recovered, and perhaps does not serve. An error says why an order cannot be carried out.
type Server interface {
	// Shed ends the connections of percent of the clients, and returns how many it has ended.
	Shed(percent int) int
	// Clients returns how many clients are connected.
	Clients() int
	// Drain lets the server take no more clients and ends the connections that it has, at most rate per second. With
	// rate 0 the server takes clients again. It returns an error if clients have no other server.
	Drain(rate int, dry bool) error
	// Drained tells how far the draining is.
	Drained() answers.Drained
	// HandOver hands the leadership from this server to another one, and waits until that one leads, as far as this
	// server knows. An error says why not, or which one leads.
	HandOver(to int64, dry bool) (answers.HandedOver, error)
	// EndSession ends the session with that id, or with that label of this server, and waits until it has ended.
	EndSession(session string, dry bool) (answers.EndedSession, error)
	// LogLevel tells the level of the log.
	LogLevel() answers.Level
	// SetLogLevel changes the level of the log for a time, 0 for an unlimited one.
	SetLogLevel(level zapcore.Level, last time.Duration) error
	// LastSnapshot tells the newest snapshot.
	LastSnapshot() answers.TakenSnapshot
	// TakeSnapshot writes a snapshot and waits for it.
	TakeSnapshot(ctx context.Context) (answers.TakenSnapshot, error)
}

// Options configure a Executor.
type Options struct {
	// Server is what is steered; nil refuses every order.
	Server Server
	// Log receives every order. nil drops them.
	Log *zap.Logger
	// SnapshotsOff refuses orders for snapshots.
	SnapshotsOff bool
	// SnapshotInterval is the least time between two snapshots; 0 is no limit.
	SnapshotInterval time.Duration
	// Note is told each order that was to change something. nil drops them.
	Note func(Given)
	// Now is the clock; nil is the system's.
	Now func() time.Time
}

// Executor carries out orders, for the admin server and the API alike, logs them, and bounds how often each kind may
// be given. Any goroutine may call its methods.
type Executor struct {
	o         Options
	intervals map[string]*Interval // by the name of a kind
	// Snapshots is the limit for snapshots, whichever command asks for them.
	Snapshots *Interval
	given     given
}

// New returns what carries out the orders of a server.
func New(o Options) *Executor {
	o.Log = cmp.Or(o.Log, zap.NewNop())
	if o.Now == nil {
		o.Now = time.Now
	}
	w := &Executor{o: o, intervals: map[string]*Interval{}, Snapshots: &Interval{Every: o.SnapshotInterval}}
	for _, k := range Kinds() {
		w.intervals[k.Name] = &Interval{Every: Pause}
	}
	return w
}

// Operator is the sender of an order, for the log.
type Operator struct {
	User string // may be empty
	Addr string
	Via  string // the server whose console has passed the order on; empty if it came here
}

// Refusal is why an order was not carried out, with the HTTP status for that.
type Refusal struct {
	Status int
	Err    error
	// After is when the same order may be given again, 0 if that does not depend on time.
	After time.Duration
}

// Error returns the reason.
func (r *Refusal) Error() string { return r.Err.Error() }

// Unwrap returns the reason.
func (r *Refusal) Unwrap() error { return r.Err }

// Order is what an operator wants. It is decoded from JSON.
type Order interface {
	// check returns why the values cannot be meant.
	check() error
	// dry reports whether the order is to change nothing.
	dry() bool
	// done reports whether everything is already as the order wants it. Such an order uses up no turn.
	done(s Server) bool
	// carryOut does what is wanted, and returns the record of the answer.
	carryOut(ctx context.Context, w *Executor) (answer any, err error)
}

// Kind is a kind of orders.
type Kind struct {
	Name    string
	Aliases []string
	About   string
	// New returns an order with its default values, a pointer to a record.
	New func() Order
	// Takes and Gives are zero values of the records of order and answer.
	Takes, Gives any
}

// Decode reads an order. No body is an order with its default values. An unknown field is an error: an operator may
// have meant dry_run.
func (k *Kind) Decode(body io.Reader) (Order, error) {
	o := k.New()
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	err := d.Decode(o)
	if errors.Is(err, io.EOF) {
		return o, nil
	}
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows the object")
		}
	}
	if err != nil {
		//lint:ignore ST1005 the text is ZooKeeper's
		err = fmt.Errorf("Invalid JSON or failed to read request body: %w", err)
		return o, &Refusal{Status: http.StatusBadRequest, Err: err}
	}
	return o, nil
}

// Do carries out an order, and writes one line about it. Orders that change something are written whatever the level
// of the log is. An error is a Refusal.
func (w *Executor) Do(ctx context.Context, k *Kind, o Order, by Operator) (answer any, err error) {
	began := w.o.Now()
	answer, err = w.try(ctx, k, o)
	took := w.o.Now().Sub(began)
	if !o.dry() {
		one := w.given.note(k, o, by, began, took, err)
		if w.o.Note != nil {
			w.o.Note(one)
		}
	}
	facts := []zap.Field{zap.String("command", k.Name), zap.Reflect("request", o), zap.String("client_addr", by.Addr)}
	if by.User != "" {
		facts = append(facts, zap.String("user", by.User))
	}
	if by.Via != "" {
		facts = append(facts, zap.String("via", by.Via))
	}
	if err != nil {
		w.o.Log.Warn("command refused", append(facts, zap.Error(err))...)
		return nil, err
	}
	facts = append(facts, zap.Reflect("answer", answer), zap.Duration("took", took))
	if o.dry() {
		w.o.Log.Debug("an operator's command changes nothing", facts...)
	} else {
		w.o.Log.Log(max(zapcore.InfoLevel, zapcore.LevelOf(w.o.Log.Core())), "command of an operator", facts...)
	}
	return answer, nil
}

func (w *Executor) try(ctx context.Context, k *Kind, o Order) (any, error) {
	if err := o.check(); err != nil {
		return nil, &Refusal{Status: http.StatusBadRequest, Err: err}
	}
	if w.o.Server == nil {
		return nil, &Refusal{Status: http.StatusServiceUnavailable, Err: errors.New("this server takes no orders")}
	}
	turn := w.intervals[k.Name]
	counts := !o.dry() && !o.done(w.o.Server)
	if counts {
		if wait := turn.Wait(w.o.Now()); wait > 0 {
			return nil, tooOften(turn.Every, wait)
		}
	}
	answer, err := o.carryOut(ctx, w)
	var refusal *Refusal
	switch {
	case err == nil:
		return answer, nil
	case counts:
		turn.GiveBack() // it has changed nothing
	}
	if !errors.As(err, &refusal) {
		err = &Refusal{Status: http.StatusConflict, Err: err}
	}
	return nil, err
}

// tooOften is the refusal of an order that comes before its time.
func tooOften(every, wait time.Duration) error {
	return &Refusal{http.StatusTooManyRequests, errors.New("asked too often: at most once in " + every.String()), wait}
}

// Refuse writes the line about an order that could not be decoded, and returns why.
func (w *Executor) Refuse(k *Kind, by Operator, err error) error {
	w.o.Log.Warn("command refused", zap.String("command", k.Name), zap.String("client_addr", by.Addr), zap.Error(err))
	return err
}

// Interval allows an action once in a period. It may be used by any number of goroutines.
type Interval struct {
	Every time.Duration // 0 is no limit
	mu    struct {
		sync.Mutex
		last time.Time
	}
}

// Wait returns how long the action has to wait at now. If it has not, it counts as done.
func (i *Interval) Wait(now time.Time) time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.Every > 0 && !i.mu.last.IsZero() && now.Sub(i.mu.last) < i.Every {
		return i.Every - now.Sub(i.mu.last)
	}
	i.mu.last = now
	return 0
}

// Allow reports whether the action may happen at now; if so it counts as done.
func (i *Interval) Allow(now time.Time) bool { return i.Wait(now) == 0 }

// GiveBack is called after an action that Wait has allowed and that did not happen. The next one may happen at once.
func (i *Interval) GiveBack() {
	i.mu.Lock()
	i.mu.last = time.Time{}
	i.mu.Unlock()
}
