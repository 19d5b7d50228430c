package model

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/seed94657493/warren/proto"
)

// The order of the checks is that of client-protocol 11.2 everywhere.

func (m *Model) delete(q proto.DeleteRequest) proto.ErrCode {
	if err := m.checkSession(); err != proto.OK {
		return err
	}
	path := string(q.Path)
	if !deletable(path) {
		return proto.ErrBadArguments
	}
	parent := m.tree[parentOf(path)]
	if parent == nil {
		return proto.ErrNoNode
	}
	if !m.allows(parent.acl, proto.PermDelete) {
		return proto.ErrNoAuth
	}
	n := m.tree[path]
	if n == nil {
		return proto.ErrNoNode
	}
	if q.Version != -1 && q.Version != n.stat.Version {
		return proto.ErrBadVersion
	}
	if len(m.tree.children(path)) > 0 {
		return proto.ErrNotEmpty
	}
	m.remove(path)
	return proto.OK
}

func deletable(path string) bool {
	switch path {
	case "/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config":
		return false
	}
	return strings.Contains(path, "/") && !strings.Contains(path, "\x00")
}

// remove is the effect of every deletion. Source: server-semantics 5.2 and 5.4.
func (m *Model) remove(path string) {
	n, parent := m.tree[path], m.tree[parentOf(path)]
	delete(m.tree, path)
	parent.stat.Pzxid = max(parent.stat.Pzxid, m.req.Zxid)
	m.account(path, -1, -len(n.data))
	m.fire(proto.EventNodeDeleted, path, n.acl, parent.acl)
}

// deleteContainer is the server's own deletion of a container or TTL znode that has been
// abandoned; that it still is, is checked again. Source: server-semantics 5.10 and 15.
func (m *Model) deleteContainer(p proto.Text) proto.ErrCode {
	path := string(p)
	if !deletable(path) {
		return proto.ErrBadArguments
	}
	n := m.tree[path]
	if n == nil {
		return proto.ErrNoNode
	}
	if len(m.tree.children(path)) > 0 {
		return proto.ErrNotEmpty
	}
	if !m.isDue(n) {
		return proto.ErrBadVersion
	}
	m.remove(path)
	return proto.OK
}

func (m *Model) isDue(n *znode) bool {
	age := m.req.TimeMs - n.stat.Mtime
	if n.stat.EphemeralOwner == math.MinInt64 {
		unused := m.cfg.MaxContainerNeverUsedMs
		return n.stat.Cversion > 0 || unused != 0 && age > unused
	}
	ttl, ok := proto.TTLOf(n.stat.EphemeralOwner)
	return ok && ttl > 0 && age > ttl
}

func (m *Model) setData(q proto.SetDataRequest) ([]byte, proto.ErrCode) {
	if err := m.checkSession(); err != proto.OK {
		return nil, err
	}
	path := string(q.Path)
	if !validPath(path) {
		return nil, proto.ErrBadArguments
	}
	n := m.tree[path]
	if n == nil {
		return nil, proto.ErrNoNode
	}
	if !m.allows(n.acl, proto.PermWrite) {
		return nil, proto.ErrNoAuth
	}
	if m.overQuota(path, 0, len(q.Data)-len(n.data)) {
		return nil, proto.ErrQuotaExceeded
	}
	if q.Version != -1 && q.Version != n.stat.Version {
		return nil, proto.ErrBadVersion
	}
	grown := len(q.Data) - len(n.data)
	n.data = cloneData(q.Data)
	n.stat.Version = next(n.stat.Version)
	n.stat.Mzxid, n.stat.Mtime = m.req.Zxid, m.req.TimeMs
	m.account(path, 0, grown)
	m.fire(proto.EventNodeDataChanged, path, n.acl, nil)
	return (&proto.StatResponse{Stat: m.tree.stat(path)}).AppendTo(nil), proto.OK
}

// next is the arithmetic of server-semantics 3.6.
func next(version int32) int32 {
	if version++; version == -1 {
		return 0
	}
	return version
}

func (m *Model) setACL(q proto.SetACLRequest) ([]byte, proto.ErrCode) {
	if err := m.checkSession(); err != proto.OK {
		return nil, err
	}
	path := string(q.Path)
	if !validPath(path) {
		return nil, proto.ErrBadArguments
	}
	acl, ok := m.fixACL(q.Acl)
	if !ok {
		return nil, proto.ErrInvalidACL
	}
	n := m.tree[path]
	if n == nil {
		return nil, proto.ErrNoNode
	}
	if !m.allows(n.acl, proto.PermAdmin) {
		return nil, proto.ErrNoAuth
	}
	if q.Version != -1 && q.Version != n.stat.Aversion {
		return nil, proto.ErrBadVersion
	}
	n.acl = acl
	n.stat.Aversion = next(n.stat.Aversion)
	return (&proto.StatResponse{Stat: m.tree.stat(path)}).AppendTo(nil), proto.OK
}

