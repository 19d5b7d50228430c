package ensemble

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// delayLine makes late what a namespace sends: `tc ... netem delay` for kernels that have no netem. Packets are routed into a network
// device of its own, wait, and leave by the real one.
type delayLine struct {
	device *os.File // yields what the namespace sends
	out    int      // raw socket, bound to eth0
	done   chan struct{}
}

const (
	delayDevice = "late0"
	// delayQueue is how many packets wait before more are lost.
	delayQueue = 1 << 16
	packetMax  = 1500
)

// startDelayLine makes late all that the namespace with this address sends to its subnet of 24 bits.
func startDelayLine(namespace string, addr netip.Addr, late time.Duration) (*delayLine, error) {
	l := &delayLine{done: make(chan struct{})}
	opened := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread stays in the namespace, and ends with this goroutine
		opened <- l.open(namespace)
	}()
	if err := <-opened; err != nil {
		return nil, err
	}
	err := run("ip", "-n", namespace, "link", "set", delayDevice, "up")
	half := addr.As4()
	for _, half[3] = range []byte{0, 128} { // together they come before the route of eth0
		err = errors.Join(err, run("ip", "-n", namespace, "route", "add", netip.PrefixFrom(netip.AddrFrom4(half), 25).String(), "dev", delayDevice, "src", addr.String()))
	}
	if err != nil {
		_, _ = l.device.Close(), unix.Close(l.out)
		return nil, err
	}
	go l.carry(late)
	return l, nil
}

// open opens the device and the socket, in the namespace. The thread is of no other use afterwards.
func (l *delayLine) open(namespace string) error {
	if err := enter(namespace); err != nil {
		return err
	}
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	ifr, err := unix.NewIfreq(delayDevice)
	if err == nil {
		ifr.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, ifr)
	}
	if err == nil {
		l.out, err = unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_RAW)
	}
	if err != nil {
		unix.Close(fd)
		return err
	}
	if err := unix.BindToDevice(l.out, "eth0"); err != nil {
		_, _ = unix.Close(fd), unix.Close(l.out)
		return err
	}
	l.device = os.NewFile(uintptr(fd), delayDevice)
	return nil
}

// enter makes a namespace that of the present thread, to which the goroutine is locked.
func enter(namespace string) error {
	ns, err := os.Open("/run/netns/" + namespace)
	if err != nil {
		return err
	}
	defer ns.Close()
	return unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET)
}

// carry takes packets from the device to the socket until the device is closed.
func (l *delayLine) carry(late time.Duration) {
	type packet struct {
		due  time.Time
		data []byte
	}
	waiting := make(chan packet, delayQueue)
	go func() {
		defer close(l.done)
		for p := range waiting {
			time.Sleep(time.Until(p.due))
			to := unix.SockaddrInet4{Addr: [4]byte(p.data[16:20])}
			_ = unix.Sendto(l.out, p.data, 0, &to) // one that is lost is sent again by TCP
		}
		unix.Close(l.out)
	}()
	defer close(waiting)
	for {
		data := make([]byte, packetMax)
		n, err := l.device.Read(data)
		if err != nil {
			return
		}
		if n < 20 || data[0]>>4 != 4 {
			continue
		}
		select {
		case waiting <- packet{time.Now().Add(late), data[:n]}:
		default:
		}
	}
}

// end removes the device, and with it the routes into it. What was on its way arrives.
func (l *delayLine) end() {
	_ = l.device.Close()
	<-l.done
}

// TestSlowLinks checks what the other tests rely on: what a namespace sends comes late, whole, and after heal in time.
func TestSlowLinks(t *testing.T) {
	f := newFabric(t, 1)
	if f == nil {
		t.Skip("no network namespaces")
	}
	ln, err := net.Listen("tcp", f.subnet+".254:0")
	require.NoError(t, err)
	t.Cleanup(func() { ln.Close() })
	sent := make([]byte, 1<<20)
	for i := range sent {
		sent[i] = byte(i >> 8)
	}
	// exchange sends much in either direction, and returns how long it took to connect.
	exchange := func() (took time.Duration) {
		var nc net.Conn
		done := make(chan error)
		go func() {
			runtime.LockOSThread()
			began := time.Now()
			err := enter(f.namespace(1))
			if err == nil {
				nc, err = net.Dial("tcp", ln.Addr().String())
			}
			took = time.Since(began)
			done <- err
		}()
		require.NoError(t, <-done)
		other, err := ln.Accept()
		require.NoError(t, err)
		for _, way := range [][2]net.Conn{{nc, other}, {other, nc}} {
			go func() { _, _ = way[0].Write(sent) }() // the other side sees whether all came
			got := make([]byte, len(sent))
			_, err := io.ReadFull(way[1], got)
			require.NoError(t, err)
			require.True(t, bytes.Equal(sent, got))
		}
		nc.Close()
		other.Close()
		return took
	}
	exchange()
	if !f.slow(1, 50*time.Millisecond) {
		t.Skip("neither netem nor /dev/net/tun")
	}
	require.GreaterOrEqual(t, exchange(), 50*time.Millisecond)
	f.heal()
	exchange()
}
