package proto

import (
	"testing"

	"github.com/seed94657493/warren/proto/internal/require"
)

const (
	quorumSession  = SessionID(0x0100001a40410000)
	quorumSession2 = SessionID(0x0100001c6e200000)
	quorumMs       = int64(0x1a1fc990000)
)

const quorumConfig = "server.1=127.0.0.1:23011:23021:participant\n" +
	"server.2=127.0.0.1:23012:23022:participant\n" +
	"server.3=127.0.0.1:23013:23023:participant\nversion=0"

// packet is one expected QuorumPacket: its data is null, the given records, or raw bytes.
type packet struct {
	kind   PacketType
	zxid   Zxid
	data   []record
	raw    []byte
	fromIP bool // authinfo is ip:127.0.0.1
}

func quorumTxn(cxid int32, zxid Zxid, ms int64, op OpCode, body ...record) []record {
	header := &TxnHeader{ClientID: quorumSession, Cxid: cxid, Zxid: zxid, Time: quorumMs + ms, Type: op}
	return append([]record{header}, body...)
}

// forwarded is the data of a REQUEST: session, xid, op, then the client's record.
func forwarded(session SessionID, cxid int32, op OpCode, body ...record) []record {
	return append([]record{newInt64(int64(session)), newInt32(cxid), newInt32(int32(op))}, body...)
}

func proposal(counter uint32, data []record) packet {
	return packet{kind: PacketProposal, zxid: MakeZxid(1, counter), data: data}
}

func bytesOf(rs ...record) (b []byte) {
	for _, r := range rs {
		b = r.AppendTo(b)
	}
	return b
}

