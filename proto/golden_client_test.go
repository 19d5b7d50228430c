package proto

import (
	"fmt"
	"testing"

	"github.com/seed94657493/warren/proto/internal/require"
)

// clientFiles hold the frames of client-protocol 16.
var clientFiles = []string{"client-create", "client-reads", "client-setdata", "client-multi",
	"client-auth", "client-watches", "client-errors", "client-sasl"}

func reqHdr(xid int32, op OpCode) record { return &RequestHeader{Xid: xid, Type: op} }

func okHdr(xid int32, zxid Zxid) record { return &ReplyHeader{Xid: xid, Zxid: zxid} }

func errHdr(xid int32, zxid Zxid, err ErrCode) record {
	return &ReplyHeader{Xid: xid, Zxid: zxid, Err: err}
}

func multiHdr(op OpCode, err ErrCode) record { return &MultiHeader{Type: op, Err: err} }

func multiTail() record { return &MultiHeader{Type: -1, Done: true, Err: -1} }

// freshStat is the Stat of a znode right after its creation.
func freshStat(zxid Zxid, ms int64) Stat {
	return Stat{Czxid: zxid, Mzxid: zxid, Ctime: ms, Mtime: ms, Pzxid: zxid}
}

const ms0 = 0x1a1fca72a00 // what the times of the capture begin with

// v1Stat is the Stat of /v1 during most of the capture.
func v1Stat(set func(*Stat)) Stat {
	s := Stat{Czxid: 3, Mzxid: 9, Ctime: ms0 + 0x4a, Mtime: ms0 + 0x63, Version: 1, Cversion: 4,
		DataLength: 5, NumChildren: 4, Pzxid: 7}
	if set != nil {
		set(&s)
	}
	return s
}

func v1StatBefore(s *Stat) { s.Mzxid, s.Mtime, s.Version, s.DataLength = 3, ms0+0x4a, 0, 2 }

