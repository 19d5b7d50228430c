package abuse

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/seed94657493/warren/test/wire"
)

// connections is what can be done with sockets alone.
func connections() []abuse {
	hello := wire.AppendFrame(nil, wire.ConnectRequest(wire.Options{TimeoutMs: 4000}).AppendTo(nil))
	client := func(a *attack) string { return a.site.Client }
	secure := func(a *attack) string { return a.site.TLS }
	admin := func(a *attack) string { return a.site.Admin }
	return []abuse{
		{name: "client port, a byte at a time", memory: 160, run: slowly(client, hello)},
		{name: "TLS port, unfinished handshakes", memory: 160,
			run: slowly(secure, []byte{0x16, 3, 1, 1, 0, 1, 0, 0, 252, 3, 3})},
		{name: "TLS port, half handshakes as fast as they go", memory: 200, run: halfHandshakes(only(secure))},
		{name: "admin port over TLS, half handshakes", memory: 200,
			settings: map[string]string{"admin.portUnification": "true"}, run: halfHandshakes(only(admin))},
		{name: "admin port, a byte at a time", memory: 160,
			run: slowly(admin, []byte("GET /commands/stat HTTP/1.1\r\nHost: a\r\n\r\n"))},
		{name: "connects without a word", memory: 160, run: knock},
		{name: "connects from another machine", memory: 160, full: true, possible: mayBeStranger, run: strangers},
		{name: "connects with ConnectRequest", memory: 200, run: connects(hello)},
		{name: "connects beyond maxClientCnxns", memory: 160, run: crowd},
		{name: "four-letter words", memory: 160, run: words},
	}
}

// slowly opens as many connections as one address gets, from several addresses, and sends each a byte now and then.
func slowly(port func(*attack) string, text []byte) func(*attack) {
	return func(a *attack) {
		var open []net.Conn
		for i := range a.size(100, 1000) {
			nc, err := a.dial(port(a), i/50)
			if err != nil {
				continue // refused: a limit
			}
			open = append(open, nc)
		}
		for i := 0; a.going(); i++ {
			for _, nc := range open {
				at := i % len(text)
				_, _ = nc.Write(text[at : at+1]) // the server may have closed it
			}
			a.rest(100 * time.Millisecond)
		}
	}
}

// only is a list of one port.
func only(port func(*attack) string) func(*attack) []string {
	return func(a *attack) []string { return []string{port(a)} }
}

// halfHandshakes sends the first message of TLS on one connection after the other, which makes the server sign, and
// nothing more.
func halfHandshakes(ports func(*attack) []string) func(*attack) {
	return func(a *attack) {
		hello, at := firstMessage(a), ports(a)
		together(a.size(64, 200), func(i int) {
			for a.going() {
				nc, err := a.dial(at[i%len(at)], i/8)
				if err != nil {
					continue // for one, followers have no quorum port that listens
				}
				a.done.Add(1)
				_, _ = nc.Write(hello)
				_ = nc.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
				_, _ = nc.Read(make([]byte, 16)) // the server has signed, or refused
				a.drop(nc)
			}
		})
	}
}

// firstMessage is what a client of TLS sends first.
func firstMessage(a *attack) []byte {
	here, there := net.Pipe()
	defer here.Close()
	client := tls.Client(there, &tls.Config{InsecureSkipVerify: true})
	go func() {
		_ = client.Handshake() // it ends with the pipe
		there.Close()
	}()
	b := make([]byte, 16<<10)
	n, err := here.Read(b)
	require.NoError(a.t, err)
	return b[:n]
}

// connects opens connections as fast as it can from one address, sends text, and closes them.
func connects(text []byte) func(*attack) {
	return func(a *attack) {
		together(8, func(int) {
			for a.going() {
				nc, err := a.dial(a.site.Client, 1)
				if err != nil {
					continue
				}
				a.done.Add(1)
				_, _ = nc.Write(text) // the server may have closed it
				a.drop(nc)
			}
		})
	}
}

// knock opens connections as fast as the kernel does it and closes them at once. Those that the kernel has opened are
// counted: the server may leave others waiting at its port.
func knock(a *attack) {
	host, port, err := net.SplitHostPort(a.site.Client)
	require.NoError(a.t, err)
	number, err := strconv.Atoi(port)
	require.NoError(a.t, err)
	addr := netip.MustParseAddr(host).As4()
	together(2, func(int) {
		to := &unix.SockaddrInet4{Port: number, Addr: addr}
		from := &unix.SockaddrInet4{Addr: [4]byte{127, 66, 0, 1}}
		for a.going() {
			require.NoError(a.t, a.knockOnce(from, to))
		}
	})
}

// knockOnce opens one connection and closes it by a reset, which leaves no port in use.
func (a *attack) knockOnce(from, to unix.Sockaddr) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	err = errors.Join(
		unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}),
		// the port is chosen when it is known where to
		unix.SetsockoptInt(fd, unix.SOL_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1),
		unix.Bind(fd, from))
	if err != nil {
		return err
	}
	_ = unix.Connect(fd, to) // under way, if not done or refused
	if _, err = unix.Getpeername(fd); err == nil {
		a.done.Add(1)
	}
	return nil
}

// crowd holds as many connections as one address gets, and asks for more.
func crowd(a *attack) {
	for range 60 {
		_, err := a.dial(a.site.Client, 1)
		require.NoError(a.t, err)
	}
	connects(nil)(a)
}

// words asks four-letter words without reading all of the answer.
func words(a *attack) {
	list := []string{"mntr", "srvr", "stat", "wchs", "dump", "\xff\xff\xff\xff", "GET "}
	together(8, func(i int) {
		for n := i; a.going(); n++ {
			nc, err := a.dial(a.site.Client, 1)
			if err != nil {
				continue
			}
			a.done.Add(1)
			fmt.Fprint(nc, list[n%len(list)])
			_ = nc.SetReadDeadline(time.Now().Add(time.Second))
			_, _ = nc.Read(make([]byte, 16))
			a.drop(nc)
		}
	})
}
