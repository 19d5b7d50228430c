package history

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/seed94657493/warren/proto"
)

// CheckSessions judges what each session was promised.
func CheckSessions(h *History) []string {
	k := sessionChecker{writes: acknowledged(h), last: map[int]proto.Zxid{}, seen: map[clientPath]proto.Zxid{}}
	for n, c := range h.Connections {
		sent := -1
		for _, item := range c.Items {
			o := item.Operation
			if o == nil {
				continue
			}
			if o.Sent <= sent {
				k.breach("connection %d: %v is answered after request %d", n, o, sent)
			}
			sent = o.Sent
			k.operation(o)
		}
	}
	return k.breaches
}

type clientPath struct {
	client int
	path   string
}

type sessionChecker struct {
	writes   map[string][]*Operation // acknowledged, by path, by zxid
	last     map[int]proto.Zxid      // newest zxid a client has seen
	seen     map[clientPath]proto.Zxid
	breaches []string
}

func (k *sessionChecker) breach(format string, args ...any) {
	k.breaches = append(k.breaches, fmt.Sprintf(format, args...))
}

// acknowledged returns the successful writes of each path, by zxid.
func acknowledged(h *History) map[string][]*Operation {
	writes := map[string][]*Operation{}
	for _, o := range h.Operations() {
		if o.IsWrite() && o.OK() {
			writes[o.Path] = append(writes[o.Path], o)
		}
	}
	for _, list := range writes {
		slices.SortFunc(list, func(a, b *Operation) int { return cmp.Compare(a.Zxid, b.Zxid) })
	}
	return writes
}

func (k *sessionChecker) operation(o *Operation) {
	if last := k.last[o.Client]; o.Zxid < last {
		k.breach("%v: the client has seen %v", o, last)
	}
	k.last[o.Client] = max(k.last[o.Client], o.Zxid)
	key := clientPath{o.Client, o.Path}
	switch {
	case o.IsWrite() && o.OK():
		k.seen[key] = o.Zxid
	case o.IsRead() && o.OK():
		if o.Stat.Mzxid > o.Zxid {
			k.breach("%v: shows %v, which is later", o, o.Stat.Mzxid)
		}
		if seen := k.seen[key]; o.Stat.Mzxid < seen {
			k.breach("%v: shows the write %v, the client has seen or made %v", o, o.Stat.Mzxid, seen)
		}
		k.seen[key] = max(k.seen[key], o.Stat.Mzxid)
		k.stateAt(o)
	case o.IsRead() && o.Err == proto.ErrNoNode:
		k.stateAt(o)
	}
}

// stateAt compares a read with the last acknowledged write up to its zxid. Unknown writes may
// have come after that one, but never before it and unseen.
func (k *sessionChecker) stateAt(o *Operation) {
	var last *Operation
	writes := k.writes[o.Path]
	after, _ := slices.BinarySearchFunc(writes, o.Zxid+1,
		func(w *Operation, z proto.Zxid) int { return cmp.Compare(w.Zxid, z) })
	if after > 0 {
		last = writes[after-1]
	}
	switch {
	case last == nil:
	case o.Err == proto.OK && o.Stat.Mzxid < last.Zxid:
		k.breach("%v: shows the write %v and misses %v", o, o.Stat.Mzxid, last)
	case o.Err == proto.OK && last.Op == proto.OpDelete && o.Stat.Czxid <= last.Zxid:
		k.breach("%v: shows the znode of %v after %v", o, o.Stat.Czxid, last)
	}
}
