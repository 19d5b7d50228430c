package ensemble

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

// diskSize is what a disk holds. Nothing is used before it is written.
const diskSize = "160m"

// smallDisk are the settings of a server on a disk: it refuses writes below 1 MiB, and its log grows in steps of 64 KiB.
var smallDisk = map[string]string{"warren.diskWatermarkBytes": "1048576", "preAllocSize": "64"}

// newDisk mounts one, or returns nil if this process may not. The data of a failed test is copied from it before it goes.
func newDisk(t testing.TB) *disk {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	dir, err := os.MkdirTemp("", "warren-disk-")
	require.NoError(t, err)
	if err := run("mount", "-t", "tmpfs", "-o", "size="+diskSize, "none", dir); err != nil {
		t.Logf("no disks of a given size: %v", err)
		_ = os.Remove(dir)
		return nil
	}
	t.Cleanup(func() {
		if t.Failed() {
			kept := dir + "-kept"
			t.Logf("the data in %s is copied to %s: %v", dir, kept, run("cp", "-a", dir, kept))
		}
		if err := run("umount", "-l", dir); err != nil {
			t.Error(err)
		}
		_ = os.Remove(dir)
	})
	return &disk{dir: dir}
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

// TestFullDisk fills the disk of a follower and then that of the leader, to the last byte, while clients work. With a full follower the
// ensemble goes on. With a full leader writes are refused by a code that says so, or acknowledged and kept. When there is room again
// all is as before, without a restart.
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
		o = append(o, cluster.Options{Dir: d.dir, Settings: map[string]string{"tickTime": "500", "maxSessionTimeout": "60000",
			"warren.diskWatermarkBytes": smallDisk["warren.diskWatermarkBytes"], "preAllocSize": smallDisk["preAllocSize"]}})
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

// withFullDisk looks what becomes of writes while the disk of a server is full, and afterwards.
func (c *chaos) withFullDisk(node *cluster.Node, leads bool) {
	c.t.Helper()
	other := c.nodes[node.ID()%c.voters]
	conn, err := wire.Dial(other.Addr(), wire.Options{TimeoutMs: sessionTimeout, Reply: 5 * time.Second})
	require.NoError(c.t, err)
	defer conn.Close()
	path := fmt.Sprintf("/full%d", node.ID())
	_, err = conn.Create(path, nil, proto.ModePersistent)
	require.NoError(c.t, err)

	require.NoError(c.t, c.disks[node.ID()].fill(0))
	acked, refused := 0, 0
	var last string
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		data := fmt.Sprintf("%0500d", acked+refused)
		_, err := conn.SetData(path, []byte(data), -1)
		switch {
		case err == nil:
			acked++
			last = data
		case errors.Is(err, proto.ErrNotReadOnly):
			refused++
			time.Sleep(10 * time.Millisecond)
		default:
			require.NoError(c.t, err, "a write while the disk of server %d is full (leader: %v)", node.ID(), leads)
		}
	}
	c.logf("the disk of server %d (leader: %v) was full: %d writes acknowledged, %d refused", node.ID(), leads, acked, refused)
	if leads {
		require.Positive(c.t, refused, "a leader without room refuses writes")
	} else {
		require.Positive(c.t, acked, "a follower without room does not hold up the others")
		require.Zero(c.t, refused)
	}
	require.Contains(c.t, strings.ToLower(node.Log()), "disk is", "server %d says what is wrong", node.ID())

	require.NoError(c.t, c.disks[node.ID()].free())
	require.Eventually(c.t, func() bool {
		for _, at := range c.nodes {
			again, err := wire.Dial(at.Addr(), wire.Options{TimeoutMs: sessionTimeout, Reply: 5 * time.Second})
			if err != nil {
				return false
			}
			defer again.Close()
			if again.Sync(path) != nil {
				return false
			}
			data, _, err := again.GetData(path, false)
			if err != nil || string(data) != last {
				return false
			}
			if _, err := again.SetData(path, data, -1); err != nil {
				return false
			}
			_ = again.CloseSession() // or it expires
		}
		return true
	}, 20*time.Second, 50*time.Millisecond, "every server has the last acknowledged write and takes writes again")
	require.NoError(c.t, conn.CloseSession())
}
