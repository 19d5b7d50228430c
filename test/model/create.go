package model

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seed94657493/warren/proto"
)

// create is create, create2, createContainer and createTTL. The order of the checks is that of
// client-protocol 11.2; what is made, that of client-protocol 8.2.
func (m *Model) create(op proto.OpCode, q proto.CreateTTLRequest) ([]byte, proto.ErrCode) {
	mode := proto.CreateMode(q.Flags)
	isTTL := mode == 5 || mode == 6
	switch {
	case mode < 0 || mode > 6:
		return nil, proto.ErrBadArguments
	case isTTL && !m.cfg.ExtendedTypes:
		return nil, proto.ErrUnimplemented
	case isTTL != (op == proto.OpCreateTTL):
		return nil, proto.ErrBadArguments
	case isTTL && (q.Ttl < 1 || q.Ttl > 1<<40-1):
		return nil, proto.ErrBadArguments
	}
	if m.req.Local && (mode == 1 || mode == 3) {
		return nil, proto.ErrEphemeralOnLocalSession
	}
	if err := m.checkSession(); err != proto.OK {
		return nil, err
	}
	path := string(q.Path)
	if !strings.Contains(path, "/") || strings.Contains(path, "\x00") {
		return nil, proto.ErrBadArguments
	}
	acl, ok := m.fixACL(q.Acl)
	if !ok {
		return nil, proto.ErrInvalidACL
	}
	parentPath := parentOf(path)
	parent := m.tree[parentPath]
	if parent == nil {
		return nil, proto.ErrNoNode
	}
	if !m.allows(parent.acl, proto.PermCreate) {
		return nil, proto.ErrNoAuth
	}
	if mode == 2 || mode == 3 || mode == 6 {
		path += fmt.Sprintf("%010d", parent.stat.Cversion)
	}
	if !validPath(path) {
		return nil, proto.ErrBadArguments
	}
	if m.tree[path] != nil {
		return nil, proto.ErrNodeExists
	}
	if proto.IsSessionOwner(parent.stat.EphemeralOwner) {
		return nil, proto.ErrNoChildrenForEphemerals
	}
	if m.overQuota(path, 1, len(q.Data)) {
		return nil, proto.ErrQuotaExceeded
	}

	n := &znode{data: cloneData(q.Data), acl: acl}
	n.stat.Czxid, n.stat.Mzxid, n.stat.Pzxid = m.req.Zxid, m.req.Zxid, m.req.Zxid
	n.stat.Ctime, n.stat.Mtime = m.req.TimeMs, m.req.TimeMs
	switch {
	case op == proto.OpCreateContainer:
		n.stat.EphemeralOwner = math.MinInt64
	case op == proto.OpCreateTTL:
		n.stat.EphemeralOwner = proto.SessionID(-1<<56 | q.Ttl)
	case mode == 1 || mode == 3:
		n.stat.EphemeralOwner = m.req.Session
	}
	m.tree[path] = n
	if parent.stat.Cversion < math.MaxInt32 {
		parent.stat.Cversion++
		parent.stat.Pzxid = m.req.Zxid
	}
	m.accountCreated(path)
	m.fire(proto.EventNodeCreated, path, n.acl, parent.acl)

	if op == proto.OpCreate {
		return (&proto.CreateResponse{Path: proto.Text(path)}).AppendTo(nil), proto.OK
	}
	return (&proto.Create2Response{Path: proto.Text(path), Stat: m.tree.stat(path)}).AppendTo(nil), proto.OK
}

// checkSession refuses what comes from a session that has ended.
func (m *Model) checkSession() proto.ErrCode {
	if _, ok := m.sessions[m.req.Session]; !ok && !m.req.Local {
		return proto.ErrSessionExpired
	}
	return proto.OK
}

// validPath is the table of client-protocol 12.1.
func validPath(path string) bool {
	if path == "/" {
		return true
	}
	if !strings.HasPrefix(path, "/") || !utf8.ValidString(path) {
		return false
	}
	for _, name := range strings.Split(path[1:], "/") {
		if name == "" || name == "." || name == ".." {
			return false
		}
	}
	for _, c := range path {
		switch {
		case c <= 0x1f, c >= 0x7f && c <= 0x9f, c >= 0xd800 && c <= 0xf8ff, c >= 0xfff0:
			return false
		}
	}
	return true
}

// cloneData copies data; null stays null and empty stays empty.
func cloneData(data []byte) []byte {
	if data == nil {
		return nil
	}
	return append([]byte{}, data...)
}

func cloneACL(acl []proto.ACL) []proto.ACL {
	c := slices.Clone(acl)
	for i := range c {
		c[i] = entry(c[i].Perms, string(c[i].Id.Scheme), string(c[i].Id.Id))
	}
	return c
}
