package main

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/seed94657493/warren/test/gozk"
)

func znodes(w *gozk.World) {
	c, _ := connect(w, w.Addr, 10*time.Second)
	defer c.Close()
	world := zk.WorldACL(zk.PermAll)
	path, err := c.Create(w.Root+"/a", []byte("one"), 0, world)
	w.Say("create %s %s", path, name(err))
	path, err = c.Create(w.Root+"/a", nil, 0, world)
	w.Say("create again %q %s", path, name(err))
	path, err = c.Create(w.Root+"/none/b", nil, 0, world)
	w.Say("create without parent %q %s", path, name(err))
	data, st, err := c.Get(w.Root + "/a")
	w.Say("get %q %s %s", data, stat(st), name(err))
	st, err = c.Set(w.Root+"/a", []byte("three"), 0)
	w.Say("set %s %s", stat(st), name(err))
	st, err = c.Set(w.Root+"/a", []byte("four"), 0)
	w.Say("set with the wrong version %s %s", stat(st), name(err))
	st, err = c.Set(w.Root+"/a", nil, -1)
	w.Say("set nil %s %s", stat(st), name(err))
	data, _, err = c.Get(w.Root + "/a")
	w.Say("get nil %v %s", data == nil, name(err))
	_, err = c.Set(w.Root+"/a", []byte{}, -1)
	w.Say("set empty %s", name(err))
	data, _, err = c.Get(w.Root + "/a")
	w.Say("get empty %v %v %s", data == nil, len(data), name(err))
	exists, st, err := c.Exists(w.Root + "/a")
	w.Say("exists %v %s %s", exists, stat(st), name(err))
	children, st, err := c.Children(w.Root + "/a")
	w.Say("no children: nil %v, %v %s %s", children == nil, children, stat(st), name(err))
	for _, n := range []string{"x", "y", "z"} {
		_, err = c.Create(w.Root+"/a/"+n, []byte(n), 0, world)
		w.Say("create child %s", name(err))
	}
	children, st, err = c.Children(w.Root + "/a")
	slices.Sort(children)
	w.Say("children %v %s %s", children, stat(st), name(err))
	w.Say("delete with children %s", name(c.Delete(w.Root+"/a", -1)))
	w.Say("delete with the wrong version %s", name(c.Delete(w.Root+"/a/x", 7)))
	w.Say("delete %s", name(c.Delete(w.Root+"/a/x", 0)))
	w.Say("delete again %s", name(c.Delete(w.Root+"/a/x", 0)))
	synced, err := c.Sync(w.Root + "/a")
	w.Say("sync %s %s", synced, name(err))
	synced, err = c.Sync("/")
	w.Say("sync the root %s %s", synced, name(err))
	_, st, err = c.Get("/")
	w.Say("get the root %v %s", st.Czxid, name(err))
	w.Say("delete the root %s", name(c.Delete("/", -1)))
	_, err = c.Create("/", nil, 0, world)
	w.Say("create the root %s", name(err))
	w.Say("session %v, state %v, server %s", c.SessionID() != 0, c.State(), c.Server())
}