// clientFrames is every frame of the files by label, in order when a label has several.
var clientFrames = map[string][][]record{
	"V6 C": {{reqHdr(XidPing, OpPing)}},
	"V6 S": {{okHdr(XidPing, 2)}},
	"V7 C": {{reqHdr(1, OpCreate), &CreateRequest{Path: Text("/v1"), Data: []byte("hi"), Acl: anyone}}},
	"V7 S": {{okHdr(1, 3), &CreateResponse{Path: Text("/v1")}}},
	"V8 C": {{reqHdr(2, OpCreate2), &CreateRequest{Path: Text("/v1/c1"), Data: []byte{}, Acl: anyone}}},
	"V8 S": {{okHdr(2, 4), &Create2Response{Path: Text("/v1/c1"), Stat: freshStat(4, ms0+0x54)}}},
	"V9 C": {{reqHdr(3, OpCreate), &CreateRequest{Path: Text("/v1/e-"), Data: []byte{}, Acl: anyone,
		Flags: int32(ModeEphemeralSequential)}}},
	"V9 S": {{okHdr(3, 5), &CreateResponse{Path: Text("/v1/e-0000000001")}}},
	"V10 C": {{reqHdr(4, OpCreateContainer), &CreateRequest{Path: Text("/v1/k"), Data: []byte{},
		Acl: anyone, Flags: int32(ModeContainer)}}},
	"V10 S": {{okHdr(4, 6), &Create2Response{Path: Text("/v1/k"), Stat: freshStat(6, ms0+0x58)}}},
	"V11 C": {{reqHdr(5, OpCreateTTL), &CreateTTLRequest{Path: Text("/v1/t"), Data: []byte{},
		Acl: anyone, Flags: int32(ModePersistentTTL), Ttl: 60000}}},
	"V11 S": {{okHdr(5, 7), &Create2Response{Path: Text("/v1/t"), Stat: freshStat(7, ms0+0x5b)}}},
	"V12 C": {{reqHdr(6, OpCreate), &CreateRequest{Path: Text("/v1"), Data: []byte("hi"), Acl: anyone}}},
	"V12 S": {{errHdr(6, 8, ErrNodeExists)}},
	"V13 C": {{reqHdr(0x11, OpDelete), &DeleteRequest{Path: Text("/v1"), Version: -1}}},
	"V13 S": {{errHdr(0x11, 0xc, ErrNotEmpty)}},
	"V14 C": {{reqHdr(0x12, OpDelete), &DeleteRequest{Path: Text("/v1/c1")}}},
	"V14 S": {{okHdr(0x12, 0xd)}},

	"V15 C": {{reqHdr(7, OpExists), &PathWatchRequest{Path: Text("/v1")}}},
	"V15 S": {{okHdr(7, 8), &StatResponse{Stat: v1Stat(v1StatBefore)}}},
	"V16 C": {{reqHdr(8, OpExists), &PathWatchRequest{Path: Text("/none")}}},
	"V16 S": {{errHdr(8, 8, ErrNoNode)}},
	"V17 C": {{reqHdr(9, OpGetData), &PathWatchRequest{Path: Text("/v1"), Watch: true}}},
	"V17 S": {{okHdr(9, 8), &GetDataResponse{Data: []byte("hi"), Stat: v1Stat(v1StatBefore)}}},
	"V18 C": {{reqHdr(0xc, OpGetChildren), &PathWatchRequest{Path: Text("/v1/k")}}},
	"V18 S": {{okHdr(0xc, 0xa), &GetChildrenResponse{Children: []Text{}}}},
	"V19 C": {{reqHdr(0xd, OpGetChildren2), &PathWatchRequest{Path: Text("/v1")}}},
	"V19 S": {{okHdr(0xd, 0xa), &GetChildren2Response{
		Children: []Text{Text("e-0000000001"), Text("k"), Text("t"), Text("c1")}, Stat: v1Stat(nil)}}},
	"V20 C": {{reqHdr(0xe, OpGetACL), &PathRequest{Path: Text("/v1")}}},
	"V20 S": {{okHdr(0xe, 0xa), &GetACLResponse{Acl: anyone, Stat: v1Stat(nil)}}},
	"V21 C": {{reqHdr(0x10, OpSync), &PathRequest{Path: Text("/v1")}}},
	"V21 S": {{okHdr(0x10, 0xb), &SyncResponse{Path: Text("/v1")}}},
	"V22 C": {{reqHdr(0x17, OpGetEphemerals), &GetEphemeralsRequest{PrefixPath: Text("/")}}},
	"V22 S": {{okHdr(0x17, 0xf), &GetEphemeralsResponse{Ephemerals: []Text{Text("/v1/e-0000000001")}}}},
	"V23 C": {{reqHdr(0x18, OpGetAllChildrenNumber), &PathRequest{Path: Text("/v1")}}},
	"V23 S": {{okHdr(0x18, 0xf), &GetAllChildrenNumberResponse{TotalNumber: 3}}},
	"V24 C": {{reqHdr(0x16, OpWhoAmI)}},
	"V24 S": {{okHdr(0x16, 0xf), &WhoAmIResponse{ClientInfo: []ClientInfo{
		{AuthScheme: Text("ip"), User: Text("127.0.0.1")}, {AuthScheme: Text("digest"), User: Text("bob")}}}}},

	"V25 C": {{reqHdr(0xa, OpSetData), &SetDataRequest{Path: Text("/v1"), Data: []byte("hello")}}},
	"V25 S": {
		{okHdr(XidNotification, 9),
			&WatcherEvent{Type: EventNodeDataChanged, State: StateSyncConnected, Path: Text("/v1")}},
		{okHdr(0xa, 9), &StatResponse{Stat: v1Stat(nil)}},
	},
	"V26 C": {{reqHdr(0xb, OpSetData), &SetDataRequest{Path: Text("/v1"), Data: []byte("x")}}},
	"V26 S": {{errHdr(0xb, 0xa, ErrBadVersion)}},
	"V27 C": {{reqHdr(0xf, OpSetACL), &SetACLRequest{Path: Text("/v1"), Acl: anyone, Version: -1}}},
	"V27 S": {{okHdr(0xf, 0xb), &StatResponse{Stat: v1Stat(func(s *Stat) { s.Aversion = 1 })}}},

	"V28 C": {{reqHdr(0x13, OpMulti),
		multiHdr(OpCheck, -1), &CheckVersionRequest{Path: Text("/v1"), Version: 1},
		multiHdr(OpCreate, -1), &CreateRequest{Path: Text("/v1/m"), Data: []byte{}, Acl: anyone},
		multiHdr(OpSetData, -1), &SetDataRequest{Path: Text("/v1/m"), Data: []byte("1")},
		multiHdr(OpDelete, -1), &DeleteRequest{Path: Text("/v1/m"), Version: 1},
		multiTail()}},
	"V28 S": {{okHdr(0x13, 0xe),
		multiHdr(OpCheck, 0),
		multiHdr(OpCreate, 0), &CreateResponse{Path: Text("/v1/m")},
		multiHdr(OpSetData, 0), &StatResponse{Stat: Stat{Czxid: 0xe, Mzxid: 0xe, Ctime: ms0 + 0x75,
			Mtime: ms0 + 0x75, Version: 1, DataLength: 1, Pzxid: 0xe}},
		multiHdr(OpDelete, 0),
		multiTail()}},
	"V29 C": {{reqHdr(0x14, OpMulti),
		multiHdr(OpCreate, -1), &CreateRequest{Path: Text("/v1/m"), Data: []byte{}, Acl: anyone},
		multiHdr(OpCheck, -1), &CheckVersionRequest{Path: Text("/v1"), Version: 9},
		multiHdr(OpDelete, -1), &DeleteRequest{Path: Text("/v1/k"), Version: -1},
		multiTail()}},
	"V29 S": {{okHdr(0x14, 0xf),
		multiHdr(OpError, OK), &ErrorResponse{Err: OK},
		multiHdr(OpError, ErrBadVersion), &ErrorResponse{Err: ErrBadVersion},
		multiHdr(OpError, ErrRuntimeInconsistency), &ErrorResponse{Err: ErrRuntimeInconsistency},
		multiTail()}},
	"V30 C": {{reqHdr(0x15, OpMultiRead),
		multiHdr(OpGetData, -1), &PathWatchRequest{Path: Text("/v1")},
		multiHdr(OpGetChildren, -1), &PathWatchRequest{Path: Text("/v1/k")},
		multiHdr(OpGetData, -1), &PathWatchRequest{Path: Text("/none")},
		multiTail()}},
	"V30 S": {{okHdr(0x15, 0xf),
		multiHdr(OpGetData, 0), &GetDataResponse{Data: []byte("hello"), Stat: v1Stat(func(s *Stat) {
			s.Cversion, s.Aversion, s.NumChildren, s.Pzxid = 7, 1, 3, 0xe
		})},
		multiHdr(OpGetChildren, 0), &GetChildrenResponse{Children: []Text{}},
		multiHdr(OpError, ErrNoNode), &ErrorResponse{Err: ErrNoNode},
		multiTail()}},

	"V31 C": {{reqHdr(XidAuth, OpAuth), &AuthPacket{Scheme: Text("digest"), Auth: []byte("bob:secret")}}},
	"V31 S": {{okHdr(XidAuth, 0)}},
	"V32 C": {{reqHdr(XidAuth, OpAuth), &AuthPacket{Scheme: Text("nope"), Auth: []byte("x")}}},
	"V32 S": {{errHdr(XidAuth, 0, ErrAuthFailed)}},

	"V33 C": {{reqHdr(0x19, OpAddWatch), &AddWatchRequest{Path: Text("/v1"), Mode: AddWatchPersistentRecursive}}},
	"V33 S": {{okHdr(0x19, 0xf), &ErrorResponse{}}},
	"V34 C": {{reqHdr(0x1a, OpCheckWatches), &CheckWatchesRequest{Path: Text("/v1"), Type: WatcherAny}}},
	"V34 S": {{okHdr(0x1a, 0xf)}},
	"V35 C": {{reqHdr(0x1b, OpRemoveWatches), &CheckWatchesRequest{Path: Text("/v1"), Type: WatcherAny}}},
	"V35 S": {{okHdr(0x1b, 0xf)}},
	"V36 C": {{reqHdr(0x1c, OpRemoveWatches), &CheckWatchesRequest{Path: Text("/v1"), Type: WatcherAny}}},
	"V36 S": {{errHdr(0x1c, 0xf, ErrNoWatcher)}},
	"V37 C": {{reqHdr(XidSetWatches, OpSetWatches), &SetWatches{RelativeZxid: 5,
		DataWatches: []Text{Text("/v1")}, ExistWatches: []Text{Text("/none")}, ChildWatches: []Text{}}}},
	"V37 S": {
		{okHdr(XidNotification, -1),
			&WatcherEvent{Type: EventNodeDataChanged, State: StateSyncConnected, Path: Text("/v1")}},
		{okHdr(XidSetWatches, 0x10)},
	},
	"V38 C": {{reqHdr(XidSetWatches, OpSetWatches2), &SetWatches2{RelativeZxid: 0x10000000000,
		DataWatches: []Text{}, ExistWatches: []Text{}, ChildWatches: []Text{},
		PersistentWatches: []Text{Text("/v1")}, PersistentRecursiveWatches: []Text{Text("/v1")}}}},
	"V38 S": {{okHdr(XidSetWatches, 0x10)}},

	"V39 C": {{reqHdr(1, 99)}},
	"V39 S": {{errHdr(1, -1, ErrUnimplemented)}},
	"V40 C": {{reqHdr(0x1d, OpReconfig), &ReconfigRequest{CurConfigID: -1}}},
	"V40 S": {{errHdr(0x1d, 0x14, ErrReconfigDisabled)}},
	"V41 C": {{reqHdr(0x1e, OpCloseSession)}},
	"V41 S": {{okHdr(0x1e, 0x15)}},
	"V42 S": {{errHdr(3, MakeZxid(4, 1), ErrNotReadOnly)}},
	"V43 S": {{errHdr(XidPing, 0, ErrSessionClosedRequireAuth)}},

	"V44 C": {{reqHdr(1, OpSasl), &GetSASLRequest{Token: []byte{}}}},
	"V44 S": {{okHdr(1, 0), &SetSASLResponse{}}},
	"V45 C": {
		{reqHdr(1, OpSasl), &GetSASLRequest{Token: []byte{}}},
		{reqHdr(2, OpSasl), &GetSASLRequest{Token: []byte(`charset=utf-8,username="bob",realm="zk-sasl-md5",` +
			`nonce="xY0JK+LWOCa7Z/F6jPF4yOocCYg72asBt7q3WyTn",nc=00000001,cnonce="OA6MG9tEQGm2hh",` +
			`digest-uri="zookeeper/zk-sasl-md5",maxbuf=65536,response=012aef82123e1478ffd066ce592366f9,qop=auth`)}},
	},
	"V45 S": {
		{okHdr(1, 0), &SetSASLResponse{Token: []byte(`realm="zk-sasl-md5",` +
			`nonce="xY0JK+LWOCa7Z/F6jPF4yOocCYg72asBt7q3WyTn",charset=utf-8,algorithm=md5-sess`)}},
		{okHdr(2, 0), &SetSASLResponse{Token: []byte("rspauth=da86919f214d86dd35224ea179331f9f")}},
	},
	"V46 S": {{errHdr(2, 0, ErrAuthFailed), &SetSASLResponse{}}},
}

