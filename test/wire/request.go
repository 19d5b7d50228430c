package wire

import (
	"github.com/seed94657493/warren/proto"
)

// Request is an operation and the encoding of its body. The Conn adds the header.
type Request struct {
	Op   proto.OpCode
	Body []byte
	Xid  int32 // sent as it is if FixedXid, else the Conn counts
	// FixedXid keeps Xid.
	FixedXid bool
}

// OpenACL grants everything to every client.
var OpenACL = []proto.ACL{{Perms: proto.PermAll, Id: proto.ID{Scheme: proto.Text("world"), Id: proto.Text("anyone")}}}

// ACL returns an ACL of one entry.
func ACL(perms int32, scheme, id string) []proto.ACL {
	return []proto.ACL{{Perms: perms, Id: proto.ID{Scheme: proto.Text(scheme), Id: proto.Text(id)}}}
}

type record interface{ AppendTo([]byte) []byte }

func request(op proto.OpCode, r record) Request { return Request{Op: op, Body: r.AppendTo(nil)} }

// Create is op 1. The other creates differ in op and reply only.
func Create(path string, data []byte, acl []proto.ACL, mode proto.CreateMode) Request {
	return CreateOp(proto.OpCreate, path, data, acl, mode)
}

// Create2 is op 15.
func Create2(path string, data []byte, acl []proto.ACL, mode proto.CreateMode) Request {
	return CreateOp(proto.OpCreate2, path, data, acl, mode)
}

// CreateContainer is op 19 with the container flag.
func CreateContainer(path string, data []byte, acl []proto.ACL) Request {
	return CreateOp(proto.OpCreateContainer, path, data, acl, proto.ModeContainer)
}

// CreateOp is any operation whose body is a CreateRequest.
func CreateOp(op proto.OpCode, path string, data []byte, acl []proto.ACL, mode proto.CreateMode) Request {
	return request(op, &proto.CreateRequest{Path: proto.Text(path), Data: data, Acl: acl, Flags: int32(mode)})
}

// CreateTTL is op 21; ttl is in ms.
func CreateTTL(path string, data []byte, acl []proto.ACL, mode proto.CreateMode, ttl int64) Request {
	return request(proto.OpCreateTTL, &proto.CreateTTLRequest{
		Path: proto.Text(path), Data: data, Acl: acl, Flags: int32(mode), Ttl: ttl})
}

// Delete is op 2; version -1 is any.
func Delete(path string, version int32) Request {
	return request(proto.OpDelete, &proto.DeleteRequest{Path: proto.Text(path), Version: version})
}

// SetData is op 5; version -1 is any.
func SetData(path string, data []byte, version int32) Request {
	return request(proto.OpSetData, &proto.SetDataRequest{Path: proto.Text(path), Data: data, Version: version})
}

// SetACL is op 7; version is the aversion, -1 is any.
func SetACL(path string, acl []proto.ACL, version int32) Request {
	return request(proto.OpSetACL, &proto.SetACLRequest{Path: proto.Text(path), Acl: acl, Version: version})
}

// Check is op 13, for multi only.
func Check(path string, version int32) Request {
	return request(proto.OpCheck, &proto.CheckVersionRequest{Path: proto.Text(path), Version: version})
}

// Exists is op 3.
func Exists(path string, watch bool) Request { return pathWatch(proto.OpExists, path, watch) }

// GetData is op 4.
func GetData(path string, watch bool) Request { return pathWatch(proto.OpGetData, path, watch) }

// GetChildren is op 8.
func GetChildren(path string, watch bool) Request { return pathWatch(proto.OpGetChildren, path, watch) }

// GetChildren2 is op 12.
func GetChildren2(path string, watch bool) Request {
	return pathWatch(proto.OpGetChildren2, path, watch)
}

func pathWatch(op proto.OpCode, path string, watch bool) Request {
	return request(op, &proto.PathWatchRequest{Path: proto.Text(path), Watch: watch})
}

// GetACL is op 6.
func GetACL(path string) Request { return pathOnly(proto.OpGetACL, path) }

