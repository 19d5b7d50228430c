package proto

import (
	"hash/adler32"
	"testing"

	"github.com/seed94657493/warren/proto/internal/require"
)

const (
	tinySession = SessionID(0x0100002c4c590000)
	tinyMs      = int64(0x1a1fcab0000)
)

// loggedTxn is one record of a log file.
type loggedTxn struct {
	checksum int64
	length   int32
	txn      []record
}

func tinyHeader(cxid int32, zxid Zxid, ms int64, op OpCode) record {
	return &TxnHeader{ClientID: tinySession, Cxid: cxid, Zxid: zxid, Time: tinyMs + ms, Type: op}
}

func digest(d int64) record { return &TxnDigest{Version: DigestVersion, TreeDigest: d} }

// requireLog checks a log file: its header, then each record's checksum, length, txn and end byte.
func requireLog(t *testing.T, b []byte, txns []loggedTxn) {
	t.Helper()
	want := []record{&FileHeader{Magic: MagicLog, Version: FileVersion}}
	for _, rec := range txns {
		var payload []byte
		for _, r := range rec.txn {
			payload = r.AppendTo(payload)
		}
		require.EqualValues(t, rec.length, len(payload))
		require.EqualValues(t, rec.checksum, adler32.Checksum(payload))
		want = append(want, newInt64(rec.checksum), newInt32(rec.length))
		want = append(want, rec.txn...)
		want = append(want, newInt8('B'))
	}
	requireRecords(t, b, want...)
}

func TestGoldenLog1(t *testing.T) {
	requireLog(t, readGoldenFile(t, "log-1"), []loggedTxn{
		{0xd74c0c05, 48, []record{tinyHeader(0, 1, 0x1aed, OpCreateSession),
			&CreateSessionTxn{TimeOut: 1000000000}, digest(1371985504)}},
		{0xc60e0be8, 87, []record{tinyHeader(1, 2, 0x1af8, OpCreate),
			&CreateTxn{Path: Text("/a"), Data: []byte("x"), Acl: anyone, ParentCVersion: 1}, digest(4872376239)}},
		{0xa873066c, 60, []record{tinyHeader(2, 3, 0x1b03, OpSetData),
			&SetDataTxn{Path: Text("/a"), Data: []byte("yz"), Version: 1}, digest(3123476289)}},
		{0x5ae10acf, 36, []record{tinyHeader(3, 4, 0x1b06, OpError), &ErrorTxn{Err: ErrNodeExists}}},
		{0xc0d30c3d, 89, []record{tinyHeader(4, 5, 0x1b08, OpCreate2),
			&CreateTxn{Path: Text("/e"), Data: []byte("eph"), Acl: anyone, Ephemeral: true, ParentCVersion: 2},
			digest(6278454753)}},
	})
}

func TestGoldenLog6(t *testing.T) {
	requireLog(t, readGoldenFile(t, "log-6"), []loggedTxn{
		{0x79cb0632, 50, []record{tinyHeader(11, 6, 0x1c50, OpDelete),
			&DeleteTxn{Path: Text("/a")}, digest(5678412170)}},
		{0xea4f0a8d, 54, []record{tinyHeader(12, 7, 0x1c53, OpCloseSession),
			&CloseSessionTxn{Paths2Delete: []Text{Text("/e")}}, digest(2653987572)}},
	})
}

func TestGoldenSnapshot(t *testing.T) {
	node := func(path, data string, acl int64, stat StatPersisted) []record {
		return []record{newText(path), newText(data), newInt64(acl), &stat}
	}
	acl := func(key int64, perms int32) []record {
		return []record{newInt64(key), newInt32(1), &ACL{Perms: perms, Id: anyone[0].Id}}
	}
	var want []record
	add := func(rs ...record) { want = append(want, rs...) }
	add(&FileHeader{Magic: MagicSnapshot, Version: FileVersion, Dbid: -1})
	add(newInt32(1), newInt64(int64(tinySession)), newInt32(1000000000))
	add(newInt32(2))
	add(acl(1, PermRead)...)
	add(acl(2, PermAll)...)
	add(node("", "", -1, StatPersisted{Cversion: 2, Pzxid: 5})...)
	add(node("/a", "yz", 2,
		StatPersisted{Czxid: 2, Mzxid: 3, Ctime: tinyMs + 0x1af8, Mtime: tinyMs + 0x1b03, Version: 1, Pzxid: 2})...)
	add(node("/zookeeper", "", -1, StatPersisted{})...)
	add(node("/zookeeper/config", "", 1, StatPersisted{Aversion: -1})...)
	add(node("/zookeeper/quota", "", -1, StatPersisted{})...)
	add(node("/e", "eph", 2, StatPersisted{Czxid: 5, Mzxid: 5, Ctime: tinyMs + 0x1b08, Mtime: tinyMs + 0x1b08,
		EphemeralOwner: tinySession, Pzxid: 5})...)
	add(newText("/"), newInt64(0x1f5a5186), newText("/"))
	add(newInt64(5), newInt32(DigestVersion), newInt64(6278454753), newInt64(0xce9f553b), newText("/"))
	b := readGoldenFile(t, "snapshot-5")
	requireRecords(t, b, want...)
	require.EqualValues(t, 0x1f5a5186, adler32.Checksum(b[:619]))
	require.EqualValues(t, 0xce9f553b, adler32.Checksum(b[:652]))
}

// TestSizes checks the constants against the encodings.
func TestSizes(t *testing.T) {
	require.Len(t, new(Stat).AppendTo(nil), StatSize)
	require.Len(t, new(StatPersisted).AppendTo(nil), StatPersistedSize)
	require.Len(t, new(TxnHeader).AppendTo(nil), TxnHeaderSize)
	require.Len(t, new(TxnDigest).AppendTo(nil), TxnDigestSize)
	require.Len(t, new(RequestHeader).AppendTo(nil), RequestHeaderSize)
	require.Len(t, new(ReplyHeader).AppendTo(nil), ReplyHeaderSize)
}
