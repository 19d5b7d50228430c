package outcomes

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
)

// newFinder returns a Finder of a log in which session 7 has refused requests with the xids 1 to 3.
func newFinder(t *testing.T, fs *vfs.Mem) *Finder {
	cfg := config.Default()
	cfg.DataDir, cfg.DataLogDir = "/data", "/data"
	e := env.New(cfg, env.Options{FS: fs})
	require.NoError(t, e.FS.MkdirAll(e.LogDir()))
	log := must.Do(wal.Open(wal.Options{FS: e.FS, Dir: e.LogDir(), PreallocSize: 1 << 10}))(t)
	t.Cleanup(func() { _ = log.Close() })
	must.Do(log.Replay(1, func(*wal.Record) error { return nil }))(t)
	state := datatree.NewState(datatree.Config{})
	for z := proto.Zxid(1); z <= 3; z++ {
		h := proto.TxnHeader{ClientID: 7, Cxid: int32(z), Zxid: z, Type: proto.OpError}
		b := wal.BeginRecord(nil)
		begin := len(b)
		b = (&proto.ErrorTxn{Err: proto.ErrNoNode}).AppendTo(h.AppendTo(b))
		must.Do2(state.Apply(b[begin:], nil, nil, false))(t)
		require.NoError(t, log.Append(wal.EndRecord(b, 0), z, z))
	}
	require.NoError(t, log.Sync())
	e.Store = env.NewStore(state)
	return New(e)
}

var asked = &proto.OutcomesRequest{After: 1, Xids: []int32{2, 4}}

// A client that has lost the connection on which it asked asks again on the next one: it is told although the first
// question waits still.
func TestAClientMayAskAgain(t *testing.T) {
	f := newFinder(t, vfs.NewMem())
	f.reading = true // for others
	type answer struct {
		found []proto.Outcome
		err   error
	}
	answers := make(chan answer)
	for range 2 {
		go func() {
			found, err := f.Find(7, asked)
			answers <- answer{found, err}
		}()
	}
	require.Eventually(t, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.waiting) == 2
	}, time.Minute, time.Millisecond)
	f.read()
	for range 2 {
		a := <-answers
		require.NoError(t, a.err)
		require.Equal(t, []proto.Outcome{{Xid: 2, Zxid: 2, Err: proto.ErrNoNode}}, a.found)
	}
}

// Who asks first does not wait for the answers to those who ask later.
func TestTheFirstIsToldAtOnce(t *testing.T) {
	fs := vfs.NewMem()
	f := newFinder(t, fs)
	told := make(chan struct{})
	var others sync.WaitGroup
	fs.Hook(func(op vfs.Op) error {
		if op.Kind != vfs.OpList { // a reading begins with that
			return nil
		}
		select {
		case <-told:
			return nil
		default:
		}
		others.Go(func() { _, _ = f.Find(8, asked) })
		require.Eventually(t, func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return len(f.waiting) > 0
		}, time.Minute, time.Millisecond)
		return nil
	})
	go func() {
		defer close(told)
		_, _ = f.Find(7, asked)
	}()
	select {
	case <-told:
	case <-time.After(10 * time.Second):
		t.Error("the first one still waits")
		fs.Hook(nil)
		<-told
	}
	others.Wait()
}