// Sync is op 9.
func Sync(path string) Request { return pathOnly(proto.OpSync, path) }

// GetAllChildrenNumber is op 104.
func GetAllChildrenNumber(path string) Request { return pathOnly(proto.OpGetAllChildrenNumber, path) }

func pathOnly(op proto.OpCode, path string) Request {
	return request(op, &proto.PathRequest{Path: proto.Text(path)})
}

// GetEphemerals is op 103.
func GetEphemerals(prefix string) Request {
	return request(proto.OpGetEphemerals, &proto.GetEphemeralsRequest{PrefixPath: proto.Text(prefix)})
}

// WhoAmI is op 107.
func WhoAmI() Request { return Request{Op: proto.OpWhoAmI} }

// Ping is op 11, with the xid that every client uses for it.
func Ping() Request { return Request{Op: proto.OpPing, Xid: proto.XidPing, FixedXid: true} }

// CloseSession is op -11.
func CloseSession() Request { return Request{Op: proto.OpCloseSession} }

// Auth is op 100, with the xid that Java, C and kazoo use for it.
func Auth(scheme string, auth []byte) Request {
	r := request(proto.OpAuth, &proto.AuthPacket{Scheme: proto.Text(scheme), Auth: auth})
	r.Xid, r.FixedXid = proto.XidAuth, true
	return r
}

// Sasl is op 102.
func Sasl(token []byte) Request { return request(proto.OpSasl, &proto.GetSASLRequest{Token: token}) }

// AddWatch is op 106.
func AddWatch(path string, mode int32) Request {
	return request(proto.OpAddWatch, &proto.AddWatchRequest{Path: proto.Text(path), Mode: mode})
}

// CheckWatches is op 17.
func CheckWatches(path string, t proto.WatcherType) Request {
	return request(proto.OpCheckWatches, &proto.CheckWatchesRequest{Path: proto.Text(path), Type: t})
}

// RemoveWatches is op 18.
func RemoveWatches(path string, t proto.WatcherType) Request {
	return request(proto.OpRemoveWatches, &proto.CheckWatchesRequest{Path: proto.Text(path), Type: t})
}

// SetWatches is op 101.
func SetWatches(relative proto.Zxid, data, exist, child []string) Request {
	return request(proto.OpSetWatches, &proto.SetWatches{RelativeZxid: relative,
		DataWatches: texts(data), ExistWatches: texts(exist), ChildWatches: texts(child)})
}

// SetWatches2 is op 105.
func SetWatches2(relative proto.Zxid, data, exist, child, persistent, recursive []string) Request {
	return request(proto.OpSetWatches2, &proto.SetWatches2{RelativeZxid: relative,
		DataWatches: texts(data), ExistWatches: texts(exist), ChildWatches: texts(child),
		PersistentWatches: texts(persistent), PersistentRecursiveWatches: texts(recursive)})
}

// texts never returns null: a null vector is a decoding error of the request.
func texts(paths []string) []proto.Text {
	out := make([]proto.Text, len(paths))
	for i, p := range paths {
		out[i] = proto.Text(p)
	}
	return out
}

// Reconfig is op 16; an empty string is sent as null.
func Reconfig(joining, leaving, members string, config int64) Request {
	orNull := func(s string) proto.Text {
		if s == "" {
			return nil
		}
		return proto.Text(s)
	}
	return request(proto.OpReconfig, &proto.ReconfigRequest{JoiningServers: orNull(joining),
		LeavingServers: orNull(leaving), NewMembers: orNull(members), CurConfigID: config})
}

// Multi is op 14 over writes and checks.
func Multi(ops ...Request) Request { return Request{Op: proto.OpMulti, Body: multiBody(ops)} }

// MultiRead is op 22 over GetData and GetChildren.
func MultiRead(ops ...Request) Request { return Request{Op: proto.OpMultiRead, Body: multiBody(ops)} }

func multiBody(ops []Request) []byte {
	var b []byte
	for _, op := range ops {
		b = proto.AppendMultiOp(b, op.Op)
		b = append(b, op.Body...)
	}
	return proto.AppendMultiEnd(b)
}
