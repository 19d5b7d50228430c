package serve

import (
	"encoding/binary"

	"github.com/seed94657493/warren/proto"
)

// Frames that a client is sent: a length, a ReplyHeader and a body.

func appendEvent(b []byte, t proto.EventType, path []byte, zxid proto.Zxid) []byte {
	start := len(b)
	b = beginReply(b)
	ev := proto.WatcherEvent{Type: t, State: proto.StateSyncConnected, Path: path}
	b = ev.AppendTo(b)
	endReply(b, start, proto.XidNotification, zxid, proto.OK)
	return b
}

// replyPrefix is the frame length and the ReplyHeader before the body of a reply.
const replyPrefix = 4 + proto.ReplyHeaderSize

// beginReply leaves room for the prefix of a reply. The body is appended next.
func beginReply(b []byte) []byte {
	var room [replyPrefix]byte
	return append(b, room[:]...)
}

// endReply fills in the prefix that beginReply left at start.
func endReply(b []byte, start int, xid int32, zxid proto.Zxid, err proto.ErrCode) {
	endReplyOf(b, start, 0, xid, zxid, err)
}

// endReplyOf is endReply for a reply that continues with more bytes in other buffers.
func endReplyOf(b []byte, start, more int, xid int32, zxid proto.Zxid, err proto.ErrCode) {
	p := b[start : start+replyPrefix]
	binary.BigEndian.PutUint32(p, uint32(len(b)-start-4+more))
	binary.BigEndian.PutUint32(p[4:], uint32(xid))
	binary.BigEndian.PutUint64(p[8:], uint64(zxid))
	binary.BigEndian.PutUint32(p[16:], uint32(err))
}

// appendHeaderReply appends a reply without a body.
func appendHeaderReply(b []byte, xid int32, zxid proto.Zxid, err proto.ErrCode) []byte {
	start := len(b)
	b = beginReply(b)
	endReply(b, start, xid, zxid, err)
	return b
}
