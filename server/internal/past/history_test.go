package past

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/rebuild"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
)

var usual = Limits{Bytes: 1 << 30, Time: time.Minute, Versions: 100, Data: 1 << 20}

// rig is a log in memory.
type rig struct {
	t    *testing.T
	fs   *vfs.Mem
	log  *wal.Log
	last proto.Zxid
}

func newRig(t *testing.T) *rig {
	fs := vfs.NewMem()
	require.NoError(t, fs.MkdirAll("log"))
	require.NoError(t, fs.MkdirAll("snap"))
	l := must.Do(wal.Open(wal.Options{FS: fs, Dir: "log", PreallocSize: 1 << 10}))(t)
	must.Do(l.Replay(1, func(*wal.Record) error { return nil }))(t)
	t.Cleanup(func() { _ = l.Close() })
	return &rig{t: t, fs: fs, log: l}
}

type record interface{ AppendTo(b []byte) []byte }

// add appends a txn of a session, and syncs it.
func (r *rig) add(session proto.SessionID, op proto.OpCode, body record) {
	r.last++
	h := proto.TxnHeader{ClientID: session, Zxid: r.last, Time: 1000 * int64(r.last), Type: op}
	b := wal.BeginRecord(nil)
	b = wal.EndRecord(body.AppendTo(h.AppendTo(b)), 0)
	require.NoError(r.t, r.log.Append(b, r.last, r.last))
	require.NoError(r.t, r.log.Sync())
}

func (r *rig) read(path string, most Limits) *History {
	h := must.Do(Of(context.Background(), r.dirs(), path, most))(r.t)
	return h
}

func (r *rig) dirs() rebuild.Dirs {
	return rebuild.Dirs{FS: r.fs, Log: "log", Snapshots: "snap", Last: r.last}
}

func text(s string) proto.Text { return proto.Text(s) }

var open = []proto.ACL{{Perms: proto.PermAll, Id: proto.ID{Scheme: text("world"), Id: text("anyone")}}}
var closed = []proto.ACL{{Perms: proto.PermAll, Id: proto.ID{Scheme: text("digest"), Id: text("a:b")}}}

func TestHistory(t *testing.T) {
	r := newRig(t)
	r.add(7, proto.OpCreate, &proto.CreateTxn{Path: text("/a"), Data: []byte("one"), Acl: open})
	r.add(7, proto.OpCreate, &proto.CreateTxn{Path: text("/a/b"), Data: []byte("other"), Acl: open})
	r.add(8, proto.OpSetData, &proto.SetDataTxn{Path: text("/a"), Data: []byte("two"), Version: 1})
	require.NoError(t, r.log.Roll())
	r.add(8, proto.OpSetACL, &proto.SetACLTxn{Path: text("/a"), Acl: closed, Version: 1})
	sub := proto.SetDataTxn{Path: text("/a"), Data: []byte("three"), Version: 2}
	failed := int32(proto.ErrBadVersion)
	r.add(9, proto.OpMulti, &proto.MultiTxn{Txns: []proto.SubTxn{
		{Type: proto.OpSetData, Data: sub.AppendTo(nil)},
		{Type: proto.OpError, Data: proto.AppendInt32(nil, failed)}}})
	r.add(9, proto.OpMulti, &proto.MultiTxn{Txns: []proto.SubTxn{{Type: proto.OpSetData, Data: sub.AppendTo(nil)}}})
	r.add(9, proto.OpDelete, &proto.DeleteTxn{Path: text("/a")})
	r.add(10, proto.OpCreate, &proto.CreateTxn{Path: text("/a"), Acl: open, Ephemeral: true})
	r.add(10, proto.OpCloseSession, &proto.CloseSessionTxn{Paths2Delete: []proto.Text{text("/x"), text("/a")}})

	h := r.read("/a", usual)
	require.False(t, h.Cut)
	require.EqualValues(t, 1, h.From)
	want := []string{"deleted 9 10 -1 false", "created 8 10 0 true", "deleted 7 9 -1 false",
		"changed 6 9 2 three true", "permissions 4 8 -1 false", "changed 3 8 1 two true", "created 1 7 0 one true"}
	var got []string
	for _, v := range h.Versions {
		require.EqualValues(t, 1000*int64(v.Zxid), v.Time)
		line := fmt.Sprintf("%v %d %d %d", v.Kind, int64(v.Zxid), int64(v.Session), v.Version)
		if len(v.Data) > 0 {
			line += " " + string(v.Data)
		}
		got = append(got, fmt.Sprint(line, " ", v.HasData))
	}
	require.Equal(t, want, got)
	require.Equal(t, closed, h.Versions[3].ACL)
	require.Equal(t, open, h.Versions[5].ACL, "what was before setACL had the ACL of the create")
	require.Empty(t, r.read("/none", usual).Versions)

	r.last = 3 // txns that were not applied do not exist
	require.Len(t, r.read("/a", usual).Versions, 2)
}

