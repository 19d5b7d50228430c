package main

import (
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/seed94657493/warren/test/gozk"
)

// life is the states of a Conn, from the first to the last.
func life(w *gozk.World) {
	c, events, err := zk.Connect([]string{w.Proxy.Addr()}, 10*time.Second, zk.WithLogger(silent{}))
	w.Say("connect %s", name(err))
	for {
		e, _, _ := gozk.Within(events)
		w.Say("%v %v %q %s %s", e.Type, e.State, e.Path, name(e.Err), e.Server)
		if e.State == zk.StateHasSession {
			break
		}
	}
	session := c.SessionID()
	w.Say("state %v, session %v, server %s", c.State(), session != 0, c.Server())
	w.Proxy.Cut()
	w.Say("%v", until(w, events, zk.StateHasSession))
	w.Say("same session %v", session == c.SessionID())
	c.Close()
	for {
		e, open, inTime := gozk.Within(events)
		if !open || !inTime {
			w.Say("in time %v", inTime)
			break
		}
		w.Say("%v %v", e.Type, e.State)
	}
	w.Say("state %v", c.State())
	c.Close()
}

func callback(w *gozk.World) {
	var mu sync.Mutex
	var called []zk.Event
	c, events, err := zk.Connect([]string{w.Addr}, 10*time.Second,
		zk.WithLogger(silent{}), zk.WithEventCallback(func(e zk.Event) {
			mu.Lock()
			defer mu.Unlock()
			called = append(called, e)
		}))
	w.Say("connect %s", name(err))
	until(w, events, zk.StateHasSession)
	_, _, ch, err := c.GetW(w.Root)
	w.Say("getw %s", name(err))
	_, err = c.Set(w.Root, nil, -1)
	w.Say("set %s", name(err))
	say(w, "watch", ch)
	e, _, _ := gozk.Within(events)
	w.Say("%v %v %q %s", e.Type, e.State, e.Path, name(e.Err))
	c.Close()
	for {
		if _, open, inTime := gozk.Within(events); !open || !inTime {
			break
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for _, e := range called {
		w.Say("callback %v %v %q %s", e.Type, e.State, e.Path, name(e.Err))
	}
}

// inFlight are requests whose answers are lost.
func inFlight(w *gozk.World) {
	c, events := connect(w, w.Proxy.Addr(), 10*time.Second)
	defer c.Close()
	_, err := c.Create(w.Root+"/n", nil, 0, zk.WorldACL(zk.PermAll))
	w.Say("create %s", name(err))
	before := proxied(w).Received
	w.Proxy.Mute()
	said := make(chan string, 5)
	go func() {
		data, st, err := c.Get(w.Root + "/n")
		said <- "get " + string(data) + stat(st) + " " + name(err)
	}()
	go func() {
		st, err := c.Set(w.Root+"/n", []byte("x"), -1)
		said <- "set " + stat(st) + " " + name(err)
	}()
	go func() {
		exists, st, err := c.Exists(w.Root + "/n")
		said <- "exists " + stat(st) + " " + name(err)
		if exists {
			said <- "exists all the same"
		}
	}()
	go func() {
		results, err := c.Multi(&zk.SetDataRequest{Path: w.Root + "/n", Data: []byte("x"), Version: -1})
		if results != nil {
			said <- "results all the same"
		}
		said <- "multi " + name(err)
	}()
	d, _ := connect(w, w.Addr, 10*time.Second)
	defer d.Close()
	for { // until both writes have happened
		_, st, err := d.Get(w.Root + "/n")
		if err != nil || st.Version == 2 {
			w.Say("version 2 %s", name(err))
			break
		}
	}
	// the reads leave no other trace
	for end := time.Now().Add(time.Minute); proxied(w).Received < before+4; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			w.Say("four requests have come to the server: in time false")
			break
		}
	}
	w.Proxy.Cut()
	lines := map[string]bool{}
	for range 4 {
		line, _, _ := gozk.Within(said)
		lines[line] = true
	}
	for _, op := range []string{
		"get no stat ErrConnectionClosed", "set no stat ErrConnectionClosed", "exists no stat ErrConnectionClosed",
		"multi ErrConnectionClosed",
	} {
		w.Say("%s: %v", op, lines[op])
	}
	w.Say("%d outcomes", len(lines))
	until(w, events, zk.StateHasSession)
	data, st, err := c.Get(w.Root + "/n")
	w.Say("get %q %s %s", data, stat(st), name(err))
}

// noServer is what happens to operations while there is no server.
func noServer(w *gozk.World) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.Say("listen %v", err)
		return
	}
	nobody := l.Addr().String()
	_ = l.Close()
	c, events, err := zk.Connect([]string{nobody}, 10*time.Second, zk.WithLogger(silent{}))
	w.Say("connect %s", name(err))
	data, st, err := c.Get("/")
	w.Say("get %v %s %s", data, stat(st), name(err))
	exists, st, ch, err := c.ExistsW("/")
	w.Say("existsw %v %s %v %s", exists, stat(st), ch == nil, name(err))
	_, err = c.Create("/x", nil, 0, zk.WorldACL(zk.PermAll))
	w.Say("create %s", name(err))
	results, err := c.Multi(&zk.DeleteRequest{Path: "/x"})
	w.Say("multi %v %s", results == nil, name(err))
	w.Say("auth %s", name(c.AddAuth("digest", []byte("a:b"))))
	w.Say("session %d, state %v", c.SessionID(), c.State())
	c.Close()
	for {
		if _, open, inTime := gozk.Within(events); !open || !inTime {
			w.Say("closed in time %v", inTime)
			break
		}
	}
}

