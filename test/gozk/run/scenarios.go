package main

import (
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/seed94657493/warren/test/gozk"
)

// scenarios are what applications do with the API of go-zookeeper.
var scenarios = []struct {
	name string
	run  func(w *gozk.World)
}{
	{"znodes", znodes},
	{"kinds", kinds},
	{"boxes", boxes},
	{"paths", paths},
	{"absent", absent},
	{"multi", multi},
	{"acls", acls},
	{"large", large},
	{"watches", watches},
	{"watch-storm", watchStorm},
	{"watches-over-reconnect", watchesOverReconnect},
	{"many-watches-over-reconnect", manyWatchesOverReconnect},
	{"life", life},
	{"callback", callback},
	{"in-flight", inFlight},
	{"no-server", noServer},
	{"refused", refused},
	{"expiry", expiry},
	{"auth-over-reconnect", authOverReconnect},
	{"closing", closing},
	{"dialer", dialer},
	{"host-provider", hostProvider},
	{"dns-host-provider", dnsHostProvider},
	{"connect-errors", connectErrors},
	{"lock", lock},
	{"lock-queue", lockQueue},
	{"lock-of-others", lockOfOthers},
	{"protected", protected},
	{"words", words},
	{"reconfig", reconfig},
	{"names", names},
}

// silent drops what a Conn logs.
type silent struct{}

func (silent) Printf(string, ...interface{}) {}

// connect returns a Conn with a session, through the proxy or directly, whose first events have been received.
func connect(w *gozk.World, addr string, timeout time.Duration) (*zk.Conn, <-chan zk.Event) {
	c, events, err := zk.Connect([]string{addr}, timeout, zk.WithLogger(silent{}))
	if err != nil {
		w.Say("connect: %v", err)
		return nil, nil
	}
	until(w, events, zk.StateHasSession)
	return c, events
}

// until receives events up to a state and returns the states.
func until(w *gozk.World, events <-chan zk.Event, last zk.State) (seen []zk.State) {
	for {
		e, open, inTime := gozk.Within(events)
		if !open || !inTime {
			w.Say("no state %v: open %v, in time %v", last, open, inTime)
			return seen
		}
		if e.Type == zk.EventSession {
			seen = append(seen, e.State)
		}
		if e.Type == zk.EventSession && e.State == last {
			return seen
		}
	}
}

// say tells an event of a watch, and whether it was the last.
func say(w *gozk.World, what string, ch <-chan zk.Event) {
	e, open, inTime := gozk.Within(ch)
	w.Say("%s: %v %v %q err %s server %q, open %v, in time %v", what, e.Type, e.State, e.Path, name(e.Err),
		e.Server, open, inTime)
	_, open, inTime = gozk.Within(ch)
	w.Say("%s: then open %v, in time %v", what, open, inTime)
}

// silence tells whether a watch has nothing to say so far.
func silence(w *gozk.World, what string, ch <-chan zk.Event) {
	select {
	case e, open := <-ch:
		w.Say("%s: unexpected %v %q, open %v", what, e.Type, e.Path, open)
	default:
		w.Say("%s: silent", what)
	}
}

// known are the errors that have a name.
var known = map[error]string{
	zk.ErrConnectionClosed: "ErrConnectionClosed", zk.ErrUnknown: "ErrUnknown", zk.ErrAPIError: "ErrAPIError",
	zk.ErrNoNode: "ErrNoNode", zk.ErrNoAuth: "ErrNoAuth", zk.ErrBadVersion: "ErrBadVersion",
	zk.ErrNoChildrenForEphemerals: "ErrNoChildrenForEphemerals", zk.ErrNodeExists: "ErrNodeExists",
	zk.ErrNotEmpty: "ErrNotEmpty", zk.ErrSessionExpired: "ErrSessionExpired", zk.ErrInvalidACL: "ErrInvalidACL",
	zk.ErrInvalidFlags: "ErrInvalidFlags", zk.ErrAuthFailed: "ErrAuthFailed", zk.ErrClosing: "ErrClosing",
	zk.ErrNothing: "ErrNothing", zk.ErrSessionMoved: "ErrSessionMoved", zk.ErrReconfigDisabled: "ErrReconfigDisabled",
	zk.ErrBadArguments: "ErrBadArguments", zk.ErrDeadlock: "ErrDeadlock", zk.ErrNotLocked: "ErrNotLocked",
	zk.ErrUnhandledFieldType: "ErrUnhandledFieldType", zk.ErrPtrExpected: "ErrPtrExpected",
	zk.ErrShortBuffer: "ErrShortBuffer", zk.ErrInvalidPath: "ErrInvalidPath", zk.ErrNoServer: "ErrNoServer",
}

// name tells an error by its name, as a comparison with == finds it, and others by their text.
func name(err error) string {
	if err == nil {
		return "none"
	}
	if n, ok := known[err]; ok {
		return n
	}
	return err.Error()
}

// stat tells what of a Stat does not differ from run to run.
func stat(s *zk.Stat) string {
	if s == nil {
		return "no stat"
	}
	if *s == (zk.Stat{}) {
		return "zero stat"
	}
	return shown{s.Version, s.Cversion, s.Aversion, s.DataLength, s.NumChildren, s.EphemeralOwner != 0,
		s.Mzxid == s.Czxid, s.Pzxid == s.Czxid, s.Ctime > 1e12 && s.Mtime >= s.Ctime}.String()
}

// shown is what of a Stat does not differ from run to run.
type shown struct {
	version, cversion, aversion, length, children int32
	ephemeral, unwritten, childless, hasTimes     bool
}

func (s shown) String() string {
	return fmt.Sprintf("stat of version %d, cversion %d, aversion %d, %d bytes, %d children, ephemeral %v, "+
		"unwritten %v, childless %v, times %v",
		s.version, s.cversion, s.aversion, s.length, s.children, s.ephemeral, s.unwritten, s.childless, s.hasTimes)
}