func TestGoldenClientFrames(t *testing.T) {
	seen := map[string]int{}
	for _, file := range clientFiles {
		for _, line := range readGolden(t, file, 2) {
			want := clientFrames[line.label]
			i := seen[line.label]
			seen[line.label]++
			t.Run(fmt.Sprintf("%s %d", line.label, i), func(t *testing.T) {
				require.Less(t, i, len(want), "no expectation for this frame")
				requireFrame(t, line.bytes, want[i]...)
			})
		}
	}
	for label, want := range clientFrames {
		require.Equal(t, len(want), seen[label], "frames of %s in the files", label)
	}
}

// TestGoldenVectorsComplete checks that no vector of the specification got lost. V5 is the table
// of passwords.
func TestGoldenVectorsComplete(t *testing.T) {
	for v := 6; v <= 46; v++ {
		_, client := clientFrames[fmt.Sprintf("V%d C", v)]
		_, server := clientFrames[fmt.Sprintf("V%d S", v)]
		require.True(t, client || server, "V%d", v)
	}
}

func TestGoldenHandshake(t *testing.T) {
	zeros := make([]byte, PasswordSize)
	request := func(zxid Zxid, id SessionID, passwd []byte, hasReadOnly bool) ConnectRequest {
		return ConnectRequest{LastZxidSeen: zxid, TimeOut: 10000, SessionID: id, Password: passwd,
			HasReadOnly: hasReadOnly}
	}
	response := func(timeout int32, id SessionID, hasReadOnly, readOnly bool) ConnectResponse {
		r := ConnectResponse{TimeOut: timeout, SessionID: id, HasReadOnly: hasReadOnly, ReadOnly: readOnly}
		if id != 0 {
			r.Password = SessionPassword(id)
		}
		return r
	}
	resumed := SessionID(0x01000014703400df)
	resumedPassword := SessionPassword(resumed)
	requests := map[string]ConnectRequest{
		"V1 C": request(0, 0, zeros, true),
		"V2 C": request(0, 0, zeros, false),
		"V3 C": request(0, 0x1234567890, zeros, true),
		"J1 C": request(0x28c, resumed, resumedPassword[:], true),
	}
	responses := map[string]ConnectResponse{
		"V1 S": response(10000, 0x010000284cd50000, true, false),
		"V2 S": response(10000, 0x010000284cd50001, false, false),
		"V3 S": response(0, 0, true, false),
		"V4 S": response(10000, 0x01000022a9ec0000, true, true),
		"J1 S": response(10000, resumed, true, false),
	}
	lines := append(readGolden(t, "client-handshake", 2), readGolden(t, "client-reconnect", 2)[:2]...)
	require.Len(t, lines, len(requests)+len(responses))
	for _, line := range lines {
		body := line.bytes[4:]
		require.EqualValues(t, len(body), frameLength(line.bytes), line.label)
		var again []byte
		if want, ok := requests[line.label]; ok {
			var got ConnectRequest
			require.NoError(t, got.ReadFrom(body), line.label)
			require.Equal(t, want, got, line.label)
			again = want.AppendTo(nil)
		} else {
			want, ok := responses[line.label]
			require.True(t, ok, line.label)
			var got ConnectResponse
			require.NoError(t, got.ReadFrom(body), line.label)
			require.Equal(t, want, got, line.label)
			again = want.AppendTo(nil)
		}
		require.Equal(t, body, again, line.label)
	}
}

