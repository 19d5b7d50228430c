package system

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/wire"
)

// load draws what one client asks for.
type load struct {
	s      *scheduler
	id     int
	mean   time.Duration // between two bouts of requests
	bouts  int           // most requests of one bout
	reads  int           // of 100 requests so many read
	steady time.Duration // pauses between requests of a bout are below this; 0 for none
	made   []string      // sequential znodes that the client has created, and not yet deleted
	at     time.Duration // of the next bout
}

// asked is a request, with the watch that it leaves or removes.
type asked struct {
	wire.Request
	path  string
	watch watchKind
}

func newLoad(s *scheduler, id int, o *Options) *load {
	l := &load{s: s, id: id, mean: s.between(5*time.Millisecond, 100*time.Millisecond), bouts: 1 + s.rng.IntN(10),
		reads: 30 + s.rng.IntN(50)}
	if s.chance(12) || o.Busy { // there are always many requests on their way
		l.bouts, l.reads, l.steady = 30, s.rng.IntN(50), 2*time.Millisecond
	}
	if o.Idle {
		l.mean, l.bouts, l.reads, l.steady = s.between(50*time.Millisecond, 300*time.Millisecond), 1, 97, 0
	}
	return l
}

// pause is how long until the next bout.
func (l *load) pause() time.Duration {
	if l.at <= l.s.now {
		l.at = l.s.now + l.s.between(0, 2*l.mean)
	}
	return l.at - l.s.now
}

// due reports whether it is time for a bout.
func (l *load) due() bool { return l.at <= l.s.now }

func (l *load) burst() int {
	if l.s.chance(70) {
		return 0
	}
	return l.s.rng.IntN(l.bouts)
}

// path draws one of some dozen paths, on three levels.
func (l *load) path() string {
	n := l.s.rng.IntN(100)
	if len(l.made) > 0 && n < 15 {
		return l.made[l.s.rng.IntN(len(l.made))]
	}
	path := fmt.Sprintf("/%c", 'a'+rune(l.s.rng.IntN(4)))
	for ; n > 40; n -= 30 {
		path += fmt.Sprintf("/%c", 'p'+rune(l.s.rng.IntN(3)))
	}
	return path
}

// draw returns a request.
func (l *load) draw(s *session) asked {
	if l.s.chance(l.reads) {
		return l.read(s)
	}
	return asked{Request: l.write()}
}

func (l *load) read(s *session) asked {
	path, watched := l.path(), l.s.chance(30)
	a := asked{path: path}
	leave := func(k watchKind) {
		if watched {
			a.watch = k
		}
	}
	switch n := l.s.rng.IntN(100); {
	case n < 25:
		a.Request = wire.GetData(path, watched)
		leave(dataWatch)
	case n < 40:
		a.Request = wire.Exists(path, watched)
		leave(dataWatch)
	case n < 50:
		a.Request = wire.GetChildren(path, watched)
		leave(childWatch)
	case n < 60:
		a.Request = wire.GetChildren2(path, watched)
		leave(childWatch)
	case n < 64:
		a.Request = wire.GetACL(path)
	case n < 68:
		a.Request = wire.GetAllChildrenNumber(path)
	case n < 72:
		a.Request = wire.MultiRead(wire.GetData(path, false), wire.GetChildren(l.path(), false))
	case n < 82:
		a.Request = wire.Sync(path)
	case n < 86:
		a.Request, a.watch = wire.AddWatch(path, proto.AddWatchPersistent), persistentWatch
	case n < 90:
		a.Request, a.watch = wire.AddWatch(path, proto.AddWatchPersistentRecursive), recursiveWatch
	case n < 94:
		t := proto.WatcherType(1 + l.s.rng.IntN(5))
		a.Request = wire.RemoveWatches(path, t)
		a.watch = map[proto.WatcherType]watchKind{proto.WatcherChildren: childWatch, proto.WatcherData: dataWatch,
			proto.WatcherPersistent: persistentWatch, proto.WatcherPersistentRecursive: recursiveWatch}[t]
	default:
		a.Request = wire.GetData(path, false)
	}
	return a
}

// write draws a write. Most are possible: what is created is deleted again.
func (l *load) write() wire.Request {
	switch n := l.s.rng.IntN(100); {
	case n < 8:
		return l.multi()
	case n < 12:
		return wire.SetACL(l.path(), l.acl(), l.version())
	}
	return l.single()
}

// single draws a write that may be a part of a multi.
func (l *load) single() wire.Request {
	path := l.path()
	switch n := l.s.rng.IntN(100); {
	case n < 18:
		return wire.Create(path, l.data(), l.acl(), proto.ModePersistent)
	case n < 26:
		return wire.Create2(path, l.data(), l.acl(), proto.ModeEphemeral)
	case n < 34:
		return wire.Create(path+"/n-", l.data(), l.acl(), proto.ModePersistentSequential)
	case n < 42:
		return wire.Create2(path+"/e-", l.data(), l.acl(), proto.ModeEphemeralSequential)
	case n < 46:
		return wire.CreateContainer(path, l.data(), l.acl())
	case n < 50:
		return wire.CreateTTL(path, l.data(), l.acl(), proto.ModePersistentTTL, 1+l.s.rng.Int64N(3000))
	case n < 78:
		return wire.Delete(path, l.version())
	}
	return wire.SetData(path, l.data(), l.version())
}

func (l *load) multi() wire.Request {
	var ops []wire.Request
	for range 1 + l.s.rng.IntN(4) {
		if l.s.chance(15) {
			ops = append(ops, wire.Check(l.path(), l.version()))
			continue
		}
		ops = append(ops, l.single())
	}
	return wire.Multi(ops...)
}

func (l *load) version() int32 {
	if l.s.chance(80) {
		return -1
	}
	return int32(l.s.rng.IntN(3))
}

func (l *load) data() []byte {
	n := l.s.rng.IntN(24)
	if l.s.chance(2) {
		n = l.s.rng.IntN(20_000)
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('0' + l.s.rng.IntN(10))
	}
	return b
}

// acl is mostly open. The others are for clients that have authenticated.
func (l *load) acl() []proto.ACL {
	switch n := l.s.rng.IntN(100); {
	case n < 4:
		return wire.ACL(proto.PermAll, "auth", "")
	case n < 8:
		return append(wire.ACL(proto.PermRead|proto.PermCreate|proto.PermDelete, "world", "anyone"),
			wire.ACL(proto.PermAll, "auth", "")...)
	}
	return wire.OpenACL
}

// madeMax is how many sequential znodes a client remembers.
const madeMax = 20

// learn takes the reply to a write.
func (l *load) learn(r *request, it *item) {
	if it.err != proto.OK || r.op != proto.OpCreate && r.op != proto.OpCreate2 {
		return
	}
	var created proto.CreateResponse
	rd := proto.NewReader(it.body)
	created.Decode(&rd)
	path := string(created.Path)
	if !strings.Contains(path, "-") {
		return
	}
	if len(l.made) < madeMax {
		l.made = append(l.made, path)
		return
	}
	l.made[l.s.rng.IntN(madeMax)] = path
}