func kinds(w *gozk.World) {
	c, _ := connect(w, w.Addr, 10*time.Second)
	world := zk.WorldACL(zk.PermAll)
	for flags := int32(-1); flags <= 8; flags++ {
		path, err := c.Create(w.Root+"/plain-", []byte("x"), flags, world)
		w.Say("create %d: %s %s", flags, path, kindError(err))
		path, err = c.CreateContainer(w.Root+"/box-", nil, flags, world)
		w.Say("container %d: %s %s", flags, path, kindError(err))
		path, err = c.CreateTTL(w.Root+"/ttl-", nil, flags, world, time.Hour)
		w.Say("ttl %d: %s %s", flags, path, kindError(err))
	}
	_, err := c.CreateTTL(w.Root+"/long", nil, zk.FlagTTL, world, 0)
	w.Say("no ttl: %s", name(err))
	_, err = c.CreateTTL(w.Root+"/long", nil, zk.FlagTTL, world, 50*365*24*time.Hour)
	w.Say("long ttl: %s", name(err))
	_, err = c.Create(w.Root+"/bad", nil, zk.FlagEphemeral, nil)
	w.Say("no acl: %s", name(err))
	own, err := c.Create(w.Root+"/own", nil, zk.FlagEphemeral, world)
	w.Say("ephemeral: %s", name(err))
	_, err = c.Create(own+"/child", nil, 0, world)
	w.Say("child of an ephemeral: %s", name(err))
	_, st, err := c.Get(own)
	w.Say("owner is the session: %v %s", st.EphemeralOwner == c.SessionID(), name(err))
	seq, err := c.Create(w.Root+"/", nil, zk.FlagSequence, world)
	w.Say("sequential without a name: %s %s", seq, name(err))
	children, _, err := c.Children(w.Root)
	slices.Sort(children)
	w.Say("children %v %s", children, name(err))
	c.Close()
	d, _ := connect(w, w.Addr, 10*time.Second)
	defer d.Close()
	children, _, err = d.Children(w.Root)
	slices.Sort(children)
	w.Say("children after the session %v %s", children, name(err))
}

// boxes are containers and what is none: only CreateContainer makes a znode that goes with its last child.
func boxes(w *gozk.World) {
	c, _ := connect(w, w.Addr, 10*time.Second)
	defer c.Close()
	world := zk.WorldACL(zk.PermAll)
	_, err := c.Create(w.Root+"/plain", nil, zk.FlagContainer, world)
	w.Say("create %s", name(err))
	_, err = c.CreateContainer(w.Root+"/box", nil, zk.FlagContainer, world)
	w.Say("container %s", name(err))
	_, err = c.CreateTTL(w.Root+"/short", nil, zk.FlagTTL, world, 10*time.Millisecond)
	w.Say("ttl %s", name(err))
	for _, n := range []string{"/plain", "/box"} {
		_, err = c.Create(w.Root+n+"/child", nil, 0, world)
		w.Say("create %s", name(err))
		w.Say("delete %s", name(c.Delete(w.Root+n+"/child", -1)))
	}
	for _, n := range []string{"/box", "/short"} {
		exists, _, gone, err := c.ExistsW(w.Root + n)
		if exists {
			_, _, inTime := gozk.Within(gone)
			w.Say("gone %s, in time %v", name(err), inTime)
		} else {
			w.Say("gone %s, in time true", name(err))
		}
	}
	for _, n := range []string{"/plain", "/box", "/short"} {
		exists, _, err := c.Exists(w.Root + n)
		w.Say("%s exists %v %s", n, exists, name(err))
	}
}

// kindError tells apart what is wrong with flags, whatever the words.
func kindError(err error) string {
	switch {
	case err == nil || known[err] != "":
		return name(err)
	case errors.Is(err, zk.ErrInvalidFlags) || strings.Contains(err.Error(), "flag"):
		return "flags are refused"
	}
	return name(err)
}

func paths(w *gozk.World) {
	c, _ := connect(w, w.Addr, 10*time.Second)
	defer c.Close()
	world := zk.WorldACL(zk.PermAll)
	for _, path := range []string{"", "a", "a/b", "/a/", "//", "/a//b", "/.", "/..", "/a/.", "/a/..", "/a/./b",
		"/a/../b", "/...", "/.a", "/a.", "/a/..b", "/a\x00b", "/a\x01", "/a\x1f", "/a\x7fb", "/a\u0080", "/a\u009f",
		"/\uf000", "/\uf8ff", "/\ufff0", "/\u00e4", "/\u4e16", "/a b", "/\xff"} {
		data, st, err := c.Get(path)
		w.Say("%q get %v %s %s", path, data, stat(st), name(err))
		if err != zk.ErrInvalidPath {
			continue
		}
		exists, st, err := c.Exists(path)
		w.Say("exists %v %s %s", exists, stat(st), name(err))
		children, st, err := c.Children(path)
		w.Say("children %v %s %s", children, stat(st), name(err))
		st, err = c.Set(path, nil, -1)
		w.Say("set %s %s", stat(st), name(err))
		acl, st, err := c.GetACL(path)
		w.Say("get acl %v %s %s", acl, stat(st), name(err))
		st, err = c.SetACL(path, world, -1)
		w.Say("set acl %s %s", stat(st), name(err))
		_, _, ch, err := c.GetW(path)
		w.Say("getw %v %s", ch == nil, name(err))
		_, _, ch, err = c.ExistsW(path)
		w.Say("existsw %v %s", ch == nil, name(err))
		_, _, ch, err = c.ChildrenW(path)
		w.Say("childrenw %v %s", ch == nil, name(err))
		synced, err := c.Sync(path)
		w.Say("sync %q %s", synced, name(err))
		w.Say("delete %s", name(c.Delete(path, -1)))
		_, err = c.Create(path, nil, 0, world)
		w.Say("create %s", name(err))
		_, err = c.CreateContainer(path, nil, zk.FlagContainer, world)
		w.Say("container %s", name(err))
		_, err = c.CreateTTL(path, nil, zk.FlagTTL, world, time.Second)
		w.Say("ttl %s", name(err))
		if strings.HasSuffix(path, "/") {
			continue
		}
		_, err = c.CreateProtectedEphemeralSequential(path, nil, world)
		w.Say("protected %s", name(err))
	}
}