// refused are connections that end before the session is accepted.
func refused(w *gozk.World) {
	w.Proxy.Shut()
	c, events, err := zk.Connect([]string{w.Proxy.Addr()}, 10*time.Second, zk.WithLogger(silent{}))
	w.Say("connect %s", name(err))
	defer c.Close()
	w.Say("%v", until(w, events, zk.StateDisconnected))
	w.Proxy.Open()
	until(w, events, zk.StateHasSession)
	_, _, err = c.Get(w.Root)
	w.Say("get %s", name(err))
}

func expiry(w *gozk.World) {
	c, events := connect(w, w.Proxy.Addr(), 10*time.Second)
	defer c.Close()
	world := zk.WorldACL(zk.PermAll)
	_, err := c.Create(w.Root+"/mine", nil, zk.FlagEphemeral, world)
	w.Say("create %s", name(err))
	_, _, data, _ := c.GetW(w.Root)
	_, _, created, _ := c.ExistsW(w.Root + "/none")
	_, _, list, _ := c.ChildrenW(w.Root)
	session := c.SessionID()
	w.Proxy.Shut()
	until(w, events, zk.StateDisconnected)
	w.Expire(session)
	w.Proxy.Open()
	for {
		e, open, inTime := gozk.Within(events)
		if e.State == zk.StateExpired || !open || !inTime {
			w.Say("%v %v %q %s %s", e.Type, e.State, e.Path, name(e.Err), e.Server)
			break
		}
	}
	lost := map[string]int{}
	for range 3 { // in any order
		e, _, _ := gozk.Within(events)
		lost[e.Path]++
		w.Say("%v %v %s", e.Type, e.State, name(e.Err))
	}
	w.Say("root twice %v, none once %v", lost[w.Root] == 2, lost[w.Root+"/none"] == 1)
	w.Say("%v", until(w, events, zk.StateHasSession))
	say(w, "data", data)
	say(w, "created", created)
	say(w, "list", list)
	w.Say("another session %v", c.SessionID() != session && c.SessionID() != 0)
	exists, _, err := c.Exists(w.Root + "/mine")
	w.Say("exists %v %s", exists, name(err))
	_, err = c.Create(w.Root+"/mine", nil, zk.FlagEphemeral, world)
	w.Say("create %s", name(err))
}

func authOverReconnect(w *gozk.World) {
	c, events := connect(w, w.Proxy.Addr(), 10*time.Second)
	defer c.Close()
	w.Say("auth %s", name(c.AddAuth("digest", []byte("bob:secret"))))
	w.Say("auth %s", name(c.AddAuth("digest", []byte("bob:secret"))))
	_, err := c.Create(w.Root+"/mine", nil, 0, zk.AuthACL(zk.PermAll))
	w.Say("create %s", name(err))
	session := c.SessionID()
	w.Proxy.Cut()
	until(w, events, zk.StateHasSession)
	_, _, err = c.Get(w.Root + "/mine")
	w.Say("get after a reconnect %s", name(err))
	w.Proxy.Shut()
	until(w, events, zk.StateDisconnected)
	w.Expire(session)
	w.Proxy.Open()
	until(w, events, zk.StateHasSession)
	_, _, err = c.Get(w.Root + "/mine")
	w.Say("get in the next session %s", name(err))
}

func closing(w *gozk.World) {
	c, events := connect(w, w.Addr, 10*time.Second)
	_, err := c.Create(w.Root+"/mine", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	w.Say("create %s", name(err))
	_, _, data, _ := c.GetW(w.Root)
	_, _, created, _ := c.ExistsW(w.Root + "/none")
	c.Close()
	say(w, "data", data)
	say(w, "created", created)
	kinds := map[zk.EventType]int{}
	for {
		e, open, inTime := gozk.Within(events)
		if !open || !inTime {
			w.Say("in time %v", inTime)
			break
		}
		kinds[e.Type]++
		w.Say("%v %v %s", e.Type, e.State, name(e.Err))
	}
	_, st, err := c.Get(w.Root)
	w.Say("get %s %s", stat(st), name(err))
	_, err = c.Create(w.Root+"/late", nil, 0, zk.WorldACL(zk.PermAll))
	w.Say("create %s", name(err))
	w.Say("delete %s", name(c.Delete(w.Root, -1)))
	w.Say("auth %s", name(c.AddAuth("digest", []byte("a:b"))))
	_, _, ch, err := c.GetW(w.Root)
	w.Say("getw %v %s", ch == nil, name(err))
	results, err := c.Multi(&zk.DeleteRequest{Path: w.Root})
	w.Say("multi %v %s", results == nil, name(err))
	w.Say("lock %s", name(zk.NewLock(c, w.Root+"/lock", zk.WorldACL(zk.PermAll)).Lock()))
	d, _ := connect(w, w.Addr, 10*time.Second)
	defer d.Close()
	exists, _, err := d.Exists(w.Root + "/mine")
	w.Say("exists %v %s", exists, name(err))
}
