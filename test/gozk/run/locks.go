package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/seed94657493/warren/test/gozk"
)

var guid = regexp.MustCompile(`_c_[0-9a-f]{32}-`)

func protected(w *gozk.World) {
	c, _ := connect(w, w.Addr, 10*time.Second)
	defer c.Close()
	world := zk.WorldACL(zk.PermAll)
	for range 2 {
		path, err := c.CreateProtectedEphemeralSequential(w.Root+"/n-", []byte("x"), world)
		w.Say("%s %s", guid.ReplaceAllString(path, "GUID-"), name(err))
		_, st, err := c.Get(path)
		w.Say("%s %v %s", stat(st), st.EphemeralOwner == c.SessionID(), name(err))
	}
	path, err := c.CreateProtectedEphemeralSequential(w.Root+"/none/n-", nil, world)
	w.Say("%q %s", path, name(err))
	path, err = c.CreateProtectedEphemeralSequential(w.Root+"/n-", nil, nil)
	w.Say("%q %s", path, name(err))
}

func lock(w *gozk.World) {
	c, _ := connect(w, w.Addr, 10*time.Second)
	defer c.Close()
	world := zk.WorldACL(zk.PermAll)
	l := zk.NewLock(c, w.Root+"/some/where/lock", world)
	w.Say("unlock %s", name(l.Unlock()))
	w.Say("lock %s", name(l.LockWithData([]byte("me"))))
	w.Say("lock again %s", name(l.Lock()))
	children, _, err := c.Children(w.Root + "/some/where/lock")
	w.Say("%d contenders %s", len(children), name(err))
	for _, n := range children {
		data, st, err := c.Get(w.Root + "/some/where/lock/" + n)
		w.Say("%s %q %s %s", guid.ReplaceAllString(n, "GUID-"), data, stat(st), name(err))
	}
	w.Say("unlock %s", name(l.Unlock()))
	w.Say("unlock again %s", name(l.Unlock()))
	w.Say("lock %s", name(l.Lock()))
	w.Say("unlock %s", name(l.Unlock()))
	children, _, err = c.Children(w.Root + "/some/where/lock")
	w.Say("%d contenders %s", len(children), name(err))
	w.Say("bad path %s", name(zk.NewLock(c, "nowhere", world).Lock()))
	w.Say("no acl %s", name(zk.NewLock(c, w.Root+"/locked", nil).Lock()))
}

// lockQueue is a lock that many want.
func lockQueue(w *gozk.World) {
	const n = 8
	world := zk.WorldACL(zk.PermAll)
	entered := make(chan string)
	for range n {
		go func() {
			c, _ := connect(w, w.Addr, 10*time.Second)
			defer c.Close()
			l := zk.NewLock(c, w.Root+"/lock", world)
			if err := l.Lock(); err != nil {
				entered <- name(err)
				return
			}
			// Only the holder is in here, so no other client has changed the counter meanwhile.
			data, st, err := c.Get(w.Root)
			if err == nil {
				_, err = c.Set(w.Root, append(data, 'x'), st.Version)
			}
			if err == nil {
				err = l.Unlock()
			}
			entered <- fmt.Sprintf("in and out %s", name(err))
		}()
	}
	for range n {
		line, _, inTime := gozk.Within(entered)
		w.Say("%s, in time %v", line, inTime)
	}
	c, _ := connect(w, w.Addr, 10*time.Second)
	defer c.Close()
	data, _, err := c.Get(w.Root)
	w.Say("%s %s", data, name(err))
}

// lockOfOthers is a lock that kazoo holds, and then one whose holder's session ends.
func lockOfOthers(w *gozk.World) {
	c, _ := connect(w, w.Addr, 10*time.Second)
	defer c.Close()
	d, _ := connect(w, w.Addr, 10*time.Second)
	world := zk.WorldACL(zk.PermAll)
	path := w.Root + "/lock"
	_, err := d.Create(path, nil, 0, world)
	w.Say("create %s", name(err))
	kazoo, err := d.Create(path+"/0123456789abcdef__lock__", nil, zk.FlagEphemeralSequential, world)
	w.Say("create %s", name(err))
	l := zk.NewLock(c, path, world)
	locked := make(chan error, 1)
	go func() { locked <- l.Lock() }()
	waitFor(w, d, path, 2)
	select {
	case err := <-locked:
		w.Say("locked too early %s", name(err))
	default:
	}
	w.Say("delete %s", name(d.Delete(kazoo, -1)))
	err, _, inTime := gozk.Within(locked)
	w.Say("locked %s, in time %v", name(err), inTime)
	w.Say("unlock %s", name(l.Unlock()))

	other := zk.NewLock(d, path, world)
	w.Say("other %s", name(other.Lock()))
	go func() { locked <- l.Lock() }()
	waitFor(w, d, path, 2)
	d.Close()
	err, _, inTime = gozk.Within(locked)
	w.Say("locked after the other's session %s, in time %v", name(err), inTime)
	children, _, err := c.Children(path)
	slices.Sort(children)
	w.Say("%s %s", guid.ReplaceAllString(strings.Join(children, " "), "GUID-"), name(err))
}

// waitFor waits until a znode has n children.
func waitFor(w *gozk.World, c *zk.Conn, path string, n int) {
	for {
		children, _, ch, err := c.ChildrenW(path)
		if err != nil {
			w.Say("childrenw %s", name(err))
			return
		}
		if len(children) == n {
			return
		}
		if _, _, inTime := gozk.Within(ch); !inTime {
			w.Say("there are %d children, not %d", len(children), n)
			return
		}
	}
}