func TestHistoryIsBounded(t *testing.T) {
	r := newRig(t)
	r.add(7, proto.OpCreate, &proto.CreateTxn{Path: text("/a"), Acl: closed})
	for i := range 50 {
		if i%10 == 0 {
			require.NoError(t, r.log.Roll())
		}
		r.add(7, proto.OpSetData, &proto.SetDataTxn{Path: text("/a"), Data: make([]byte, 100), Version: int32(i + 1)})
	}
	h := r.read("/a", Limits{Bytes: 1 << 30, Time: time.Minute, Versions: 25, Data: 250})
	require.True(t, h.Cut)
	require.Len(t, h.Versions, 25)
	require.EqualValues(t, r.last, h.Versions[0].Zxid)
	require.Equal(t, h.Versions[24].Zxid, h.From)
	for i, v := range h.Versions {
		require.Equal(t, i < 2, v.HasData, i)
		require.Equal(t, 100, v.Size)
		require.Nil(t, v.ACL, "what has set it was not read")
	}
	h = r.read("/a", Limits{Bytes: 1 << 30, Time: time.Minute, Versions: 5, Data: 250})
	require.True(t, h.Cut, "within the newest file")
	require.Len(t, h.Versions, 5)
	require.Equal(t, h.Versions[4].Zxid, h.From)
	require.NoError(t, r.log.Close(), "from here on no file grows ahead of the log's end")
	names := must.Do(wal.Names(r.fs, "log"))(t)
	newest := must.Do(r.fs.Stat("log/" + names[len(names)-1]))(t)
	h = r.read("/a", Limits{Bytes: newest.Size(), Time: time.Minute, Versions: 100, Data: 1 << 20})
	require.True(t, h.Cut)
	require.NotEmpty(t, h.Versions)
	require.Less(t, len(h.Versions), 51)
	require.ErrorIs(t, must.Err(Of(context.Background(), r.dirs(), "/a",
		Limits{Bytes: 10, Time: time.Minute, Versions: 1})), ErrLarge)
}

// A txn that ZooKeeper has logged a second time is one version.
func TestHistoryOfRepeatedTxns(t *testing.T) {
	r := newRig(t)
	r.add(7, proto.OpCreate, &proto.CreateTxn{Path: text("/a"), Acl: open})
	for i := range 3 {
		r.add(7, proto.OpSetData, &proto.SetDataTxn{Path: text("/a"), Version: int32(i + 1)})
	}
	require.NoError(t, r.log.Close())
	want := r.read("/a", usual)
	require.Len(t, want.Versions, 4)

	names := must.Do(wal.Names(r.fs, "log"))(t)
	require.Len(t, names, 1)
	var again []byte
	sum, err := wal.Scan(r.fs, "log/"+names[0], func(rec *wal.Record) error {
		if rec.Zxid > 1 {
			again = wal.AppendRecord(again, rec.Payload)
		}
		return nil
	})
	require.NoError(t, err)
	f := must.Do(r.fs.OpenWrite("log/" + names[0]))(t)
	must.Do(f.WriteAt(again, sum.End))(t)
	require.NoError(t, f.Close())
	sum = must.Do(wal.Scan(r.fs, "log/"+names[0], func(*wal.Record) error { return nil }))(t)
	require.Equal(t, 3, sum.Repeated)
	r.last++ // so that the reading does not end before them
	require.Equal(t, want.Versions, r.read("/a", usual).Versions)
}

// A txn of any bytes is read or refused, and a version that is told is about the path.
func FuzzRecord(f *testing.F) {
	h := proto.TxnHeader{Zxid: 1, Type: proto.OpCreate}
	f.Add((&proto.CreateTxn{Path: text("/a"), Data: []byte("x"), Acl: open}).AppendTo(h.AppendTo(nil)))
	h.Type = proto.OpCloseSession
	f.Add((&proto.CloseSessionTxn{Paths2Delete: []proto.Text{text("/a")}}).AppendTo(h.AppendTo(nil)))
	h.Type = proto.OpMulti
	f.Add((&proto.MultiTxn{Txns: []proto.SubTxn{{Type: proto.OpDelete,
		Data: (&proto.DeleteTxn{Path: text("/a")}).AppendTo(nil)}}}).AppendTo(h.AppendTo(nil)))
	f.Fuzz(func(t *testing.T, payload []byte) {
		r := newReading(&source{most: usual}, "/a")
		if r.record(payload) == nil && len(r.noted) > 0 {
			require.Contains(t, string(payload), "/a")
		}
		b := newBelow(&source{most: usual}, "/a")
		if b.record(payload) == nil && len(b.noted) > 0 {
			require.Contains(t, string(payload), "/a/"+b.noted[0].Name)
		}
	})
}
