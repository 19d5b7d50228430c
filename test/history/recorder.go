package history

import (
	"sync"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/wire"
)

// Recorder records any number of sessions. Its methods may be called concurrently.
type Recorder struct {
	start time.Time

	mu    sync.Mutex
	conns []*Session
}

// NewRecorder starts the clock.
func NewRecorder() *Recorder { return &Recorder{start: time.Now()} }

// Session is a recorded connection.
type Session struct {
	*wire.Conn
	recorder *Recorder

	mu     sync.Mutex // guards what follows
	record Connection
	sent   int
	open   []*Operation // sent and unanswered, in order
	byCall map[*wire.Call]*Operation
	synced *Operation // the last request, if it was a sync
}

// Dial opens a connection of a client. Connections of one client must follow each other.
func (r *Recorder) Dial(client int, addr string, o wire.Options) (*Session, error) {
	s := &Session{recorder: r, byCall: map[*wire.Call]*Operation{}}
	s.record.Client = client
	o.Observe = s.observe
	conn, err := wire.Dial(addr, o)
	if err != nil {
		return nil, err
	}
	s.Conn = conn
	s.record.Session = conn.Session()
	r.mu.Lock()
	r.conns = append(r.conns, s)
	r.mu.Unlock()
	return s, nil
}

// now is the time since the recording began.
func (r *Recorder) now() int64 { return int64(time.Since(r.start)) }

// SendAll sends requests, pipelined, and records them.
func (s *Session) SendAll(reqs ...wire.Request) []*wire.Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	ops := make([]*Operation, len(reqs))
	for i, req := range reqs {
		ops[i] = s.operation(req)
		s.open = append(s.open, ops[i])
	}
	calls := s.Conn.SendAll(reqs)
	for i, call := range calls {
		s.byCall[call] = ops[i]
	}
	return calls
}

// operation describes a request that is about to be sent.
func (s *Session) operation(req wire.Request) *Operation {
	o := &Operation{Client: s.record.Client, Sent: s.sent, Call: s.recorder.now(), Return: Infinity,
		Op: req.Op, Version: -1}
	s.sent++
	switch req.Op {
	case proto.OpCreate:
		var r proto.CreateRequest
		must(r.ReadFrom(req.Body))
		o.Path, o.Data, o.Mode = r.Path.String(), string(r.Data), proto.CreateMode(r.Flags)
	case proto.OpDelete:
		var r proto.DeleteRequest
		must(r.ReadFrom(req.Body))
		o.Path, o.Version = r.Path.String(), r.Version
	case proto.OpSetData:
		var r proto.SetDataRequest
		must(r.ReadFrom(req.Body))
		o.Path, o.Data, o.Version = r.Path.String(), string(r.Data), r.Version
	case proto.OpGetData, proto.OpExists, proto.OpGetChildren:
		var r proto.PathWatchRequest
		must(r.ReadFrom(req.Body))
		o.Path, o.Watch = r.Path.String(), r.Watch
		if s.synced != nil {
			o.Synced, o.Call = true, s.synced.Call
		}
	}
	s.synced = nil
	if req.Op == proto.OpSync {
		s.synced = o
	}
	return o
}

// must holds for requests that package wire encoded.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// observe records one arrival; the connection's reader calls it in order.
func (s *Session) observe(p wire.Packet) {
	now := s.recorder.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.Event != nil {
		s.record.Items = append(s.record.Items, Item{Event: &Event{p.Event.Type, p.Event.Path, p.Event.Zxid}})
		return
	}
	o := s.byCall[p.Call]
	delete(s.byCall, p.Call)
	for i, open := range s.open {
		if open == o {
			s.open = append(s.open[:i], s.open[i+1:]...)
			break
		}
	}
	o.Return, o.Err, o.Zxid = now, p.Call.Reply.Header.Err, p.Call.Reply.Header.Zxid
	switch v := p.Call.Reply.Value.(type) {
	case *proto.StatResponse:
		o.Stat = v.Stat
	case *proto.GetDataResponse:
		o.Data, o.Stat = string(v.Data), v.Stat
	}
	s.record.Items = append(s.record.Items, Item{Operation: o})
}

// History returns what was recorded. Every connection must be over.
func (r *Recorder) History() *History {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := &History{}
	for _, s := range r.conns {
		<-s.Done()
		s.mu.Lock()
		s.record.Unknown = s.open
		h.Connections = append(h.Connections, &s.record)
		s.mu.Unlock()
	}
	return h
}
