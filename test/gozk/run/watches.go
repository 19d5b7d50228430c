package main

import (
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/seed94657493/warren/test/gozk"
)

func watches(w *gozk.World) {
	c, events := connect(w, w.Addr, 10*time.Second)
	defer c.Close()
	d, _ := connect(w, w.Addr, 10*time.Second)
	defer d.Close()
	world := zk.WorldACL(zk.PermAll)
	a := w.Root + "/a"
	must := func(_ any, err error) {
		if err != nil {
			w.Say("unexpected %s", name(err))
		}
	}

	exists, _, created, err := c.ExistsW(a)
	w.Say("existsw %v %s", exists, name(err))
	_, _, list, err := c.ChildrenW(w.Root)
	w.Say("childrenw %s", name(err))
	silence(w, "before", created)
	must(d.Create(a, nil, 0, world))
	say(w, "created", created)
	say(w, "list", list)

	_, _, data, err := c.GetW(a)
	w.Say("getw %s", name(err))
	_, _, again, err := c.GetW(a)
	w.Say("getw %s", name(err))
	exists, _, changed, err := c.ExistsW(a)
	w.Say("existsw %v %s", exists, name(err))
	_, _, children, err := c.ChildrenW(a)
	w.Say("childrenw %s", name(err))
	must(d.Set(a, []byte("x"), -1))
	say(w, "data", data)
	say(w, "again", again)
	say(w, "changed", changed)
	silence(w, "children", children)
	must(d.Create(a+"/b", nil, 0, world))
	say(w, "children", children)

	must(nil, d.Delete(a+"/b", -1))
	_, _, data, _ = c.GetW(a)
	_, _, children, _ = c.ChildrenW(a)
	_, _, changed, _ = c.ExistsW(a)
	_, _, list, _ = c.ChildrenW(w.Root)
	must(nil, d.Delete(a, -1))
	say(w, "data", data)
	say(w, "children", children)
	say(w, "exists", changed)
	say(w, "list", list)

	// A watch of one's own change, and everything once more on the channel of Connect.
	_, _, created, _ = c.ExistsW(a)
	must(c.Create(a, nil, 0, world))
	say(w, "own", created)
	e, open, inTime := gozk.Within(events)
	w.Say("first of all events: %v %v %q, open %v, in time %v", e.Type, e.State, e.Path, open, inTime)
}

func watchStorm(w *gozk.World) {
	c, _ := connect(w, w.Addr, 10*time.Second)
	defer c.Close()
	path := w.Root + "/n"
	if _, err := c.Create(path, []byte("0"), 0, zk.WorldACL(zk.PermAll)); err != nil {
		w.Say("create %s", name(err))
	}
	done := make(chan error, 1)
	go func() {
		d, _ := connect(w, w.Addr, 10*time.Second)
		defer d.Close()
		var err error
		for i := 1; i <= 200 && err == nil; i++ {
			_, err = d.Set(path, fmt.Append(nil, i), -1)
		}
		done <- err
	}()
	last, seen := "", ""
	for seen != "200" {
		data, _, ch, err := c.GetW(path)
		if err != nil {
			w.Say("getw %s", name(err))
			return
		}
		if seen = string(data); seen != "200" {
			if _, _, inTime := gozk.Within(ch); !inTime {
				w.Say("no event after %s", seen)
				return
			}
		}
		if len(seen) < len(last) || len(seen) == len(last) && seen < last {
			w.Say("%s after %s", seen, last)
		}
		last = seen
	}
	w.Say("last %s %s", last, name(<-done))
}

func watchesOverReconnect(w *gozk.World) {
	c, events := connect(w, w.Proxy.Addr(), 10*time.Second)
	defer c.Close()
	d, _ := connect(w, w.Addr, 10*time.Second)
	defer d.Close()
	world := zk.WorldACL(zk.PermAll)
	for _, n := range []string{"/data", "/list", "/gone", "/later", "/still"} {
		_, err := d.Create(w.Root+n, nil, 0, world)
		w.Say("create %s", name(err))
	}
	_, _, data, _ := c.GetW(w.Root + "/data")
	_, _, list, _ := c.ChildrenW(w.Root + "/list")
	_, _, gone, _ := c.GetW(w.Root + "/gone")
	_, _, created, _ := c.ExistsW(w.Root + "/new")
	_, _, later, _ := c.GetW(w.Root + "/later")
	_, _, still, _ := c.GetW(w.Root + "/still")
	session := c.SessionID()
	w.Proxy.Shut()
	until(w, events, zk.StateDisconnected)
	_, err := d.Set(w.Root+"/data", []byte("x"), -1)
	w.Say("set %s", name(err))
	_, err = d.Create(w.Root+"/list/x", nil, 0, world)
	w.Say("create %s", name(err))
	w.Say("delete %s", name(d.Delete(w.Root+"/gone", -1)))
	_, err = d.Create(w.Root+"/new", nil, 0, world)
	w.Say("create %s", name(err))
	w.Proxy.Open()
	until(w, events, zk.StateHasSession)
	say(w, "data", data)
	say(w, "list", list)
	say(w, "gone", gone)
	say(w, "created", created)
	silence(w, "later", later)
	w.Say("same session %v", session == c.SessionID())
	_, err = d.Set(w.Root+"/later", nil, -1)
	w.Say("set %s", name(err))
	say(w, "later", later)
	silence(w, "still", still)
}

// The watches of a reconnect do not fit into one request.
func manyWatchesOverReconnect(w *gozk.World) {
	c, events := connect(w, w.Proxy.Addr(), 10*time.Second)
	defer c.Close()
	d, _ := connect(w, w.Addr, 10*time.Second)
	defer d.Close()
	const n = 4000
	long := w.Root + "/a-rather-long-name-so-that-there-is-more-than-one-request-of-watches-"
	chans := make([]<-chan zk.Event, n)
	for i := range chans {
		var err error
		if _, _, chans[i], err = c.ExistsW(fmt.Sprint(long, i)); err != nil {
			w.Say("existsw %s", name(err))
			return
		}
	}
	w.Proxy.Cut()
	until(w, events, zk.StateHasSession)
	for _, i := range []int{0, 1, n / 2, n - 1} {
		_, err := d.Create(fmt.Sprint(long, i), nil, 0, zk.WorldACL(zk.PermAll))
		w.Say("create %s", name(err))
		say(w, fmt.Sprint(i), chans[i])
	}
}
