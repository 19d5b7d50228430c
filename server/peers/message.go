package peers

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// The trailer tells that the sender is a Warren server: a magic number, flags, and the lineage of the sender after
// its length. It stands behind the fields of LearnerInfo, behind the version in LEADERINFO and behind the
// configuration in a notification: servers in Java read a prefix of that data and do not see the trailer. It is all
// of the data of UPTODATE, DIFF and TRUNC for a learner that has sent a lineage.
const (
	trailerMagic = 0x5772726e // "Wrrn"
	trailerSize  = 5          // magic, flags; the flags tell which fields follow
	flagBlank    = 1          // the sender has lost its disk
	flagRepeat   = 2          // the sender repeats ACKEPOCH
	flagLineage  = 4          // the length of a lineage in two bytes, and the lineage
	flagRefused  = 8          // the leader has another history
	flagFinal    = 16         // the identity of the ensemble is final
	flagSum      = 32         // four bytes: the checksum of a txn
	flagWhole    = 64         // the sender asks for the whole state
	flagBare     = 128        // four bytes behind those of flagSum: the checksum of the txn without its digest

	learnerInfoSize = 20 // server id, protocol version, configuration version
	leaderInfoSize  = 4  // protocol version
)

// AppendMessage appends the packets of m: one, or one for each txn of PROPOSAL and INFORM. It appends nothing for
// Notification, Probe and ProbeReply (use Peers.SendElection), Replay (use Link.Stream) and Snap, whose body has to
// follow (use Link.SendSnapshot). A Ping has no data here: the host makes the answer of a learner, which holds the
// touched sessions.
func AppendMessage(b []byte, m *zab.Message) []byte {
	switch m.Type {
	case zab.FollowerInfo:
		return appendLearnerInfo(b, proto.PacketFollowerInfo, m)
	case zab.ObserverInfo:
		return appendLearnerInfo(b, proto.PacketObserverInfo, m)
	case zab.LeaderInfo:
		data := proto.AppendInt32(nil, proto.LearnerProtocolVersion)
		return appendData(b, proto.PacketLeaderInfo, m.Zxid, appendTrailer(data, m))
	case zab.AckEpoch:
		b = proto.AppendInt32(appendHead(b, proto.PacketAckEpoch, m.Zxid), 4)
		return proto.AppendInt32(proto.AppendInt32(b, int32(m.Epoch)), -1)
	case zab.Proposal:
		return appendTxns(b, proto.PacketProposal, m.Txns)
	case zab.Inform:
		return appendTxns(b, proto.PacketInform, m.Txns)
	case zab.NewLeader:
		return appendData(b, proto.PacketNewLeader, m.Zxid, configurations(m))
	case zab.Activate:
		b = proto.AppendInt32(appendHead(b, proto.PacketCommitAndActivate, m.Zxid), 8)
		return proto.AppendInt32(proto.AppendInt64(b, int64(m.Leader)), -1)
	case zab.InformActive:
		data := append(proto.AppendInt64(nil, int64(m.Leader)), m.Txns[0].Payload...)
		return appendData(b, proto.PacketInformAndActivate, m.Zxid, data)
	case zab.HandOver:
		b = proto.AppendInt32(appendHead(b, PacketHandOver, m.Zxid), 8)
		return proto.AppendInt32(proto.AppendInt64(b, int64(m.Leader)), -1)
	case zab.Diff, zab.Trunc, zab.UpToDate:
		if !m.Summed && !m.Final {
			return appendPlain(b, plainTypes[m.Type], m.Zxid)
		}
		return appendData(b, plainTypes[m.Type], m.Zxid, appendFlags(nil, m))
	case zab.Commit, zab.Ack, zab.Ping, zab.SyncReply:
		return appendPlain(b, plainTypes[m.Type], m.Zxid)
	}
	return b
}

// configurations returns the data of NEWLEADER: the text of the last configuration in the history. Between Warren
// servers follow a zero byte, the text of the committed configuration (empty if it is the same), another zero byte,
// and the lineage.
func configurations(m *zab.Message) []byte {
	if m.Active == nil && m.Lineage == nil {
		return m.Config
	}
	data := append(append(make([]byte, 0, len(m.Config)+len(m.Active)+2+zab.LineageSizeMax), m.Config...), 0)
	if m.Active != nil && !bytes.Equal(m.Config, m.Active) {
		data = append(data, m.Active...)
	}
	if m.Lineage != nil {
		data = m.Lineage.AppendTo(append(data, 0))
	}
	return data
}

// readConfigurations reads the data of NEWLEADER. A lineage that cannot be decoded counts as none.
func readConfigurations(data []byte, m *zab.Message) {
	m.Config = data
	i := bytes.IndexByte(data, 0)
	if i < 0 {
		return
	}
	m.Config, m.Active = data[:i:i], data[i+1:]
	if j := bytes.IndexByte(m.Active, 0); j >= 0 {
		m.Lineage, _ = zab.ParseLineage(m.Active[j+1:])
		m.Active = m.Active[:j:j]
	}
	if len(m.Active) == 0 {
		m.Active = m.Config
	}
}

