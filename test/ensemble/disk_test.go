package ensemble

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/wire"
)

// disk is a file system of its own, in memory, for the dataDir of one server.
type disk struct{ dir string }

// diskSize is what a disk holds.
const diskSize = "160m"

// smallDisk are the settings of a server on a disk: it refuses writes below 1 MiB, and its log grows in steps of 64
// KiB.
var smallDisk = map[string]string{"warren.diskWatermarkBytes": "1048576", "preAllocSize": "64"}

// newDisk mounts one, or returns nil if this process may not.
func newDisk(t testing.TB) *disk {
	t.Helper()
	if dir := cluster.Disk(t, diskSize); dir != "" {
		return &disk{dir: dir}
	}
	return nil
}

func (d *disk) ballast() string { return filepath.Join(d.dir, "ballast") }

// fill leaves so many bytes, and page sizes, on the disk.
func (d *disk) fill(leave int64) error {
	f, err := os.Create(d.ballast())
	if err != nil {
		return err
	}
	defer f.Close()
	for size := int64(0); ; {
		var st syscall.Statfs_t
		if err := syscall.Statfs(d.dir, &st); err != nil {
			return err
		}
		more := int64(st.Bavail)*int64(st.Bsize) - leave
		if more <= 0 {
			return nil
		}
		// What the server writes meanwhile is taken into account by the next turn.
		if err := syscall.Fallocate(int(f.Fd()), 0, size, more); err != nil && !errors.Is(err, syscall.ENOSPC) {
			return fmt.Errorf("fill %s: %w", d.dir, err)
		} else if err == nil {
			size += more
		}
	}
}

// free gives the space back.
func (d *disk) free() error { return os.Remove(d.ballast()) }

// full fills the disk of one server, the leader's if that has one of its own, for a while.
func (c *chaos) full() {
	c.t.Helper()
	node := c.leader()
	d := c.disks[node.ID()]
	for d == nil {
		node = c.any()
		d = c.disks[node.ID()]
	}
	leave := int64(0)
	if c.rand.IntN(2) == 0 {
		leave = int64(c.rand.IntN(1 << 20))
	}
	c.logf("  leaving %d bytes on the disk of %d", leave, node.ID())
	require.NoError(c.t, d.fill(leave))
	c.sleep(500, 3000)
	require.NoError(c.t, d.free())
	c.whole()
}

// TestFullDisk fills the disk of a follower and then that of the leader, to the last byte, while clients work. With a
// full follower the ensemble goes on. A full leader refuses writes by a code that says so until another server leads,
// and from then on the ensemble goes on. When there is room again all is as before, without a restart.
func TestFullDisk(t *testing.T) {
	c := &chaos{t: t, voters: 3, began: time.Now()}
	c.seed(printSeed(t))
	var o []cluster.Options
	for i := 1; i <= c.voters; i++ {
		d := newDisk(t)
		if d == nil {
			t.Skip("disks of a given size take root and mount")
		}
		c.disks[i] = d
		o = append(o,
			cluster.Options{Dir: d.dir, Settings: map[string]string{"tickTime": "500", "maxSessionTimeout": "60000",
				"warren.diskWatermarkBytes": smallDisk["warren.diskWatermarkBytes"],
				"preAllocSize":              smallDisk["preAllocSize"]}})
	}
	c.launch(o)
	c.judge(c.load(c.rand.Uint64(), func() {
		leader := c.certainLeader()
		for _, node := range []*cluster.Node{c.nodes[leader.ID()%c.voters], leader} {
			c.withFullDisk(node, node == leader)
		}
	}))
	for _, node := range c.nodes {
		require.True(t, node.Running())
	}
}

// fullWriter sets one znode, in one session that moves when it has to, while a disk is full.
type fullWriter struct {
	path           string
	addr           string
	conn           *wire.Conn
	number         int
	acked, refused int
	// what the znode may hold: the data of the last acknowledged write, and of later ones without an answer
	may []string
}

// write makes one attempt.
func (w *fullWriter) write(t testing.TB) {
	t.Helper()
	w.number++
	data := fmt.Sprintf("%0500d", w.number)
	_, err := w.conn.SetData(w.path, []byte(data), -1)
	var code proto.ErrCode
	switch {
	case err == nil:
		w.acked++
		w.may = []string{data}
	case errors.Is(err, proto.ErrNotReadOnly):
		w.refused++
		time.Sleep(10 * time.Millisecond)
	case errors.As(err, &code):
		require.NoError(t, err)
	default: // the connection is gone with a leader
		w.may = append(w.may, data)
		o := w.conn.Resume()
		o.Reply = patience
		w.conn.Close()
		cluster.Eventually(t, func() bool {
			conn, err := wire.Dial(w.addr, o)
			if err == nil {
				w.conn = conn
			}
			return err == nil
		}, time.Minute, "%s takes no client", w.addr)
	}
}

// withFullDisk looks what becomes of writes while the disk of a server is full, and afterwards.
func (c *chaos) withFullDisk(node *cluster.Node, leads bool) {
	c.t.Helper()
	w := &fullWriter{path: fmt.Sprintf("/full%d", node.ID()), addr: c.nodes[node.ID()%c.voters].Addr()}
	var err error
	w.conn, err = wire.Dial(w.addr, wire.Options{TimeoutMs: sessionTimeout, Reply: patience})
	require.NoError(c.t, err)
	defer func() { w.conn.Close() }()
	w.conn.MustCreate(c.t, w.path, nil, proto.ModePersistent)

	require.NoError(c.t, c.disks[node.ID()].fill(0))
	watch := cluster.NewWatch()
	for watch.Elapsed() < 2*time.Second || !leads && w.acked == 0 {
		w.write(c.t)
		require.Less(c.t, watch.Elapsed(), time.Minute, "a follower without room does not hold up the others")
	}
	if leads {
		for w.refused = 0; c.certainLeader() == node; { // it logs until then, and may refuse
			w.write(c.t)
			require.Less(c.t, watch.Elapsed(), time.Minute, "a leader without room hands over")
		}
		for w.acked = 0; w.acked == 0; {
			w.write(c.t)
			require.Less(c.t, watch.Elapsed(), time.Minute, "the others are a quorum with room")
		}
	} else {
		require.Zero(c.t, w.refused)
	}
	c.logf("the disk of server %d (leader: %v) was full: %d writes acknowledged, %d refused", node.ID(), leads,
		w.acked, w.refused)
	require.Contains(c.t, strings.ToLower(node.Log()), "disk is", "server %d says what is wrong", node.ID())

	require.NoError(c.t, c.disks[node.ID()].free())
	cluster.Eventually(c.t, func() bool {
		for _, at := range c.nodes {
			if !w.shows(at) {
				return false
			}
		}
		return true
	}, time.Minute, "every server has the last acknowledged write and takes writes again")
	require.NoError(c.t, w.conn.CloseSession())
}

// shows reports whether a server has what it must have, and takes writes.
func (w *fullWriter) shows(at *cluster.Node) bool {
	again, err := wire.Dial(at.Addr(), wire.Options{TimeoutMs: sessionTimeout, Reply: patience})
	if err != nil {
		return false
	}
	defer again.Close()
	if again.Sync(w.path) != nil {
		return false
	}
	data, _, err := again.GetData(w.path, false)
	if err != nil || !slices.Contains(w.may, string(data)) {
		return false
	}
	_, err = again.SetData(w.path, data, -1)
	_ = again.CloseSession() // or it expires
	return err == nil
}
