package peers

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/seed94657493/warren/proto"
)

// Packet is one QuorumPacket: type, zxid, data and the identities of a forwarded request. Source: quorum-protocol 4.
type Packet struct {
	Type     proto.PacketType
	Zxid     proto.Zxid
	Data     []byte // nil is null
	Authinfo []byte // the vector of identities as it is encoded, with its count; nil is null
}

// PacketHandOver is HANDOVER: a leader names the server that is to lead next. Data: long server id. Only Warren has
// it, and only servers that have sent the trailer of Warren get it.
const PacketHandOver proto.PacketType = 0x57720001

// Packets by which client connections outlive a change of the leader; see package host. Only Warren has them,
// and only servers that have sent the trailer of Warren get them.
const (
	// PacketHold asks a learner to forward no more requests of its clients. It answers with the same packet behind
	// the last request that it has forwarded.
	PacketHold proto.PacketType = 0x57720002
	// PacketUnhold says that there is no handover: the learner forwards requests again.
	PacketUnhold proto.PacketType = 0x57720003
	// PacketMoved tells a learner that a session which it had is at another server now. Data: long session id.
	PacketMoved proto.PacketType = 0x57720004
	// PacketReclaim asks a leader for a session whose client has kept its connection. Data: long session id,
	// int how many ms ago the client was last heard of.
	// The answer has a byte behind it, 1 if the session goes on at this learner. Its zxid is the newest that was
	// proposed.
	PacketReclaim proto.PacketType = 0x57720005
	// PacketNotesMoves tells a learner that is up to date that this leader notes each move of a session to another
	// server in the history, as a txn of that session. No data.
	PacketNotesMoves proto.PacketType = 0x57720006
	// PacketSilent names sessions without a client. From a learner: their clients have left it, or the former leader
	// had told it so, see host/silent.go; zxid -1. From a leader: no server has their clients; the zxid is that of its
	// newest txn, because only later ones refute it, or -1. Data: for each a long session id, and an int how many ms
	// ago the client was last heard of.
	PacketSilent proto.PacketType = 0x57720007
)

// PacketArrived tells a learner at once that an answer to a PING has arrived, which the next PING would tell; see
// host/pings.go. Data: long how many have arrived. Only Warren has it, and only servers that have sent the trailer of
// Warren get it.
const PacketArrived proto.PacketType = 0x57720008

// MovedZxid is the zxid of a REQUEST whose session has moved to another server behind the same observer master. The
// leader makes an error of such a request. The zxid of other REQUESTs is -1. Only Warren has it: a server in Java
// ignores the zxid of a REQUEST.
const MovedZxid proto.Zxid = -2

// GlobalZxid is the zxid of a REQUEST whose session every server knows, in an ensemble that has local sessions.
// Without it a leader takes a session that it does not know for a local one of the learner, also a global session
// that has just ended. Only Warren has it.
const GlobalZxid proto.Zxid = -3

// Bounds of a packet, besides Limits.DataMax.
const (
	packetHead    = 16      // type, zxid, length of data
	packetMin     = 20      // with null data and null authinfo
	authinfoMax   = 1 << 20 // bytes of all identities; Limits.DataMax if that is less
	identitiesMax = 1024
)

// ErrPacket is wrapped by every error that reports bytes that are no packet.
var ErrPacket = errors.New("peers: malformed quorum packet")

// decode reads the packet at the front of b, which p aliases, and returns its size in bytes. 0 means that b does not
// hold the whole packet yet. A length above the limits is an error as soon as it is visible.
func (p *Packet) decode(b []byte, dataMax int) (n int, err error) {
	if len(b) < packetHead {
		return 0, nil
	}
	size := int(int32(binary.BigEndian.Uint32(b[12:])))
	if size < -1 || size > dataMax {
		return 0, fmt.Errorf("%w: %v has data of %d bytes, allowed are %d", ErrPacket, typeOf(b), size, dataMax)
	}
	end := packetHead + max(size, 0)
	if len(b) < end+4 {
		return 0, nil
	}
	n, err = identitiesEnd(b, end, min(authinfoMax, dataMax))
	if n == 0 || err != nil {
		return 0, err
	}
	*p = Packet{Type: typeOf(b), Zxid: proto.Zxid(binary.BigEndian.Uint64(b[4:]))}
	switch {
	case size == 0:
		p.Data = empty
	case size > 0:
		p.Data = b[packetHead:end:end]
	}
	if n > end+4 || b[end] == 0 {
		p.Authinfo = b[end:n:n]
	}
	return n, nil
}

// empty is data of length 0. It is no part of received memory, so that it keeps none alive.
var empty = []byte{}

func typeOf(b []byte) proto.PacketType { return proto.PacketType(binary.BigEndian.Uint32(b)) }

// identitiesEnd returns the end of the vector of at most sizeMax bytes that starts at off, or 0 if b ends before it.
func identitiesEnd(b []byte, off, sizeMax int) (int, error) {
	start := off
	count := int(int32(binary.BigEndian.Uint32(b[off:])))
	off += 4
	if count < -1 || count > identitiesMax {
		return 0, fmt.Errorf("%w: %v has %d identities, allowed are %d", ErrPacket, typeOf(b), count, identitiesMax)
	}
	for range 2 * count { // scheme and id of each
		if len(b) < off+4 {
			return 0, nil
		}
		size := int(int32(binary.BigEndian.Uint32(b[off:])))
		off += 4 + max(size, 0)
		if size < -1 || off-start > sizeMax {
			return 0, fmt.Errorf("%w: %v has an identity of %d bytes, allowed are %d for all",
				ErrPacket, typeOf(b), size, sizeMax)
		}
	}
	if len(b) < off {
		return 0, nil
	}
	return off, nil
}

// AppendTo appends the encoding of p.
func (p *Packet) AppendTo(b []byte) []byte {
	b = slices.Grow(b, packetMin+len(p.Data)+len(p.Authinfo))
	b = appendHead(b, p.Type, p.Zxid)
	b = proto.AppendBuffer(b, p.Data)
	if p.Authinfo == nil {
		return proto.AppendInt32(b, -1)
	}
	return append(b, p.Authinfo...)
}

// Identities decodes Authinfo; nil if it is null.
func (p *Packet) Identities() ([]proto.ID, error) {
	if p.Authinfo == nil {
		return nil, nil
	}
	r := proto.NewReader(p.Authinfo)
	ids := make([]proto.ID, max(r.Count(8), 0))
	for i := range ids {
		ids[i].Decode(&r)
	}
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("%w: identities: %w", ErrPacket, err)
	}
	return ids, nil
}

func appendHead(b []byte, t proto.PacketType, z proto.Zxid) []byte {
	return proto.AppendInt64(proto.AppendInt32(b, int32(t)), int64(z))
}

// appendPlain appends a packet with null authinfo and null data.
func appendPlain(b []byte, t proto.PacketType, z proto.Zxid) []byte {
	return proto.AppendInt32(proto.AppendInt32(appendHead(b, t, z), -1), -1)
}

// appendData appends a packet with null authinfo.
func appendData(b []byte, t proto.PacketType, z proto.Zxid, data []byte) []byte {
	return proto.AppendInt32(proto.AppendBuffer(appendHead(b, t, z), data), -1)
}
