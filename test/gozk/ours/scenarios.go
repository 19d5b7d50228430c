// Package ours is what applications do with the API of go-zookeeper.
package ours

import (
	"time"

	"github.com/seed94657493/warren/client/zk"

	"github.com/seed94657493/warren/test/gozk"
)

// Scenarios are all of them.
var Scenarios = []gozk.Scenario{
	{Name: "znodes", Run: znodes},
	{Name: "kinds", Run: kinds},
	{Name: "boxes", Run: boxes},
	{Name: "paths", Run: paths},
	{Name: "absent", Run: absent},
	{Name: "multi", Run: multi},
	{Name: "acls", Run: acls},
	{Name: "large", Run: large},
	{Name: "watches", Run: watches},
	{Name: "watch-storm", Run: watchStorm},
	{Name: "watches-over-reconnect", Run: watchesOverReconnect},
	{Name: "many-watches-over-reconnect", Run: manyWatchesOverReconnect},
	{Name: "life", Run: life},
	{Name: "callback", Run: callback},
	{Name: "in-flight", Run: inFlight},
	{Name: "no-server", Run: noServer},
	{Name: "refused", Run: refused},
	{Name: "expiry", Run: expiry},
	{Name: "auth-over-reconnect", Run: authOverReconnect},
	{Name: "closing", Run: closing},
	{Name: "dialer", Run: dialer},
	{Name: "host-provider", Run: hostProvider},
	{Name: "dns-host-provider", Run: dnsHostProvider},
	{Name: "connect-errors", Run: connectErrors},
	{Name: "lock", Run: lock},
	{Name: "lock-queue", Run: lockQueue},
	{Name: "lock-of-others", Run: lockOfOthers},
	{Name: "protected", Run: protected},
	{Name: "words", Run: words},
	{Name: "reconfig", Run: reconfig},
	{Name: "names", Run: names},
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