func absent(w *gozk.World) {
	c, _ := connect(w, w.Addr, 10*time.Second)
	defer c.Close()
	none := w.Root + "/none"
	data, st, err := c.Get(none)
	w.Say("get %v %s %s", data, stat(st), name(err))
	children, st, err := c.Children(none)
	w.Say("children %v %s %s", children, stat(st), name(err))
	exists, st, err := c.Exists(none)
	w.Say("exists %v %s %s", exists, stat(st), name(err))
	st, err = c.Set(none, nil, -1)
	w.Say("set %s %s", stat(st), name(err))
	acl, st, err := c.GetACL(none)
	w.Say("get acl %v %s %s", acl, stat(st), name(err))
	st, err = c.SetACL(none, zk.WorldACL(1), -1)
	w.Say("set acl %s %s", stat(st), name(err))
	data, st, ch, err := c.GetW(none)
	w.Say("getw %v %s %v %s", data, stat(st), ch == nil, name(err))
	children, st, ch, err = c.ChildrenW(none)
	w.Say("childrenw %v %s %v %s", children, stat(st), ch == nil, name(err))
	exists, st, ch, err = c.ExistsW(none)
	w.Say("existsw %v %s %v %s", exists, stat(st), ch == nil, name(err))
	w.Say("delete %s", name(c.Delete(none, -1)))
}

func multi(w *gozk.World) {
	c, _ := connect(w, w.Addr, 10*time.Second)
	defer c.Close()
	world := zk.WorldACL(zk.PermAll)
	run := func(what string, ops ...interface{}) {
		results, err := c.Multi(ops...)
		w.Say("%s: nil %v, %s", what, results == nil, name(err))
		for _, r := range results {
			w.Say("  %s %q %s", stat(r.Stat), r.String, name(r.Error))
		}
	}
	a, b := w.Root+"/a", w.Root+"/b"
	run("nothing")
	run("all kinds", &zk.CreateRequest{Path: a, Data: []byte("1"), Acl: world},
		&zk.SetDataRequest{Path: a, Data: []byte("22")}, &zk.CheckVersionRequest{Path: a, Version: 1},
		&zk.CreateRequest{Path: a + "/s-", Acl: world, Flags: zk.FlagSequence},
		&zk.CreateRequest{Path: b, Acl: world, Flags: zk.FlagEphemeral}, &zk.DeleteRequest{Path: b, Version: -1})
	run("one fails", &zk.SetDataRequest{Path: a, Version: -1}, &zk.DeleteRequest{Path: b},
		&zk.SetDataRequest{Path: a, Version: -1})
	run("the first fails", &zk.CheckVersionRequest{Path: a, Version: 9}, &zk.DeleteRequest{Path: a})
	run("no acl", &zk.CreateRequest{Path: b})
	run("exists", &zk.CreateRequest{Path: a, Acl: world})
	run("has children", &zk.DeleteRequest{Path: a, Version: -1})
	data, st, err := c.Get(a)
	w.Say("get %q %s %s", data, stat(st), name(err))
	_, err = c.Multi(&zk.PathVersionRequest{Path: a})
	w.Say("no operation: %v", err != nil)
	_, err = c.Multi(zk.DeleteRequest{Path: a})
	w.Say("no pointer: %v", err != nil)
}