func frameLength(frame []byte) int32 {
	r := NewReader(frame)
	return r.Int32()
}

// TestGoldenReconnect checks what follows the handshake of a Java client that resumes.
func TestGoldenReconnect(t *testing.T) {
	want := [][]record{
		{reqHdr(XidAuth, OpAuth), &AuthPacket{Scheme: Text("digest"), Auth: []byte("j:j")}},
		{reqHdr(5, OpSetWatches), &SetWatches{RelativeZxid: 0x28c, DataWatches: []Text{Text("/jv")},
			ExistWatches: []Text{Text("/jnope")}, ChildWatches: []Text{Text("/jv")}}},
		{okHdr(XidAuth, 0)},
		{okHdr(5, 0x28c)},
	}
	lines := readGolden(t, "client-reconnect", 2)[2:]
	require.Len(t, lines, len(want))
	for i, line := range lines {
		requireFrame(t, line.bytes, want[i]...)
	}
}

func TestGoldenPasswords(t *testing.T) {
	lines := readGolden(t, "passwords", 1)
	require.Len(t, lines, 7)
	for _, line := range lines {
		var id SessionID
		_, err := fmt.Sscanf(line.label, "%x", (*int64)(&id))
		require.NoError(t, err)
		passwd := SessionPassword(id)
		require.Equal(t, line.bytes, passwd[:], line.label)
	}
	// Only the low 48 bits count.
	require.Equal(t, SessionPassword(0x0100_00284cd50000), SessionPassword(0x0203_00284cd50000))
	require.NotEqual(t, SessionPassword(1), SessionPassword(2))
}