func quorumPackets() map[string]packet {
	epoch1 := MakeZxid(1, 0)
	z := func(counter uint32) Zxid { return MakeZxid(1, counter) }
	createM := func(path string, cversion int32) []byte {
		return bytesOf(&CreateTxn{Path: Text(path), Data: []byte("1"), Acl: anyone, ParentCVersion: cversion})
	}
	learner := func(id ServerID, config int64) []record {
		return []record{&LearnerInfo{ServerID: id, ProtocolVersion: LearnerProtocolVersion, ConfigVersion: config}}
	}
	return map[string]packet{
		"Q6":  {kind: PacketFollowerInfo, data: learner(1, 0)},
		"Q7":  {kind: PacketFollowerInfo, zxid: epoch1, data: learner(3, 0x100000000)},
		"Q8":  {kind: PacketFollowerInfo, data: []record{newInt64(1), newInt32(LearnerProtocolVersion)}},
		"Q9":  {kind: PacketObserverInfo, data: learner(4, 0x100000000)},
		"Q10": {kind: PacketLeaderInfo, zxid: epoch1, data: []record{newInt32(LearnerProtocolVersion)}},
		"Q11": {kind: PacketAckEpoch, data: []record{newInt32(0)}},
		"Q12": {kind: PacketAckEpoch, zxid: z(0xb), data: []record{newInt32(-1)}},
		"Q13": {kind: PacketAckEpoch, zxid: z(0x1b), data: []record{newInt32(1)}},
		"Q14": {kind: PacketDiff, zxid: z(0x10)},
		"Q15": {kind: PacketTrunc, zxid: z(2)},
		"Q16": {kind: PacketSnap, zxid: epoch1},
		"Q18": {kind: PacketNewLeader, zxid: epoch1, raw: []byte(quorumConfig)},
		"Q19": {kind: PacketAck, zxid: epoch1},
		"Q20": {kind: PacketUpToDate, zxid: -1},
		"Q21": {kind: PacketRequest, zxid: -1,
			data: forwarded(quorumSession, 0, OpCreateSession, &CreateSessionTxn{TimeOut: 8000})},
		"Q22": proposal(1,
			quorumTxn(0, z(1), 0xd271, OpCreateSession, &CreateSessionTxn{TimeOut: 8000}, digest(0x51c6d660))),
		"Q23": {kind: PacketRequest, zxid: -1, fromIP: true, data: forwarded(quorumSession, 1, OpCreate,
			&CreateRequest{Path: Text("/a"), Data: []byte("hello"), Acl: anyone})},
		"Q24": proposal(2, quorumTxn(1, z(2), 0xd287, OpCreate,
			&CreateTxn{Path: Text("/a"), Data: []byte("hello"), Acl: anyone, ParentCVersion: 1}, digest(0x1b1eaa37f))),
		"Q25": proposal(3, quorumTxn(2, z(3), 0xd293, OpCreate,
			&CreateTxn{Path: Text("/a/s-0000000000"), Data: []byte("x"), Acl: anyone, Ephemeral: true,
				ParentCVersion: 1},
			digest(0x166de7359))),
		"Q26":  {kind: PacketAck, zxid: z(2)},
		"Q26b": {kind: PacketCommit, zxid: z(2)},
		"Q27": proposal(4, quorumTxn(3, z(4), 0xd299, OpSetData,
			&SetDataTxn{Path: Text("/a"), Data: []byte("world"), Version: 1}, digest(0x1efb8860e))),
		"Q28": proposal(5, quorumTxn(4, z(5), 0xd2a1, OpError, &ErrorTxn{Err: ErrNoNode})),
		"Q29": proposal(6, quorumTxn(5, z(6), 0xd2aa, OpMulti, &MultiTxn{Txns: []SubTxn{
			{Type: OpCreate, Data: createM("/m1", 2)},
			{Type: OpSetData, Data: bytesOf(&SetDataTxn{Path: Text("/a"), Data: []byte("2"), Version: 2})},
			{Type: OpCheck, Data: bytesOf(&CheckVersionTxn{Path: Text("/a"), Version: 3})},
		}}, digest(0x20d3c8efa))),
		"Q30": proposal(7, quorumTxn(6, z(7), 0xd2b3, OpMulti, &MultiTxn{Txns: []SubTxn{
			{Type: OpCreate, Data: createM("/m2", 3)},
			{Type: OpError, Data: bytesOf(&ErrorTxn{Err: ErrNoNode})},
			{Type: OpError, Data: bytesOf(&ErrorTxn{Err: ErrRuntimeInconsistency})},
		}}, digest(0x20d3c8efa))),
		"Q31": proposal(8, quorumTxn(7, z(8), 0xd2b8, OpSetACL,
			&SetACLTxn{Path: Text("/a"), Acl: anyone, Version: 1}, digest(0x20487a2bd))),
		"Q32": {kind: PacketRequest, zxid: -1, fromIP: true,
			data: forwarded(quorumSession, 8, OpSync, &PathRequest{Path: Text("/a")})},
		"Q32b": {kind: PacketSync},
		"Q33":  proposal(9, quorumTxn(9, z(9), 0xd2bf, OpDelete, &DeleteTxn{Path: Text("/m1")}, digest(0x1f6fcfdce))),
		"Q34":  {kind: PacketRequest, zxid: -1, fromIP: true, data: forwarded(quorumSession, 10, OpCloseSession)},
		"Q35": proposal(0xa, quorumTxn(10, z(0xa), 0xde7d, OpCloseSession,
			&CloseSessionTxn{Paths2Delete: []Text{Text("/a/s-0000000000")}}, digest(0x1b0f4a9cd))),
		"Q36":  {kind: PacketPing, zxid: epoch1},
		"Q37":  {kind: PacketPing, zxid: epoch1, raw: []byte{}},
		"Q37b": {kind: PacketPing, zxid: z(9), data: []record{newInt64(int64(quorumSession)), newInt32(8000)}},
		"Q38":  {kind: PacketRevalidate, zxid: -1, data: []record{newInt64(int64(quorumSession2)), newInt32(8000)}},
		"Q38b": {kind: PacketRevalidate, zxid: -1, data: []record{newInt64(int64(quorumSession2)), newInt8(1)}},
		"Q39": {kind: PacketInform, zxid: z(0x11), data: []record{
			&TxnHeader{ClientID: quorumSession2 + 2, Zxid: z(0x11), Time: 0x1a1fc9c7a9f, Type: OpCreateSession},
			&CreateSessionTxn{TimeOut: 8000}, digest(0x1ec0cfb5f)}},
		"Q40": {kind: PacketRequest, zxid: -1, fromIP: true, data: forwarded(quorumSession2+5, 1, OpReconfig,
			&ReconfigRequest{LeavingServers: Text("2"), CurConfigID: -1})},
		"Q41":  {kind: PacketCommitAndActivate, zxid: z(0x12), data: []record{newInt64(2)}},
		"Q41b": {kind: PacketCommitAndActivate, zxid: z(0x1b), data: []record{newInt64(1)}},
	}
}

func TestGoldenQuorumPackets(t *testing.T) {
	want := quorumPackets()
	lines := readGolden(t, "quorum", 1)
	require.Len(t, lines, len(want))
	for _, line := range lines {
		t.Run(line.label, func(t *testing.T) {
			w, ok := want[line.label]
			require.True(t, ok)
			p := QuorumPacket{Type: w.kind, Zxid: w.zxid, Data: w.raw}
			if w.data != nil {
				p.Data = bytesOf(w.data...)
			}
			if w.fromIP {
				p.Authinfo = []ID{{Scheme: Text("ip"), Id: Text("127.0.0.1")}}
			}
			requireRecords(t, line.bytes, &p)
			if w.data != nil {
				requireRecords(t, p.Data, w.data...)
			}
		})
	}
}

func TestPacketTypeNames(t *testing.T) {
	names := map[PacketType]string{1: "REQUEST", 2: "PROPOSAL", 3: "ACK", 4: "COMMIT", 5: "PING", 6: "REVALIDATE",
		7: "SYNC", 8: "INFORM", 9: "COMMITANDACTIVATE", 10: "NEWLEADER", 11: "FOLLOWERINFO", 12: "UPTODATE",
		13: "DIFF", 14: "TRUNC", 15: "SNAP", 16: "OBSERVERINFO", 17: "LEADERINFO", 18: "ACKEPOCH",
		19: "INFORMANDACTIVATE", 0: "packet(0)", 20: "packet(20)", -1: "packet(-1)"}
	for kind, name := range names {
		require.Equal(t, name, kind.String())
	}
}
