package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/seed94657493/warren/server/internal/limits"
	"github.com/seed94657493/warren/server/internal/visible"
)

// Bounds of streams of changes.
const (
	// streamsMax is how many streams are open, and streamsEach how many of one address.
	streamsMax, streamsEach = 32, 8
	// streamsInARow is how many streams an address may begin in a row, and streamEvery how long it takes until it may
	// begin one more; with All, of all addresses together. Each stream is a session, which costs the ensemble 2 txns.
	streamsInARow, streamEvery       = 20, 5 * time.Second
	streamsInARowAll, streamEveryAll = 100, time.Second
	// queueMax is how many changes wait for a visitor. A visitor that is slower is cut off, and begins anew.
	queueMax = 1024
	// streamLife ends a stream: a browser opens it again, with the login that it has then.
	streamLife = 30 * time.Minute
	// beatEvery is how often something is sent, so that a proxy does not take the stream for dead.
	beatEvery = 10 * time.Second
)

// streams counts the open streams, and how often one begins. Any goroutine may use it.
type streams struct {
	begun, begunByAll *limits.Attempts
	mu                struct {
		sync.Mutex
		all  int
		open map[netip.Addr]int
	}
}

func (s *streams) take(addr netip.Addr) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.all >= streamsMax || s.mu.open[addr] >= streamsEach {
		return false
	}
	s.mu.all++
	s.mu.open[addr]++
	return true
}

// mayBegin reports whether addr may begin a stream now, and counts it.
func (s *streams) mayBegin(addr netip.Addr, now time.Time) bool {
	if !s.begun.Take(addr, now) {
		return false
	}
	if !s.begunByAll.Take(netip.Addr{}, now) {
		s.begun.GiveBack(addr)
		return false
	}
	return true
}

func (s *streams) giveBack(addr netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.all--
	if s.mu.open[addr]--; s.mu.open[addr] == 0 {
		delete(s.mu.open, addr)
	}
}

// Errors that end a stream.
var (
	errSlow        = errors.New("the reader is too slow")
	errStreamLife  = errors.New("the stream was open for long enough")
	errLoginOver   = errors.New("the login has ended")
	errManyStreams = refusal(http.StatusTooManyRequests, "too many streams of changes are open")
	errOftenBegun  = &Refusal{Status: http.StatusTooManyRequests, After: time.Minute,
		Text: "streams of changes are begun too often: wait a minute"}
)

// changes answers with the changes at and below a path as server-sent events.
func (a *API) changes(w http.ResponseWriter, r *http.Request, v *Visitor) error {
	q := queryOf(r, v)
	path := q.path()
	if q.err != nil {
		return q.err
	}
	if r.Method == http.MethodHead {
		return refusal(http.StatusMethodNotAllowed, "a stream is fetched with GET")
	}
	if !a.streams.take(v.Remote.Addr()) {
		return errManyStreams
	}
	defer a.streams.giveBack(v.Remote.Addr())
	if !a.streams.mayBegin(v.Remote.Addr(), a.o.Now()) {
		return errOftenBegun
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer time.AfterFunc(streamLife, func() { cancel(errStreamLife) }).Stop()
	if v.login != nil {
		defer context.AfterFunc(v.login.over, func() { cancel(errLoginOver) })()
	}
	queue, over := make(chan Happening, queueMax), make(chan error, 1)
	go func() {
		over <- a.o.Server.Follow(ctx, v.Actor, path, func(h Happening) bool {
			select {
			case queue <- h:
				return true
			default:
				cancel(errSlow)
				return false
			}
		})
	}()
	select {
	case <-queue: // the stream begins
	case err := <-over:
		if len(queue) == 0 {
			return cmp.Or(err, visible.ErrNotServing)
		}
		<-queue // it has begun, and has ended at once
		over <- err
	}
	s := eventStream{w: w, control: http.NewResponseController(w)}
	s.begin()
	err := s.send("ready", struct{}{})
	if err == nil {
		err = s.run(ctx, queue, over)
	}
	cancel(err)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	end := ended{"the server ends the stream"}
	if err != nil {
		end.Reason = err.Error()
	}
	_ = s.send("end", end) // the visitor may have gone
	return nil
}

// ended is the data of the last event of a stream.
type ended struct {
	Reason string `json:"reason"`
}

// eventStream writes server-sent events. The visitor must take each of them within answerTimeout. Owned by the
// goroutine that answers the request.
type eventStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

func (s *eventStream) begin() {
	_ = s.control.SetReadDeadline(time.Time{}) // the time for the request must not end the answer
	s.w.Header().Set("Content-Type", "text/event-stream")
	s.w.Header().Set("X-Accel-Buffering", "no") // a proxy must pass each event on at once
	s.w.WriteHeader(http.StatusOK)
}

// run sends events until the stream ends, and returns why if that is known.
func (s *eventStream) run(ctx context.Context, queue <-chan Happening, over <-chan error) error {
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for {
		var err error
		select {
		case h := <-queue:
			err = s.send("change", h)
		case <-beat.C:
			err = s.put(": \n\n")
		case err := <-over:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
		if err != nil {
			return err
		}
	}
}

// send writes one event. JSON has no line ends, so that data is one line.
func (s *eventStream) send(event string, record any) error {
	text, err := json.Marshal(record)
	if err != nil {
		return err
	}
	return s.put(fmt.Sprintf("event: %s\ndata: %s\n\n", event, text))
}

func (s *eventStream) put(text string) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(answerTimeout)) // some writers have no deadline
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.control.Flush()
}
