package history

import (
	"fmt"

	"github.com/seed94657493/warren/proto"
)

// lifetime is what is known of one ephemeral.
type lifetime struct {
	create *Operation
	owner  proto.SessionID
	end    proto.Zxid // of the acknowledged delete or closeSession, 0 if there was none
	closed bool       // end is that of a closeSession
	maybe  bool       // an unknown delete or closeSession may have ended it, or the session's expiry
}

// CheckEphemerals judges every read of an ephemeral's path against its lifetime. expired are
// sessions that were left to their timeout.
func CheckEphemerals(h *History, expired ...proto.SessionID) []string {
	var breaches []string
	reads := map[string][]*Operation{}
	for _, o := range h.Operations() {
		if o.IsRead() && o.Known() {
			reads[o.Path] = append(reads[o.Path], o)
		}
	}
	for _, l := range lifetimes(h, expired) {
		for _, r := range reads[l.create.Path] {
			switch {
			case r.Zxid < l.create.Zxid:
			case l.end != 0 && r.Zxid >= l.end:
				if r.OK() && r.Stat.Czxid == l.create.Zxid {
					breaches = append(breaches,
						fmt.Sprintf("%v: shows the ephemeral of %v, which ended at %v", r, l.owner, l.end))
				}
			case l.maybe && (!r.OK() || r.Stat.Czxid > l.create.Zxid):
			case r.Err == proto.ErrNoNode:
				breaches = append(breaches,
					fmt.Sprintf("%v: the ephemeral of %v, created at %v, is gone", r, l.owner, l.create.Zxid))
			case r.OK() && r.Stat.Czxid != l.create.Zxid:
				breaches = append(breaches, fmt.Sprintf("%v: shows a znode of %v in place of the ephemeral of %v", r,
					r.Stat.Czxid, l.create.Zxid))
			case r.OK() && r.Stat.EphemeralOwner != l.owner:
				breaches = append(breaches, fmt.Sprintf("%v: owner is %v, not %v", r, r.Stat.EphemeralOwner, l.owner))
			}
		}
	}
	return breaches
}

// lifetimes returns every acknowledged ephemeral with what may have ended it.
func lifetimes(h *History, expired []proto.SessionID) []*lifetime {
	var list []*lifetime
	for _, c := range h.Connections {
		for _, item := range c.Items {
			if o := item.Operation; o != nil && o.Op == proto.OpCreate && o.Mode.IsEphemeral() && o.OK() {
				l := &lifetime{create: o, owner: c.Session}
				for _, id := range expired {
					l.maybe = l.maybe || id == c.Session
				}
				list = append(list, l)
			}
		}
	}
	byPath, byOwner := map[string][]*lifetime{}, map[proto.SessionID][]*lifetime{}
	for _, l := range list {
		byPath[l.create.Path] = append(byPath[l.create.Path], l)
		byOwner[l.owner] = append(byOwner[l.owner], l)
	}
	endable := func(o *Operation, session proto.SessionID) []*lifetime {
		switch o.Op {
		case proto.OpDelete:
			return byPath[o.Path]
		case proto.OpCloseSession:
			return byOwner[session]
		}
		return nil
	}
	for _, c := range h.Connections {
		for _, item := range c.Items {
			if o := item.Operation; o != nil && o.OK() {
				for _, l := range endable(o, c.Session) {
					l.endedBy(o)
				}
			}
		}
		for _, o := range c.Unknown {
			for _, l := range endable(o, c.Session) {
				l.maybe = true
			}
		}
	}
	return list
}

// endedBy takes o, which deletes the znode or ends its session, as the end if it is the first after the create.
func (l *lifetime) endedBy(o *Operation) {
	if o.Zxid > l.create.Zxid && (l.end == 0 || o.Zxid < l.end) {
		l.end, l.closed = o.Zxid, o.Op == proto.OpCloseSession
	}
}