// plainTypes are the packets that have a zxid and no data.
var plainTypes = [...]proto.PacketType{
	zab.Diff: proto.PacketDiff, zab.Trunc: proto.PacketTrunc, zab.Commit: proto.PacketCommit,
	zab.UpToDate: proto.PacketUpToDate, zab.Ack: proto.PacketAck, zab.Ping: proto.PacketPing,
	zab.SyncReply: proto.PacketSync,
}

// AppendTxn appends PROPOSAL of one txn, as Replay needs it. AppendCommit appends its COMMIT.
func AppendTxn(b []byte, z proto.Zxid, payload []byte) []byte {
	return appendData(b, proto.PacketProposal, z, payload)
}

// AppendCommit appends COMMIT.
func AppendCommit(b []byte, z proto.Zxid) []byte { return appendPlain(b, proto.PacketCommit, z) }

func appendTxns(b []byte, t proto.PacketType, txns []zab.Txn) []byte {
	size := 0
	for i := range txns {
		size += packetMin + len(txns[i].Payload)
	}
	b = slices.Grow(b, size)
	for i := range txns {
		b = appendData(b, t, txns[i].Zxid, txns[i].Payload)
	}
	return b
}

func appendLearnerInfo(b []byte, t proto.PacketType, m *zab.Message) []byte {
	info := proto.LearnerInfo{
		ServerID: m.From, ProtocolVersion: proto.LearnerProtocolVersion, ConfigVersion: m.ConfigVersion,
	}
	return appendData(b, t, m.Zxid, appendTrailer(info.AppendTo(nil), m))
}

func appendTrailer(b []byte, m *zab.Message) []byte {
	if !m.Warren {
		return b
	}
	return appendFlags(b, m)
}

// appendFlags appends the trailer.
func appendFlags(b []byte, m *zab.Message) []byte {
	flags := byte(0)
	for _, f := range []struct {
		set bool
		bit byte
	}{{m.Blank, flagBlank}, {m.Repeat, flagRepeat}, {m.Lineage != nil, flagLineage}, {m.Refused, flagRefused},
		{m.Final, flagFinal}, {m.Summed, flagSum}, {m.Whole, flagWhole}, {m.Summed && m.Bare != 0, flagBare}} {
		if f.set {
			flags |= f.bit
		}
	}
	b = append(binary.BigEndian.AppendUint32(b, trailerMagic), flags)
	if m.Lineage != nil {
		at := len(b)
		b = m.Lineage.AppendTo(append(b, 0, 0))
		binary.BigEndian.PutUint16(b[at:], uint16(len(b)-at-2))
	}
	if m.Summed {
		b = binary.BigEndian.AppendUint32(b, m.Sum)
	}
	if flags&flagBare != 0 {
		b = binary.BigEndian.AppendUint32(b, m.Bare)
	}
	return b
}

// readTrailer reads the trailer behind the first size bytes of data, if there is one. It stops at the first field
// that cannot be decoded.
func readTrailer(data []byte, size int, m *zab.Message) (ok bool) {
	if len(data) < size+trailerSize || binary.BigEndian.Uint32(data[size:]) != trailerMagic {
		return false
	}
	flags := data[size+4]
	m.Blank, m.Repeat = flags&flagBlank != 0, flags&flagRepeat != 0
	m.Refused, m.Final = flags&flagRefused != 0, flags&flagFinal != 0
	m.Whole = flags&flagWhole != 0
	rest := data[size+trailerSize:]
	if flags&flagLineage != 0 {
		if len(rest) < 2 || len(rest) < 2+int(binary.BigEndian.Uint16(rest)) {
			return true
		}
		n := 2 + int(binary.BigEndian.Uint16(rest))
		var err error
		if m.Lineage, err = zab.ParseLineage(rest[2:n]); err != nil {
			return true
		}
		rest = rest[n:]
	}
	if flags&flagSum != 0 && len(rest) >= 4 {
		m.Summed, m.Sum = true, binary.BigEndian.Uint32(rest)
		if flags&flagBare != 0 && len(rest) >= 8 {
			m.Bare = binary.BigEndian.Uint32(rest[4:])
		}
	}
	return true
}

// readSum reads the data of DIFF and TRUNC.
func readSum(data []byte, m *zab.Message) {
	var trailer zab.Message
	readTrailer(data, 0, &trailer)
	m.Summed, m.Sum, m.Bare = trailer.Summed, trailer.Sum, trailer.Bare
}

