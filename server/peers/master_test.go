package peers

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/zab"
)

// withMasterPort gives a server a port for observers that was free, and returns its address.
func withMasterPort(t *testing.T, w *world, id proto.ServerID) (configure func(*Config), address string) {
	ln := must.Do(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	number := ln.Addr().(*net.TCPAddr).Port
	require.NoError(t, ln.Close())
	host, _ := must.Do2(net.SplitHostPort(w.member(id).Quorum[0]))(t)
	return func(c *Config) { c.MasterPort = number }, net.JoinHostPort(host, strconv.Itoa(number))
}

// An observer reaches the port for observers of another server, which tells its host by which port it came.
func TestObserverDialsAMaster(t *testing.T) {
	w := newWorld(t, 2, 3)
	configure, _ := withMasterPort(t, w, 2)
	master, observer := w.start(2, configure), w.start(3, configure)
	observer.mu.Lock()
	id := observer.number()
	observer.mu.Unlock()
	observer.peers.Dial(id, 2, zab.MasterPort)
	observer.wait("connected", func() bool { return observer.links[id].connected })
	observer.links[id].link.Send(&zab.Message{Type: zab.ObserverInfo, From: 3, Warren: true})
	observer.links[id].link.Flush()
	master.wait("an observer", func() bool { return len(master.links) == 1 && master.links[1].link != nil })
	require.Equal(t, zab.MasterPort, master.links[1].port)
	require.Equal(t, proto.ServerID(3), master.links[1].link.Peer)
	_, its := w.start(1).follow(master)
	require.Equal(t, zab.LearnerPort, master.links[its.ID].port)
}

// Without the setting there is no port, and nothing to dial.
func TestNoMasterPort(t *testing.T) {
	w := newWorld(t, 2, 3)
	observer := w.start(3)
	observer.mu.Lock()
	id := observer.number()
	observer.mu.Unlock()
	observer.peers.Dial(id, 2, zab.MasterPort)
	observer.waitClosed(id)
	require.Empty(t, observer.peers.masterAddresses(w.member(2)))
	cfg := testConfig(t, 2, w.members)
	cfg.Handler, cfg.MasterPort = observer, 70_000
	require.ErrorContains(t, must.Err(New(cfg)), "MasterPort 70000 is not a port")
}

// Only an observer of the ensemble is heard on the port for observers, whatever bytes come; the others go on.
func TestHostileBytesOnTheMasterPort(t *testing.T) {
	seed := rand.Uint64()
	fmt.Printf("SEED=%d\n", seed)
	w := newWorld(t, 3, 3)
	configure, address := withMasterPort(t, w, 2)
	master := w.start(2, configure, func(c *Config) { c.Limits.StrangersMax = 16 })
	inputs := map[string][]byte{
		"a follower":      AppendMessage(nil, &zab.Message{Type: zab.FollowerInfo, From: 1}),
		"this server":     AppendMessage(nil, &zab.Message{Type: zab.ObserverInfo, From: 2}),
		"another packet":  appendPlain(nil, proto.PacketAck, 1),
		"far too much":    proto.AppendInt32(appendHead(nil, proto.PacketObserverInfo, 0), 0x7fffffff),
		"a client's word": []byte("ruok"),
		"nothing":         nil,
	}
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range 50 {
		b := make([]byte, r.IntN(2000))
		for j := range b {
			b[j] = byte(r.Uint32() >> r.IntN(32))
		}
		if i%2 == 0 {
			b = append(proto.AppendInt32(nil, int32(proto.PacketObserverInfo)), b...)
		}
		inputs["random "+strconv.Itoa(i)] = b
	}
	for name, b := range inputs {
		nc := w.connect(address)
		_, _ = nc.Write(b) // it may be closed before all of it is written
		_ = nc.(*net.TCPConn).CloseWrite()
		n, _ := io.Copy(io.Discard, nc)
		require.Zero(t, n, name)
	}
	good := w.connect(address)
	must.Do(good.Write(AppendMessage(nil, &zab.Message{Type: zab.ObserverInfo, From: 3})))(t)
	master.wait("the observer", func() bool { return len(master.links) == 1 && master.links[1].link != nil })
	must.Do(good.Write(proto.AppendInt32(appendHead(nil, proto.PacketRequest, 0), -7)))(t)
	master.waitClosed(1)
}

// An observer that takes nothing is dropped at the limit of its own, which is below that of other learners.
func TestSlowObserverIsDropped(t *testing.T) {
	w := newWorld(t, 3, 3)
	configure, address := withMasterPort(t, w, 2)
	master := w.start(2, configure, func(c *Config) { c.Limits.MasterQueue = 1 << 20 })
	slow := w.connect(address)
	must.Do(slow.Write(AppendMessage(nil, &zab.Message{Type: zab.ObserverInfo, From: 3})))(t)
	master.wait("the observer", func() bool { return len(master.links) == 1 && master.links[1].link != nil })
	link := master.links[1].link
	payload := make([]byte, 64<<10)
	sent := 0
	for ; sent < 64<<20 && !link.ended(); sent += len(payload) {
		link.SendPacket(&Packet{Type: proto.PacketInform, Zxid: 1, Data: payload})
		link.Flush()
	}
	master.waitClosed(1)
	require.Less(t, sent, 32<<20)
	require.ErrorIs(t, link.why(), ErrSlow)
}
