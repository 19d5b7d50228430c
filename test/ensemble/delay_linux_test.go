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

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

// delayLine makes late what a namespace sends: `tc ... netem delay` for kernels that have no netem. Packets are
// routed into a network device of its own, wait, and leave by the real one.
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
	if err := inNamespace(namespace, l.open); err != nil {
		return nil, err
	}
	err := cluster.Run("ip", "-n", namespace, "link", "set", delayDevice, "up")
	half := addr.As4()
	for _, half[3] = range []byte{0, 128} { // together they come before the route of eth0
		err = errors.Join(err, cluster.Run("ip", "-n", namespace, "route", "add",
			netip.PrefixFrom(netip.AddrFrom4(half), 25).String(), "dev", delayDevice, "src", addr.String()))
	}
	if err != nil {
		_, _ = l.device.Close(), unix.Close(l.out)
		return nil, err
	}
	go l.carry(late)
	return l, nil
}

// open opens the device and the socket, in the namespace.
func (l *delayLine) open() error {
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

// inNamespace calls fn with the present thread in a namespace. The thread is not ended afterwards: the servers that
// it has started would end with it.
func inNamespace(namespace string, fn func() error) error {
	there, err := os.Open("/run/netns/" + namespace)
	if err != nil {
		return err
	}
	defer there.Close()
	runtime.LockOSThread()
	here, err := os.Open("/proc/thread-self/ns/net")
	if err == nil {
		defer here.Close()
		err = unix.Setns(int(there.Fd()), unix.CLONE_NEWNET)
	}
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	err = fn()
	if back := unix.Setns(int(here.Fd()), unix.CLONE_NEWNET); back != nil {
		return errors.Join(err, back) // no other goroutine gets the thread
	}
	runtime.UnlockOSThread()
	return err
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

// TestSlowLinks checks what the other tests rely on: what a namespace sends comes late, whole, and after heal in
// time.
func TestSlowLinks(t *testing.T) {
	f := newFabric(t, 1)
	if f == nil {
		t.Skip("no network namespaces")
	}
	ln := must.Do(net.Listen("tcp", f.Addr(254)+":0"))(t)
	t.Cleanup(func() { ln.Close() })
	sent := make([]byte, 1<<20)
	for i := range sent {
		sent[i] = byte(i >> 8)
	}
	// exchange sends much in either direction, and returns how long it took to connect.
	exchange := func() (took time.Duration) {
		var nc net.Conn
		began := time.Now()
		require.NoError(t, inNamespace(f.Namespace(1), func() (err error) {
			nc, err = dial(ln.Addr())
			return err
		}))
		took = time.Since(began)
		other := must.Do(ln.Accept())(t)
		for _, way := range [][2]net.Conn{{nc, other}, {other, nc}} {
			go func() { _, _ = way[0].Write(sent) }() // the other side sees whether all came
			got := make([]byte, len(sent))
			must.Do(io.ReadFull(way[1], got))(t)
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

// dial connects without leaving the thread, as net.Dial might.
func dial(to net.Addr) (net.Conn, error) {
	addr := to.(*net.TCPAddr).AddrPort()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "socket")
	defer file.Close()
	if err := unix.Connect(fd, &unix.SockaddrInet4{Addr: addr.Addr().As4(), Port: int(addr.Port())}); err != nil {
		return nil, err
	}
	return net.FileConn(file)
}