func (m *Model) check(q proto.CheckVersionRequest) proto.ErrCode {
	if err := m.checkSession(); err != proto.OK {
		return err
	}
	path := string(q.Path)
	if !validPath(path) {
		return proto.ErrBadArguments
	}
	n := m.tree[path]
	if n == nil {
		return proto.ErrNoNode
	}
	if !m.allows(n.acl, proto.PermRead) {
		return proto.ErrNoAuth
	}
	if q.Version != -1 && q.Version != n.stat.Version {
		return proto.ErrBadVersion
	}
	return proto.OK
}

// reconfig changes the znode of the configuration, as far as the tree knows: which members there are is decided
// elsewhere, and comes before the permissions. Source: server-semantics 3.9.
func (m *Model) reconfig() ([]byte, proto.ErrCode) {
	if !m.cfg.ReconfigEnabled {
		return nil, proto.ErrReconfigDisabled
	}
	if err := m.checkSession(); err != proto.OK {
		return nil, err
	}
	if m.req.NewConfig == nil {
		return nil, proto.ErrUnimplemented
	}
	n := m.tree[configPath]
	if !m.allows(n.acl, proto.PermWrite) {
		return nil, proto.ErrNoAuth
	}
	m.SetConfig(m.req.NewConfig, m.req.Zxid, m.req.TimeMs)
	m.fire(proto.EventNodeDataChanged, configPath, n.acl, nil)
	return (&proto.GetDataResponse{Data: n.data, Stat: m.tree.stat(configPath)}).AppendTo(nil), proto.OK
}

const configPath = "/zookeeper/config"

// SetConfig writes a configuration into its znode, as members do without a txn when they start.
func (m *Model) SetConfig(text []byte, version proto.Zxid, timeMs int64) {
	n := m.tree[configPath]
	n.data = cloneData(text)
	n.stat.Version, n.stat.Mzxid, n.stat.Mtime = -1, version, timeMs
}

// closeSession ends the session and deletes its ephemerals in the order given, which must name
// each of them once. Source: server-semantics 7.5 and 10.5.
func (m *Model) closeSession() proto.ErrCode {
	order := slices.Clone(m.req.CloseOrder)
	slices.Sort(order)
	if mine := m.tree.ephemerals(m.req.Session); !slices.Equal(mine, order) {
		panic(fmt.Sprintf("model: session has %q, closeSession deletes %q", mine, order))
	}
	for _, path := range m.req.CloseOrder {
		m.remove(path)
	}
	delete(m.sessions, m.req.Session)
	return proto.OK
}

// multi executes several writes, all or none. Source: server-semantics 4.
func (m *Model) multi() Result {
	type op func() (result proto.OpCode, body []byte, err proto.ErrCode)
	var ops []op
	r := proto.NewMultiReader(m.req.Body)
	for {
		header, more := r.Next()
		if !more {
			break
		}
		switch header.Type {
		case proto.OpCreate, proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL:
			var q proto.CreateTTLRequest
			if header.Type == proto.OpCreateTTL {
				q.Decode(&r.R)
			} else {
				var c proto.CreateRequest
				c.Decode(&r.R)
				q = proto.CreateTTLRequest{Path: c.Path, Data: c.Data, Acl: c.Acl, Flags: c.Flags}
			}
			ops = append(ops, func() (proto.OpCode, []byte, proto.ErrCode) { return m.createInMulti(header.Type, q) })
		case proto.OpDelete, proto.OpSetData, proto.OpCheck:
			do := m.decodeFrom(header.Type, &r.R)
			ops = append(ops, func() (proto.OpCode, []byte, proto.ErrCode) {
				body, err := do()
				return header.Type, body, err
			})
		default:
			return Result{Err: proto.ErrMarshallingError}
		}
	}
	if r.R.Err() != nil {
		return Result{Err: proto.ErrMarshallingError}
	}
	if err := m.checkSession(); err != proto.OK {
		return Result{Err: err, Txn: true}
	}

	before := m.tree.clone()
	m.quotas = before
	var body []byte
	for i, op := range ops {
		result, slot, err := op()
		if err == proto.OK {
			body = append(proto.AppendMultiResult(body, result), slot...)
			continue
		}
		m.tree, m.changes = before, nil
		body = nil
		for range i {
			body = proto.AppendMultiError(body, proto.OK)
		}
		body = proto.AppendMultiError(body, err)
		for range len(ops) - i - 1 {
			body = proto.AppendMultiError(body, proto.ErrRuntimeInconsistency)
		}
		break
	}
	return Result{Body: proto.AppendMultiEnd(body), Txn: true}
}

// createInMulti is create with the rules of client-protocol 6.1 for what is made: mode 4
// makes a container of whatever operation, and createTTL without a TTL mode is create.
func (m *Model) createInMulti(op proto.OpCode, q proto.CreateTTLRequest) (proto.OpCode, []byte, proto.ErrCode) {
	switch {
	case q.Flags == 4:
		op = proto.OpCreateContainer
	case op == proto.OpCreateTTL && q.Flags >= 0 && q.Flags < 4:
		op = proto.OpCreate
	}
	body, err := m.create(op, q)
	if op != proto.OpCreate {
		return proto.OpCreate2, body, err
	}
	return op, body, err
}
