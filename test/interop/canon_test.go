//go:build interop

package interop

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/wire"
)

// canon turns what one server says into text that does not depend on the server: a zxid becomes
// the number of the successful write that had it, a session id the number of the session, a time
// the number of its txn, and lists without an order are sorted.
type canon struct {
	side     string
	writes   []proto.Zxid            // of successful writes, in order
	sessions map[proto.SessionID]int // number of the session, by id
	times    map[proto.Zxid]int64    // time of a txn, as Stats have shown it
	skew     time.Duration           // how far times may be from ours
	problem  string                  // first rule that this side broke by itself
}

func newCanon(side string) *canon {
	return &canon{side: side, sessions: map[proto.SessionID]int{}, times: map[proto.Zxid]int64{}, skew: time.Hour}
}

func (c *canon) fault(format string, args ...any) {
	if c.problem == "" {
		c.problem = c.side + ": " + fmt.Sprintf(format, args...)
	}
}

// addWrite numbers the next successful write.
func (c *canon) addWrite(z proto.Zxid) {
	if n := len(c.writes); n > 0 && z <= c.writes[n-1] {
		c.fault("successful write with zxid %v after one with %v", z, c.writes[n-1])
	}
	c.writes = append(c.writes, z)
}

// zxid returns tN for the zxid of write N, tN+ for one between N and N+1.
func (c *canon) zxid(z proto.Zxid) string {
	if z == 0 {
		return "0"
	}
	i, exact := slices.BinarySearch(c.writes, z)
	if exact {
		return fmt.Sprintf("t%d", i+1)
	}
	return fmt.Sprintf("t%d+", i)
}

// floor returns tN for any zxid from write N on and before N+1.
func (c *canon) floor(z proto.Zxid) string {
	if z <= 0 {
		return fmt.Sprint(int64(z))
	}
	return strings.TrimSuffix(c.zxid(z), "+")
}

func (c *canon) owner(id proto.SessionID) string {
	if id == 0 {
		return "0"
	}
	if n, ok := c.sessions[id]; ok {
		return fmt.Sprintf("s%d", n)
	}
	return id.String()
}

// txnTime checks that one txn has one time, and that it is about now.
func (c *canon) txnTime(z proto.Zxid, ms int64) {
	if z == 0 {
		if ms != 0 {
			c.fault("znode of zxid 0 has time %d", ms)
		}
		return
	}
	if old, ok := c.times[z]; ok && old != ms {
		c.fault("txn %v has times %d and %d", z, old, ms)
	}
	c.times[z] = ms
	if d := time.Since(time.UnixMilli(ms)).Abs(); d > c.skew {
		c.fault("txn %v has time %d, %v from now", z, ms, d)
	}
}

func (c *canon) stat(s *proto.Stat) string {
	c.txnTime(s.Czxid, s.Ctime)
	c.txnTime(s.Mzxid, s.Mtime)
	return fmt.Sprintf("{c=%s m=%s p=%s v=%d cv=%d av=%d owner=%s len=%d children=%d}", c.zxid(s.Czxid),
		c.zxid(s.Mzxid), c.zxid(s.Pzxid), s.Version, s.Cversion, s.Aversion, c.owner(s.EphemeralOwner),
		s.DataLength, s.NumChildren)
}

func sorted(list []proto.Text) string {
	out := make([]string, len(list))
	for i, t := range list {
		out[i] = fmt.Sprintf("%q", t)
	}
	sort.Strings(out)
	return "[" + strings.Join(out, " ") + "]"
}

func buffer(b []byte) string {
	if b == nil {
		return "null"
	}
	return fmt.Sprintf("%q", b)
}

func acl(list []proto.ACL) string {
	out := make([]string, len(list))
	for i, a := range list {
		out[i] = fmt.Sprintf("%d:%s:%s", a.Perms, buffer(a.Id.Scheme), buffer(a.Id.Id))
	}
	sort.Strings(out)
	return "[" + strings.Join(out, " ") + "]"
}

// value renders a decoded body.
func (c *canon) value(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case *proto.CreateResponse:
		return fmt.Sprintf("%q", v.Path)
	case *proto.Create2Response:
		return fmt.Sprintf("%q %s", v.Path, c.stat(&v.Stat))
	case *proto.StatResponse:
		return c.stat(&v.Stat)
	case *proto.GetDataResponse:
		return buffer(v.Data) + " " + c.stat(&v.Stat)
	case *proto.GetACLResponse:
		return acl(v.Acl) + " " + c.stat(&v.Stat)
	case *proto.GetChildrenResponse:
		return sorted(v.Children)
	case *proto.GetChildren2Response:
		return sorted(v.Children) + " " + c.stat(&v.Stat)
	case *proto.SyncResponse:
		return buffer(v.Path)
	case *proto.GetEphemeralsResponse:
		return sorted(v.Ephemerals)
	case *proto.GetAllChildrenNumberResponse:
		return fmt.Sprint(v.TotalNumber)
	case *proto.ErrorResponse:
		return fmt.Sprint(int32(v.Err))
	case *proto.SetSASLResponse:
		return buffer(v.Token)
	case *proto.WhoAmIResponse:
		var list []proto.Text
		for _, i := range v.ClientInfo {
			list = append(list, proto.Text(i.AuthScheme.String()+":"+i.User.String()))
		}
		return sorted(list)
	case []wire.Slot:
		var b strings.Builder
		for _, s := range v {
			fmt.Fprintf(&b, "(%v %d %s)", s.Type, int32(s.Err), c.value(s.Value))
		}
		return b.String()
	}
	return fmt.Sprintf("%T", v)
}

// wrote reports whether a reply is that of a txn that changed something and so has a number.
func wrote(call *wire.Call) bool {
	if call.Reply.Header.Err != proto.OK || !call.Request.Op.IsWrite() {
		return false
	}
	if slots, ok := call.Reply.Value.([]wire.Slot); ok {
		for _, s := range slots {
			if s.Err != proto.OK {
				return false
			}
		}
		return true
	}
	return true
}

// reply renders one reply. A rejected write may have a zxid of its own or not: only its place counts.
func (c *canon) reply(call *wire.Call) string {
	h := call.Reply.Header
	z := c.floor(h.Zxid)
	if wrote(call) {
		z = c.zxid(h.Zxid)
	}
	text := fmt.Sprintf("reply xid=%d %v %s zxid=%s %s", h.Xid, call.Request.Op, h.Err.Name(), z,
		c.value(call.Reply.Value))
	if call.Reply.Value == nil && len(call.Reply.Body) > 0 {
		text += fmt.Sprintf("body=%x", call.Reply.Body)
	}
	return text
}

func (c *canon) event(e *wire.Event) string { return fmt.Sprintf("event %v %q", e.Type, e.Path) }
