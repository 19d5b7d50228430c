package main

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/seed94657493/warren/test/gozk"
)

func dialer(w *gozk.World) {
	var dials atomic.Int64
	dial := func(network, address string, timeout time.Duration) (net.Conn, error) {
		if dials.Add(1) == 1 {
			return nil, errors.New("not yet")
		}
		w.Say("dial %s %s %v", network, address, timeout)
		return net.DialTimeout(network, address, timeout)
	}
	c, events, err := zk.ConnectWithDialer([]string{w.Addr}, 10*time.Second, dial)
	w.Say("connect %s", name(err))
	w.Say("%v", until(w, events, zk.StateHasSession))
	c.Close()
}

// walk is a HostProvider that notes what is asked of it.
type walk struct {
	w    *gozk.World
	addr string
}

func (h *walk) Init(servers []string) error { h.w.Say("init %v", servers); return nil }
func (h *walk) Len() int                    { return 1 }
func (h *walk) Next() (string, bool)        { h.w.Say("next"); return h.addr, false }
func (h *walk) Connected()                  { h.w.Say("connected") }

func hostProvider(w *gozk.World) {
	c, events, err := zk.Connect([]string{"one"}, 10*time.Second, zk.WithLogger(silent{}),
		zk.WithHostProvider(&walk{w: w, addr: w.Proxy.Addr()}))
	w.Say("connect %s", name(err))
	until(w, events, zk.StateHasSession)
	_, _, err = c.Get(w.Root)
	w.Say("get %s", name(err))
	w.Proxy.Cut()
	until(w, events, zk.StateHasSession)
	_, _, err = c.Get(w.Root)
	w.Say("get %s, server %s", name(err), c.Server())
	c.Close()
}

func dnsHostProvider(w *gozk.World) {
	w.Say("%v", zk.FormatServers([]string{"a", "b:1", "10.0.0.1", "[::1]:3"}))
	hp := zk.NewDNSHostProvider(zk.WithLookupTimeout(time.Second))
	w.Say("init %s", name(hp.Init([]string{"127.0.0.1:1", "127.0.0.2:2", "localhost:3"})))
	n := hp.Len()
	w.Say("three or more %v", n >= 3)
	seen := map[string]bool{}
	for range n {
		server, again := hp.Next()
		w.Say("again %v", again)
		seen[server] = true
	}
	w.Say("all differ %v: %v %v", len(seen) == n, seen["127.0.0.1:1"], seen["127.0.0.2:2"])
	first, again := hp.Next()
	w.Say("one of them again %v %v", seen[first], again)
	second, again := hp.Next()
	w.Say("another %v %v", second != first, again)
	w.Say("no port: %v", zk.NewDNSHostProvider().Init([]string{"127.0.0.1"}) != nil)
	w.Say("nobody: %v", zk.NewDNSHostProvider().Init(nil) != nil)
}

func connectErrors(w *gozk.World) {
	c, events, err := zk.Connect(nil, time.Second)
	w.Say("%v %v %v", c == nil, events == nil, err)
	c, events, err = zk.Connect([]string{"127.0.0.1:2181:1"}, time.Second, zk.WithLogger(silent{}))
	w.Say("%v %v %v", c == nil, events == nil, err != nil)
}

func words(w *gozk.World) {
	c, _ := connect(w, w.Proxy.Addr(), 10*time.Second)
	defer c.Close()
	_, _, err := c.Get(w.Root)
	w.Say("get %s", name(err))
	w.Say("ruok %v", zk.FLWRuok([]string{w.Addr, "127.0.0.1:1"}, time.Minute))
	all, ok := zk.FLWSrvr([]string{w.Addr}, time.Minute)
	w.Say("srvr %v", ok)
	for _, s := range all {
		w.Say("%s %v %v %s %v", s.Server, s.Mode, s.Version, name(s.Error), s.BuildTime.Unix())
		w.Say("%v %v %v %v", s.Received > 0, s.Sent > 0, s.NodeCount > 4, s.Connections > 0)
		w.Say("%v %v %v", s.Counter > 0, s.AvgLatency >= float64(s.MinLatency), s.MaxLatency >= s.MinLatency)
	}
	all, ok = zk.FLWSrvr([]string{"127.0.0.1:1"}, time.Minute)
	w.Say("srvr of nobody %v %v %v", ok, all[0].Server, all[0].Error != nil)
	one := proxied(w)
	w.Say("cons: queued %d, timeout %d, xid %v, zxid %v, %q, %v", one.Queued, one.Timeout, one.Lcxid > 0,
		one.Lzxid > 0, one.LastOperation, name(one.Error))
	host, _, err := net.SplitHostPort(one.Addr)
	w.Say("%s %s", host, name(err))
	clients, ok := zk.FLWCons([]string{"127.0.0.1:1"}, time.Minute)
	w.Say("cons of nobody %v %v", ok, clients[0].Error != nil)
}

// proxied is what cons says of the connection through the proxy. It knows the connection by its address, because
// without warren.sessionSecrets cons does not tell the ids of sessions.
func proxied(w *gozk.World) *zk.ServerClient {
	servers, _ := zk.FLWCons([]string{w.Addr}, time.Minute)
	for _, one := range servers[0].Clients {
		if slices.Contains(w.Proxy.Sources(), one.Addr) {
			return one
		}
	}
	w.Say("cons of the proxy: in time false")
	return &zk.ServerClient{}
}

func reconfig(w *gozk.World) {
	c, _ := connect(w, w.Addr, 10*time.Second)
	defer c.Close()
	st, err := c.Reconfig([]string{"server.1=127.0.0.1:1:2;3"}, -1)
	w.Say("reconfig %s %v", stat(st), name(err))
	st, err = c.IncrementalReconfig([]string{"server.1=127.0.0.1:1:2;3"}, []string{"2"}, -1)
	w.Say("incremental %s %v", stat(st), name(err))
}

// names are what constants and errors print.
func names(w *gozk.World) {
	for s := zk.State(-113); s < 103; s++ {
		if s.String() != "Unknown" {
			w.Say("state %d %v", s, s)
		}
	}
	for t := zk.EventType(-3); t < 6; t++ {
		w.Say("event %d %v", t, t)
	}
	for m := zk.Mode(0); m < 5; m++ {
		w.Say("mode %d %v", m, m)
	}
	var texts []string
	for err, n := range known {
		texts = append(texts, fmt.Sprintf("%s: %v", n, err))
	}
	slices.Sort(texts)
	for _, text := range texts {
		w.Say("%s", text)
	}
	w.Say("%d", zk.DefaultPort)
}