// MessageOf makes one message for the core of the first n packets of batch, which came on l: consecutive PROPOSALs,
// or consecutive INFORMs, become one message. ok is false, and n is 1, for a packet that only the host uses: REQUEST,
// REVALIDATE and unknown ones. The host should tell the core of them by Core.Heard. Both the core and the host use
// PING and SYNC: to the core they show that the peer lives; to the host PING brings the touched sessions in its Data,
// and SYNC answers a waiting client.
//
// It allocates once for each run of txns. batch must not be empty.
func MessageOf(l *Link, batch []Packet, m *zab.Message) (n int, ok bool) {
	p := &batch[0]
	*m = zab.Message{From: l.Peer, To: l.p.cfg.ID, Link: l.ID, Zxid: p.Zxid}
	switch p.Type {
	case proto.PacketFollowerInfo, proto.PacketObserverInfo:
		m.Type = zab.FollowerInfo
		if p.Type == proto.PacketObserverInfo {
			m.Type = zab.ObserverInfo
		}
		m.Epoch = p.Zxid.Epoch()
		if len(p.Data) >= learnerInfoSize {
			m.ConfigVersion = int64(binary.BigEndian.Uint64(p.Data[12:]))
		}
		m.Warren = readTrailer(p.Data, learnerInfoSize, m)
	case proto.PacketLeaderInfo:
		m.Type, m.Epoch = zab.LeaderInfo, p.Zxid.Epoch()
		m.Warren = readTrailer(p.Data, leaderInfoSize, m)
	case proto.PacketAckEpoch:
		m.Type, m.Epoch = zab.AckEpoch, int64(int32(binary.BigEndian.Uint32(p.Data)))
	case proto.PacketDiff:
		m.Type = zab.Diff
		readSum(p.Data, m)
	case proto.PacketTrunc:
		m.Type = zab.Trunc
		readSum(p.Data, m)
	case proto.PacketSnap:
		m.Type = zab.Snap
	case proto.PacketProposal, proto.PacketInform:
		m.Type = zab.Proposal
		if p.Type == proto.PacketInform {
			m.Type = zab.Inform
		}
		m.Zxid, m.Txns = 0, txnsOf(batch)
		return len(m.Txns), true
	case proto.PacketCommit:
		m.Type = zab.Commit
	case proto.PacketNewLeader:
		m.Type, m.Epoch = zab.NewLeader, p.Zxid.Epoch()
		readConfigurations(p.Data, m)
	case proto.PacketCommitAndActivate:
		m.Type, m.Leader = zab.Activate, proto.ServerID(binary.BigEndian.Uint64(p.Data))
	case proto.PacketInformAndActivate:
		m.Type, m.Leader = zab.InformActive, proto.ServerID(binary.BigEndian.Uint64(p.Data))
		m.Txns = []zab.Txn{{Zxid: p.Zxid, Payload: p.Data[8:]}}
	case proto.PacketUpToDate:
		m.Type = zab.UpToDate
		var trailer zab.Message
		readTrailer(p.Data, 0, &trailer)
		m.Final = trailer.Final
	case proto.PacketAck:
		m.Type = zab.Ack
	case proto.PacketPing:
		m.Type = zab.Ping
	case proto.PacketSync:
		m.Type = zab.SyncReply
	case PacketHandOver:
		m.Type, m.Leader = zab.HandOver, proto.ServerID(binary.BigEndian.Uint64(p.Data))
	default:
		return 1, false
	}
	return 1, true
}

// txnsOf returns the txns of the packets at the front of batch that have the type of the first.
func txnsOf(batch []Packet) []zab.Txn {
	n := 1
	for n < len(batch) && batch[n].Type == batch[0].Type {
		n++
	}
	txns := make([]zab.Txn, n)
	for i := range txns {
		txns[i] = zab.Txn{Zxid: batch[i].Zxid, Payload: batch[i].Data}
	}
	return txns
}

// dataMin is how many bytes of data a packet has at least.
func dataMin(t proto.PacketType) int {
	switch t {
	case proto.PacketProposal, proto.PacketInform:
		return proto.TxnHeaderSize
	case proto.PacketInformAndActivate:
		return 8 + proto.TxnHeaderSize
	case proto.PacketCommitAndActivate, PacketHandOver, PacketMoved, PacketReclaim, PacketArrived:
		return 8
	case proto.PacketLeaderInfo, proto.PacketAckEpoch:
		return 4
	case proto.PacketRequest:
		return 16
	case proto.PacketRevalidate:
		return 9
	}
	return 0
}

// check refuses packets whose data does not fit their type, so that later code need not check again. The zxid of a
// txn must equal the zxid of its packet, because the log keeps the one and acknowledgements carry the other.
func (p *Packet) check() error {
	if len(p.Data) < dataMin(p.Type) {
		return fmt.Errorf("%w: %v at %v has data of %d bytes, expected are %d",
			ErrPacket, p.Type, p.Zxid, len(p.Data), dataMin(p.Type))
	}
	header := p.Data
	switch p.Type {
	case proto.PacketInformAndActivate:
		header = p.Data[8:]
		fallthrough
	case proto.PacketProposal, proto.PacketInform:
		if z := proto.Zxid(binary.BigEndian.Uint64(header[12:])); z != p.Zxid {
			return fmt.Errorf("%w: %v at %v has the txn %v", ErrPacket, p.Type, p.Zxid, z)
		}
	case proto.PacketPing, PacketSilent:
		if len(p.Data)%sessionTouchSize != 0 {
			return fmt.Errorf("%w: %v has data of %d bytes, which is not a list of sessions", ErrPacket, p.Type,
				len(p.Data))
		}
	}
	return nil
}

// sessionTouchSize is the size of one touched session in the answer to PING: id and timeout. Source: quorum-protocol
// 8.5.
const sessionTouchSize = 12
