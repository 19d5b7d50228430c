package abuse

import (
	"fmt"
	"net"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/wire"
)

// connections is what can be done with sockets alone.
func connections() []abuse {
	hello := wire.AppendFrame(nil, wire.ConnectRequest(wire.Options{TimeoutMs: 4000}).AppendTo(nil))
	client := func(a *attack) string { return a.site.Client }
	tls := func(a *attack) string { return a.site.TLS }
	admin := func(a *attack) string { return a.site.Admin }
	return []abuse{
		{name: "client port, a byte at a time", memory: 160, run: slowly(client, hello)},
		{name: "TLS port, unfinished handshakes", memory: 160, run: slowly(tls, []byte{0x16, 3, 1, 1, 0, 1, 0, 0, 252, 3, 3})},
		{name: "admin port, a byte at a time", memory: 160, run: slowly(admin, []byte("GET /commands/stat HTTP/1.1\r\nHost: a\r\n\r\n"))},
		{name: "connects without a word", memory: 160, run: connects(nil)},
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

// connects opens connections as fast as it can from one address, sends text, and closes them.
func connects(text []byte) func(*attack) {
	return func(a *attack) {
		together(8, func(int) {
			for a.going() {
				nc, err := a.dial(a.site.Client, 1)
				if err != nil {
					continue
				}
				_, _ = nc.Write(text) // the server may have closed it
				a.drop(nc)
			}
		})
	}
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
			fmt.Fprint(nc, list[n%len(list)])
			_ = nc.SetReadDeadline(time.Now().Add(time.Second))
			_, _ = nc.Read(make([]byte, 16))
			a.drop(nc)
		}
	})
}
