package abuse

import (
	"encoding/binary"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A bad client on a machine of its own does not take its part of the work of TCP from the processors of the server.
// Here it does, when it opens sockets: more than the server itself. So this one has no sockets: it sends the segments
// of a handshake, and the reset that ends the connection, through a network device of its own, which exists as long
// as it does and leads nowhere else.

// Addresses of the device and of the bad client, of the range for measurements. Source: RFC 2544.
var (
	deviceAddress = netip.MustParseAddr("198.18.66.1")
	strangerFrom  = netip.MustParseAddr("198.18.66.2")
)

const (
	deviceName = "warren-abuse"
	// strangersASecond is how many connections are opened in a second, if the machine is as fast.
	strangersASecond = 52_000
)

// mayBeStranger reports whether the device can be had, and its addresses are not used for something else.
func mayBeStranger() bool {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil || os.Geteuid() != 0 {
		return false
	}
	unix.Close(fd)
	used, err := net.InterfaceAddrs()
	return err == nil && !slices.ContainsFunc(used, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.Contains(strangerFrom.AsSlice())
	})
}

// strangers opens connections from the device.
func strangers(a *attack) {
	d, err := openDevice()
	require.NoError(a.t, err)
	defer unix.Close(d.fd)
	d.to = netip.MustParseAddrPort(a.site.Client)
	began := time.Now()
	asked := 0 // and not answered
	for n := int64(0); a.going(); n++ {
		if ahead := time.Duration(n)*time.Second/strangersASecond - time.Since(began); ahead > time.Millisecond {
			time.Sleep(ahead)
		}
		from := uint16(1024 + n%60_000)
		require.NoError(a.t, d.send(from, synFlag, firstSeq, 0))
		for asked++; asked > 0; asked-- {
			from, seq, ok := d.receive()
			if !ok {
				break
			}
			require.NoError(a.t, d.send(from, ackFlag, firstSeq+1, seq+1))
			require.NoError(a.t, d.send(from, rstFlag|ackFlag, firstSeq+1, seq+1))
			a.done.Add(1)
		}
	}
}

// device is the network device.
type device struct {
	fd  int
	to  netip.AddrPort
	in  [1500]byte
	out [ipHeader + tcpHeader]byte
}

const (
	ipHeader  = 20
	tcpHeader = 20
	firstSeq  = 1000
	synFlag   = 0x02
	rstFlag   = 0x04
	ackFlag   = 0x10
)

// openDevice makes the device, with its address, and lets packets from it reach loopback addresses.
func openDevice() (*device, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	d := &device{fd: fd}
	if err := d.configure(); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return d, nil
}

func (d *device) configure() error {
	ifr, err := unix.NewIfreq(deviceName)
	if err != nil {
		return err
	}
	ifr.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(d.fd, unix.TUNSETIFF, ifr); err != nil {
		return err
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	for _, set := range []struct { // in this order: the second changes the first
		request uint
		addr    netip.Addr
	}{{unix.SIOCSIFADDR, deviceAddress}, {unix.SIOCSIFDSTADDR, strangerFrom}} {
		if ifr, err = unix.NewIfreq(deviceName); err == nil {
			err = ifr.SetInet4Addr(set.addr.AsSlice())
		}
		if err == nil {
			err = unix.IoctlIfreq(socket, set.request, ifr)
		}
		if err != nil {
			return err
		}
	}
	if ifr, err = unix.NewIfreq(deviceName); err != nil {
		return err
	}
	ifr.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, ifr); err != nil {
		return err
	}
	return os.WriteFile("/proc/sys/net/ipv4/conf/"+deviceName+"/route_localnet", []byte("1"), 0)
}

// send sends a segment without data to the server.
func (d *device) send(from uint16, flags byte, seq, ack uint32) error {
	p := d.out[:]
	clear(p)
	p[0], p[8], p[9] = 0x45, 64, unix.IPPROTO_TCP
	binary.BigEndian.PutUint16(p[2:], uint16(len(p)))
	copy(p[12:], strangerFrom.AsSlice())
	copy(p[16:], d.to.Addr().AsSlice())
	binary.BigEndian.PutUint16(p[10:], checksum(p[:ipHeader], 0))
	t := p[ipHeader:]
	binary.BigEndian.PutUint16(t, from)
	binary.BigEndian.PutUint16(t[2:], d.to.Port())
	binary.BigEndian.PutUint32(t[4:], seq)
	binary.BigEndian.PutUint32(t[8:], ack)
	t[12], t[13] = tcpHeader/4<<4, flags
	binary.BigEndian.PutUint16(t[14:], 65535)
	sum := checksum(p[12:], unix.IPPROTO_TCP+tcpHeader) // the addresses are a part of it
	binary.BigEndian.PutUint16(t[16:], sum)
	_, err := unix.Write(d.fd, p)
	return err
}

// receive returns the port and the number of the next handshake that the server has answered. Other segments are
// dropped.
func (d *device) receive() (port uint16, seq uint32, ok bool) {
	for {
		n, err := unix.Read(d.fd, d.in[:])
		if err != nil {
			return 0, 0, false
		}
		head := int(d.in[0]&0x0f) * 4
		if n < head+tcpHeader || d.in[0]>>4 != 4 || d.in[9] != unix.IPPROTO_TCP {
			continue
		}
		if t := d.in[head:n]; t[13] == synFlag|ackFlag {
			return binary.BigEndian.Uint16(t[2:]), binary.BigEndian.Uint32(t[4:]), true
		}
	}
}

// checksum is that of IP and TCP, over an even number of bytes and what begins it.
func checksum(b []byte, sum uint32) uint16 {
	for i := 0; i < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}
