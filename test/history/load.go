package history

import (
	"fmt"
	"math/rand/v2"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/wire"
)

// Register is the path of a znode that all clients write. The parents of all paths of a Load, /reg and /eph, must
// exist.
func Register(i int) string { return fmt.Sprintf("/reg/r%d", i) }

// Load draws what one client asks for: changes and reads of a few registers, with and without watches, and ephemerals
// of its own. It is for one goroutine.
type Load struct {
	Rand      *rand.Rand
	Client    int      // its number
	Registers int      // how many there are
	Mine      []string // the ephemerals that it has asked for

	serial   int
	versions map[string]int32 // of the registers, as last seen
}

// Burst returns the requests of one to three steps, to be sent at once.
func (l *Load) Burst() (reqs []wire.Request) {
	for range 1 + l.Rand.IntN(3) {
		reqs = append(reqs, l.step()...)
	}
	return reqs
}

func (l *Load) step() []wire.Request {
	l.serial++
	path := Register(l.Rand.IntN(l.Registers))
	data := fmt.Appendf(nil, "%d-%d", l.Client, l.serial)
	version := int32(-1)
	if seen, ok := l.versions[path]; ok && l.Rand.IntN(3) > 0 {
		version = seen
	}
	watch := l.Rand.IntN(2) == 0
	switch l.Rand.IntN(13) {
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
		own := fmt.Sprintf("/eph/c%d-%d", l.Client, l.serial)
		l.Mine = append(l.Mine, own)
		return []wire.Request{wire.Create(own, data, wire.OpenACL, proto.ModeEphemeral)}
	}
	if len(l.Mine) == 0 {
		return []wire.Request{wire.Ping()}
	}
	own := l.Mine[l.Rand.IntN(len(l.Mine))]
	if l.Rand.IntN(4) == 0 {
		return []wire.Request{wire.Delete(own, -1)}
	}
	return []wire.Request{wire.Exists(own, watch)}
}

// Learn keeps the versions that a reply shows, for the conditions of later steps.
func (l *Load) Learn(call *wire.Call) {
	if call.Reply.Header.Err != proto.OK {
		return
	}
	if l.versions == nil {
		l.versions = map[string]int32{}
	}
	r := proto.NewReader(call.Request.Body)
	switch v := call.Reply.Value.(type) {
	case *proto.StatResponse:
		l.versions[r.Text().String()] = v.Stat.Version
	case *proto.GetDataResponse:
		l.versions[r.Text().String()] = v.Stat.Version
	case *proto.CreateResponse:
		l.versions[v.Path.String()] = 0
	}
}

// Forget is for a client that goes to another server, which may be behind.
func (l *Load) Forget() { l.versions = nil }