func acls(w *gozk.World) {
	c, _ := connect(w, w.Addr, 10*time.Second)
	defer c.Close()
	w.Say("%v %v %v", zk.WorldACL(zk.PermRead|zk.PermWrite), zk.AuthACL(zk.PermAll),
		zk.DigestACL(zk.PermAdmin, "bob", "secret"))
	_, err := c.Create(w.Root+"/mine", nil, 0, zk.AuthACL(zk.PermAll))
	w.Say("create without an identity %s", name(err))
	w.Say("add an identity %s", name(c.AddAuth("digest", []byte("bob:secret"))))
	_, err = c.Create(w.Root+"/mine", []byte("x"), 0, zk.AuthACL(zk.PermAll))
	w.Say("create %s", name(err))
	acl, st, err := c.GetACL(w.Root + "/mine")
	w.Say("acl %v %s %s", acl, stat(st), name(err))
	d, _ := connect(w, w.Addr, 10*time.Second)
	defer d.Close()
	data, st, err := d.Get(w.Root + "/mine")
	w.Say("get of others %v %s %s", data, stat(st), name(err))
	st, err = d.Set(w.Root+"/mine", nil, -1)
	w.Say("set of others %s %s", stat(st), name(err))
	_, _, ch, err := d.GetW(w.Root + "/mine")
	w.Say("getw of others %v %s", ch == nil, name(err))
	st, err = c.SetACL(w.Root+"/mine", zk.WorldACL(zk.PermRead), 3)
	w.Say("set acl with the wrong version %s %s", stat(st), name(err))
	st, err = c.SetACL(w.Root+"/mine", nil, 0)
	w.Say("set no acl %s %s", stat(st), name(err))
	st, err = c.SetACL(w.Root+"/mine", append(zk.WorldACL(zk.PermRead), zk.DigestACL(zk.PermAll, "eve", "x")...), 0)
	w.Say("set acl %s %s", stat(st), name(err))
	acl, _, err = d.GetACL(w.Root + "/mine")
	w.Say("acl of others %v %s", acl, name(err))
	data, _, err = d.Get(w.Root + "/mine")
	w.Say("get of others %q %s", data, name(err))
	_, err = c.SetACL(w.Root+"/mine", zk.WorldACL(zk.PermAll), 1)
	w.Say("set acl without the permission %s", name(err))
	w.Say("unknown scheme %s", name(d.AddAuth("nonsense", []byte("x"))))
}

func large(w *gozk.World) {
	c, _, err := zk.Connect([]string{w.Addr}, 10*time.Second, zk.WithLogger(silent{}),
		zk.WithMaxConnBufferSize(64<<10), zk.WithLogInfo(false))
	w.Say("connect %s", name(err))
	defer c.Close()
	_, err = c.Create(w.Root+"/a", make([]byte, 60<<10), 0, zk.WorldACL(zk.PermAll))
	w.Say("create %s", name(err))
	_, err = c.Set(w.Root+"/a", make([]byte, 70<<10), -1)
	w.Say("set too much %s", name(err))
	_, err = c.Set(w.Root+"/a", make([]byte, 50<<10), -1)
	w.Say("set %s", name(err))

	d, events, err := zk.Connect([]string{w.Addr}, 10*time.Second, zk.WithLogger(silent{}),
		zk.WithMaxBufferSize(32<<10))
	w.Say("connect %s", name(err))
	defer d.Close()
	until(w, events, zk.StateHasSession)
	data, st, err := d.Get(w.Root + "/a")
	w.Say("get too much %v %s %s", data, stat(st), name(err))
	w.Say("%v", until(w, events, zk.StateDisconnected))
	until(w, events, zk.StateHasSession)
	_, st, err = d.Exists(w.Root + "/a")
	w.Say("exists %s %s", stat(st), name(err))
}
