package embed

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/history"
	"github.com/seed94657493/warren/test/wire"
)

// chaosClient is one session after the other, each of which moves between servers.
type chaosClient struct {
	*chaos
	rand     *rand.Rand
	number   int
	id       proto.SessionID // of the present session; guarded by chaos.mu
	session  *history.Session
	serial   int
	versions map[string]int32 // of the registers, as last seen
	mine     []string         // its ephemerals, of all sessions
}

// replyTimeout is how long a client waits for a reply before it tries another server.
const replyTimeout = 700 * time.Millisecond

func (k *chaosClient) run() {
	for k.over.Err() == nil {
		if k.session == nil {
			if !k.begin() {
				return
			}
		}
		err := k.burst()
		if err == nil && k.rand.IntN(60) == 0 {
			err = errOver // to another server, while the old connection lives
		}
		if err != nil && !k.move(err) {
			return
		}
		k.pause()
	}
	// The outcome of the last session must be known: it goes on once more.
	for err := errOver; err != nil && k.session != nil; {
		if !k.move(err) {
			return
		}
		if k.session != nil {
			err = k.session.SendAll(wire.Sync("/"))[0].Wait()
		}
	}
	if k.session != nil {
		k.session.Close()
	}
}

func (k *chaosClient) breach(format string, args ...any) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.broken = append(k.broken, fmt.Sprintf(format, args...))
}

// pause keeps the histories small enough to judge.
func (k *chaosClient) pause() {
	timer := time.NewTimer(time.Duration(k.rand.IntN(4000)) * time.Microsecond)
	defer timer.Stop()
	<-timer.C
}

// begin opens a new session somewhere.
func (k *chaosClient) begin() bool {
	k.number = k.chaos.number()
	k.versions = map[string]int32{}
	o := wire.Options{TimeoutMs: 60_000, Reply: replyTimeout}
	if k.rand.IntN(5) == 0 {
		o.TimeoutMs = 300 // may expire at any time
	}
	if k.connect(o) != nil {
		return false
	}
	if o.TimeoutMs < 1000 {
		k.mu.Lock()
		k.hunted[k.id] = true
		k.expired = append(k.expired, k.id)
		k.mu.Unlock()
	}
	return true
}

// connect tries servers until one takes the session, or says that it is over.
func (k *chaosClient) connect(o wire.Options) error {
	for k.finish.Err() == nil {
		addr := k.e.Addr(1 + k.rand.IntN(len(k.e.members)))
		s, err := k.recorder.Dial(k.number, addr, o)
		if err == nil || errors.Is(err, wire.ErrRejected) {
			k.mu.Lock()
			k.session, k.id = s, 0
			if err == nil {
				k.id = s.Session()
			}
			k.mu.Unlock()
			return err
		}
		var v *wire.Violation
		if errors.As(err, &v) {
			k.breach("client %d: %v", k.number, err)
			return err
		}
		k.pause()
	}
	k.breach("client %d: no server", k.number)
	return errOver
}

// move continues the session at another server. Sometimes the old connection lives until the new one stands, and
// sends a last word.
func (k *chaosClient) move(err error) bool {
	var v *wire.Violation
	if errors.As(err, &v) {
		k.breach("client %d: %v", k.number, err)
		return false
	}
	old := k.session
	k.versions = map[string]int32{}
	o := old.Resume()
	if err != errOver {
		old.Close()
	}
	id := old.Session()
	err = k.connect(o)
	old.Close()
	switch {
	case errors.Is(err, wire.ErrRejected):
		if !k.wasHunted(id) {
			k.breach("client %d: session %v was lost", k.number, id)
		}
		k.session = nil
		return true
	case err != nil:
		return false
	}
	return true
}

// burst sends up to three requests at once and waits for them.
func (k *chaosClient) burst() error {
	var reqs []wire.Request
	for range 1 + k.rand.IntN(3) {
		reqs = append(reqs, k.requests()...)
	}
	var failed error
	for _, call := range k.session.SendAll(reqs...) {
		if err := call.Wait(); err != nil {
			return err
		}
		if code := call.Reply.Header.Err; code == proto.ErrSessionExpired || code == proto.ErrSessionMoved {
			failed = code
		}
		k.learn(call)
	}
	return failed
}

func (k *chaosClient) requests() []wire.Request {
	k.serial++
	path := registerPath(k.rand.IntN(chaosRegisters))
	data := fmt.Appendf(nil, "%d-%d", k.number, k.serial)
	version := int32(-1)
	if seen, ok := k.versions[path]; ok && k.rand.IntN(3) > 0 {
		version = seen
	}
	watch := k.rand.IntN(2) == 0
	switch k.rand.IntN(13) {
	case 0, 1:
		return []wire.Request{wire.Create(path, data, wire.OpenACL, 0)}
	case 2:
		return []wire.Request{wire.Delete(path, version)}
	case 3, 4, 5:
		return []wire.Request{wire.SetData(path, data, version)}
	case 6, 7:
		return []wire.Request{wire.Sync(path), wire.GetData(path, watch)}
	case 8:
		return []wire.Request{wire.GetData(path, watch)}
	case 9:
		return []wire.Request{wire.Exists(path, watch)}
	case 10:
		return []wire.Request{wire.GetChildren("/reg", watch)}
	case 11:
		own := fmt.Sprintf("/eph/c%d-%d", k.number, k.serial)
		k.mine = append(k.mine, own)
		return []wire.Request{wire.Create(own, data, wire.OpenACL, proto.ModeEphemeral)}
	}
	if len(k.mine) == 0 {
		return []wire.Request{wire.Ping()}
	}
	own := k.mine[k.rand.IntN(len(k.mine))]
	if k.rand.IntN(4) == 0 {
		return []wire.Request{wire.Delete(own, -1)}
	}
	return []wire.Request{wire.Exists(own, watch)}
}

// learn keeps the versions that replies show.
func (k *chaosClient) learn(call *wire.Call) {
	if call.Reply.Header.Err != proto.OK {
		return
	}
	r := proto.NewReader(call.Request.Body)
	switch v := call.Reply.Value.(type) {
	case *proto.StatResponse:
		k.versions[r.Text().String()] = v.Stat.Version
	case *proto.GetDataResponse:
		k.versions[r.Text().String()] = v.Stat.Version
	case *proto.CreateResponse:
		k.versions[v.Path.String()] = 0
	}
}
