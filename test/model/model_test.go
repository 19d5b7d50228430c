package model_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/model"
)

// driver sends requests of session 7 over connection 1 to a model.
type driver struct {
	*model.Model
	t    *testing.T
	zxid proto.Zxid
	time int64
}

func newDriver(t *testing.T) *driver {
	d := &driver{Model: model.New(model.Config{ExtendedTypes: true}), t: t}
	d.Connect(1, nil)
	d.send(proto.OpCreateSession, &proto.CreateSessionTxn{TimeOut: 4000})
	return d
}

func (d *driver) send(op proto.OpCode, r record) model.Result {
	d.zxid++
	return d.Do(model.Request{Conn: 1, Session: 7, Op: op, Body: r.AppendTo(nil), Zxid: d.zxid, TimeMs: d.time})
}

func (d *driver) create(path string, flags int32) model.Result {
	return d.send(proto.OpCreate,
		&proto.CreateRequest{Path: proto.Text(path), Data: []byte("x"), Acl: open(), Flags: flags})
}

func (d *driver) set(path, data string, version int32) model.Result {
	return d.send(proto.OpSetData, &proto.SetDataRequest{Path: proto.Text(path), Data: []byte(data), Version: version})
}

func (d *driver) delete(path string, version int32) model.Result {
	return d.send(proto.OpDelete, &proto.DeleteRequest{Path: proto.Text(path), Version: version})
}

// TestModelDigest is the chain of storage 13.4, measured on ZooKeeper.
func TestModelDigest(t *testing.T) {
	d := newDriver(t)
	require.Equal(t, int64(1371985504), d.Digest(), "empty tree")
	d.time = 0x1a1fcab1af8
	require.Equal(t, proto.OK, d.create("/a", 0).Err)
	d.time = 0x1a1fcab1b03
	require.Equal(t, proto.OK, d.set("/a", "yz", -1).Err)
	require.Equal(t, int64(3123476289), d.Digest())
	require.Equal(t, proto.ErrNodeExists, d.create("/a", 0).Err)
	d.time = 0x1a1fcab1b08
	const owner = 0x0100002c4c590000
	d.Sessions()[owner] = 4000
	d.zxid++
	res := d.Do(model.Request{Session: owner, Op: proto.OpCreate, Zxid: d.zxid, TimeMs: d.time,
		Body: (&proto.CreateRequest{
			Path: proto.Text("/e"), Data: []byte("eph"), Acl: open(), Flags: 1}).AppendTo(nil)})
	require.Equal(t, proto.OK, res.Err)
	require.Equal(t, int64(6278454753), d.Digest())
}

// TestModelSequences are the measured sequences of server-semantics 2.2 and 16.1.
func TestModelSequences(t *testing.T) {
	d := newDriver(t)
	got := []proto.ErrCode{
		d.create("/a", 0).Err, d.set("/a", "1", 0).Err, d.set("/a", "2", 1).Err, d.set("/a", "3", 1).Err,
		d.set("/a", "4", 2).Err, d.delete("/a", 2).Err, d.delete("/a", 3).Err, d.create("/a", 0).Err,
	}
	require.Equal(t, []proto.ErrCode{0, 0, 0, proto.ErrBadVersion, 0, proto.ErrBadVersion, 0, 0}, got)
	got = []proto.ErrCode{
		d.create("/p", 0).Err, d.create("/p/c", 0).Err, d.delete("/p", -1).Err, d.delete("/p/c", -1).Err,
		d.delete("/p", -1).Err, d.create("/p/c", 0).Err,
	}
	require.Equal(t, []proto.ErrCode{0, 0, proto.ErrNotEmpty, 0, 0, proto.ErrNoNode}, got)

	d.Put("/full", nil, open(), proto.StatPersisted{Cversion: math.MaxInt32})
	require.Equal(t, "/full/n-2147483647", createdPath(t, d.create("/full/n-", 2)))
	require.Equal(t, proto.ErrNodeExists, d.create("/full/n-", 2).Err)
	require.Equal(t, proto.OK, d.create("/full/plain", 0).Err)
	d.Put("/old", nil, open(), proto.StatPersisted{Cversion: -5})
	require.Equal(t, "/old/n--000000005", createdPath(t, d.create("/old/n-", 2)))
}

