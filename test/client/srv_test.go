package client_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/must"
)

// The service whose records name the servers, and the host at which they all are.
const (
	serviceName = "_zookeeper._tcp.warren.test"
	serviceHost = "zk.warren.test"
)

// Of DNS. Source: RFC 1035, 4.1, and RFC 2782.
const (
	dnsHead, dnsTypeA, dnsTypeSRV = 12, 1, 33
	dnsAnswer                     = 0x8180 // recursion was desired and is available
	dnsNoSuchName                 = 3
)

// zone is a name server for serviceName.
type zone struct {
	conn  net.PacketConn
	mu    sync.Mutex
	ports []uint16
	asked []net.Conn // by the resolver
}

func newZone(t *testing.T) *zone {
	t.Helper()
	conn := must.Do(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	z := &zone{conn: conn}
	var serving sync.WaitGroup
	serving.Go(z.serve)
	t.Cleanup(func() {
		conn.Close()
		serving.Wait()
		z.mu.Lock()
		defer z.mu.Unlock()
		for _, lookup := range z.asked {
			lookup.Close()
		}
	})
	return z
}

// resolver asks the zone alone. A lookup that was given up waits on in the background for an answer, for seconds: its
// connection ends with the zone.
func (z *zone) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		lookup, err := (&net.Dialer{}).DialContext(ctx, "udp", z.conn.LocalAddr().String())
		if err != nil {
			return nil, err
		}
		z.mu.Lock()
		defer z.mu.Unlock()
		z.asked = append(z.asked, lookup)
		return lookup, nil
	}}
}

// name makes servers the records of the service.
func (z *zone) name(t *testing.T, addrs ...string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.ports = nil
	for _, addr := range addrs {
		at := must.Do(netip.ParseAddrPort(addr))(t)
		z.ports = append(z.ports, at.Port())
	}
}

func (z *zone) serve() {
	query := make([]byte, 1500)
	for {
		n, from, err := z.conn.ReadFrom(query)
		if err != nil {
			return
		}
		if n < dnsHead {
			continue
		}
		if reply := z.reply(query[:n]); reply != nil {
			_, _ = z.conn.WriteTo(reply, from)
		}
	}
}

// appendName appends a name as labels.
func appendName(b []byte, name string) []byte {
	for label := range strings.SplitSeq(name, ".") {
		b = append(append(b, byte(len(label))), label...)
	}
	return append(b, 0)
}

// reply answers a query with one question, nil if it has none.
func (z *zone) reply(query []byte) []byte {
	z.mu.Lock()
	defer z.mu.Unlock()
	end := dnsHead + bytes.IndexByte(query[dnsHead:], 0) + 5 // the empty label, type and class
	if end < dnsHead+5 || end > len(query) {
		return nil
	}
	question := query[dnsHead:end]
	name, kind := bytes.ToLower(question[:len(question)-4]), question[len(question)-3]
	code := uint16(dnsAnswer)
	var answers [][]byte
	switch service, host := appendName(nil, serviceName), appendName(nil, serviceHost); {
	case bytes.Equal(name, service) && kind == dnsTypeSRV:
		for _, port := range z.ports {
			data := binary.BigEndian.AppendUint16([]byte{0, 0, 0, 0}, port) // priority, weight, port
			answers = append(answers, append(data, host...))
		}
	case bytes.Equal(name, host) && kind == dnsTypeA:
		answers = [][]byte{{127, 0, 0, 1}}
	case !bytes.Equal(name, service) && !bytes.Equal(name, host):
		code |= dnsNoSuchName
	}
	out := append([]byte{}, query[:2]...)
	for _, field := range []uint16{code, 1, uint16(len(answers)), 0, 0} {
		out = binary.BigEndian.AppendUint16(out, field)
	}
	out = append(out, question...)
	for _, data := range answers {
		out = append(out, 0xc0, dnsHead)                 // the name of the question
		out = append(out, question[len(question)-4:]...) // type and class
		out = append(out, 0, 0, 0, 1)                    // seconds to live
		out = binary.BigEndian.AppendUint16(out, uint16(len(data)))
		out = append(out, data...)
	}
	return out
}

// A client that finds its servers by SRV records comes to other servers when the records change, with its session. It
// comes back to known servers while the name server is away.
func TestServersBySRVRecords(t *testing.T) {
	e := embed.Start(t, embed.Options{Servers: 3, TickTime: steadyTick})
	ctx := within(t, time.Minute)
	z := newZone(t)
	z.name(t, e.Addr(1))
	lookups := z.resolver()
	options := []client.Option{client.WithSessionTimeout(20 * time.Second),
		client.WithSRVResolver(func(ctx context.Context, name string) ([]*net.SRV, error) {
			_, records, err := lookups.LookupSRV(ctx, "", "", name)
			return records, err
		}),
		client.WithResolver(lookups.LookupHost)}
	require.NoError(t, dial(t, e.ConnectString()).CreateAll(ctx, "/app"))
	c := dial(t, "dns-srv://"+serviceName+"/app", options...)
	id, _ := c.Session()
	must.Do(c.Create(ctx, "/mine", nil, client.Ephemeral))(t)
	require.Equal(t, e.Addr(1), c.State().Server)

	z.name(t, e.Addr(2), e.Addr(3))
	e.Kill(1)
	require.NoError(t, client.Retry(ctx, func(ctx context.Context) error {
		_, _, err := c.Get(ctx, "/mine")
		return err
	}))
	now, _ := c.Session()
	require.Equal(t, id, now)
	second := c.State().Server
	require.Contains(t, []string{e.Addr(2), e.Addr(3)}, second)

	require.NoError(t, z.conn.Close())
	require.NoError(t, e.Start(1))
	require.NoError(t, e.WaitServing(ctx))
	for id := 2; id <= 3; id++ {
		if e.Addr(id) == second {
			e.Kill(id)
		}
	}
	require.NoError(t, client.Retry(ctx, func(ctx context.Context) error {
		_, _, err := c.Get(ctx, "/mine")
		return err
	}))
	require.NotEqual(t, second, c.State().Server)
	require.NotEqual(t, e.Addr(1), c.State().Server)
}