func createdPath(t *testing.T, res model.Result) string {
	t.Helper()
	var r proto.CreateResponse
	require.Equal(t, proto.OK, res.Err)
	require.NoError(t, r.ReadFrom(res.Body))
	return r.Path.String()
}

// TestModelMulti is vector V29 of client-protocol 16.5 in its shape: a failure makes slots
// 0, the error, -2, and undoes what came before.
func TestModelMulti(t *testing.T) {
	d := newDriver(t)
	d.create("/v1", 0)
	body := proto.AppendMultiOp(nil, proto.OpCreate)
	body = (&proto.CreateRequest{Path: proto.Text("/v1/m-"), Acl: open(), Flags: 2}).AppendTo(body)
	body = proto.AppendMultiOp(body, proto.OpCheck)
	body = (&proto.CheckVersionRequest{Path: proto.Text("/v1"), Version: 9}).AppendTo(body)
	body = proto.AppendMultiOp(body, proto.OpDelete)
	body = (&proto.DeleteRequest{Path: proto.Text("/v1"), Version: -1}).AppendTo(body)
	d.zxid++
	res := d.Do(model.Request{Conn: 1, Session: 7, Op: proto.OpMulti, Body: proto.AppendMultiEnd(body), Zxid: d.zxid})
	want := proto.AppendMultiError(nil, proto.OK)
	want = proto.AppendMultiError(want, proto.ErrBadVersion)
	want = proto.AppendMultiError(want, proto.ErrRuntimeInconsistency)
	require.Equal(t, model.Result{Body: proto.AppendMultiEnd(want), Txn: true}, res)
	require.Equal(t, "/v1/n-0000000000", createdPath(t, d.create("/v1/n-", 2)), "the number is not used up")
}

// TestModelWatches are the measured examples of server-semantics 10.4 and 10.5.
func TestModelWatches(t *testing.T) {
	d := newDriver(t)
	heard := func(res model.Result) (events []string) {
		require.Equal(t, proto.OK, res.Err)
		for _, e := range res.Events {
			events = append(events, e.Type.String()+" "+e.Path)
		}
		return events
	}
	watch := func(op proto.OpCode, path string) {
		d.zxid--
		d.send(op, &proto.PathWatchRequest{Path: proto.Text(path), Watch: true})
	}
	d.create("/p", 0)
	watch(proto.OpGetData, "/p")
	watch(proto.OpGetChildren, "/p")
	watch(proto.OpExists, "/p")
	watch(proto.OpGetChildren, "/")
	require.Equal(t, []string{"NodeDeleted /p", "NodeChildrenChanged /"}, heard(d.delete("/p", -1)))

	d.zxid--
	d.send(proto.OpAddWatch, &proto.AddWatchRequest{Path: proto.Text("/p")})
	require.Equal(t, []string{"NodeCreated /p"}, heard(d.create("/p", 0)))
	require.Equal(t, []string{"NodeChildrenChanged /p"}, heard(d.create("/p/c", 0)))
	require.Equal(t, []string{"NodeDataChanged /p"}, heard(d.set("/p", "", -1)))
	require.Equal(t, []string{"NodeChildrenChanged /p"}, heard(d.delete("/p/c", -1)))
	require.Equal(t, []string{"NodeDeleted /p"}, heard(d.delete("/p", -1)))

	d.create("/ce", 0)
	for _, path := range []string{"/ce/e0", "/ce/e1", "/ce/e2"} {
		d.create(path, 1)
		watch(proto.OpGetData, path)
	}
	watch(proto.OpGetChildren, "/ce")
	d.zxid++
	closed := d.Do(model.Request{Conn: 1, Session: 7, Op: proto.OpCloseSession, Zxid: d.zxid,
		CloseOrder: []string{"/ce/e1", "/ce/e0", "/ce/e2"}})
	require.Equal(t,
		[]string{"NodeDeleted /ce/e1", "NodeChildrenChanged /ce", "NodeDeleted /ce/e0", "NodeDeleted /ce/e2"},
		heard(closed))
}
