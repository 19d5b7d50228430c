package abuse

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/wire"
)

// members is what can be done to the ports between servers by a program that reaches them.
func members() []abuse {
	return []abuse{
		{name: "quorum and election ports, hostile bytes", members: 3, memory: 400, run: hostilePeers},
		{name: "quorum and election ports, connects", members: 3, memory: 400, run: connectPeers},
		{name: halfShaken, members: 3, memory: 400, settings: map[string]string{"sslQuorum": "true"},
			run: halfHandshakes(func(a *attack) []string { return slices.Concat(a.site.Quorum, a.site.Election) })},
	}
}

const halfShaken = "quorum and election ports over TLS, half handshakes"

// TestServersShakeHandsBesideAFlood begins handshakes at the ports between servers, as fast as they go, and does not
// end them. Followers go on to follow, and those that come back find their way in.
func TestServersShakeHandsBesideAFlood(t *testing.T) {
	tg := startTarget(t, 3, map[string]string{"sslQuorum": "true"})
	leader := slices.IndexFunc(tg.nodes, func(n *cluster.Node) bool { return modeOf(n) == "leader" })
	require.GreaterOrEqual(t, leader, 0)
	follower, other := tg.nodes[(leader+1)%3], tg.nodes[(leader+2)%3]
	bad := startAbuser(t, order{Name: halfShaken, Lasts: time.Hour, Site: tg.site(t)}) // until the test is over
	bad.tell(attackNow)
	c := wire.Open(t, other.Addr(), wire.Options{TimeoutMs: 30_000})
	for round := range 3 {
		follower.Kill()
		c.MustCreate(t, fmt.Sprintf("/n%d", round), nil, proto.ModePersistent)
		follower.Start()
		require.Equal(t, "follower", modeOf(follower))
		_, err := c.Exists("/n0", false)
		require.NoError(t, err, "the session at the other follower lives on")
	}
	require.Equal(t, "leader", modeOf(tg.nodes[leader]), "nobody has left it")
}

// modeOf is what a server says that it is, "" if it says nothing.
func modeOf(n *cluster.Node) string {
	text, err := wire.FourLetter(n.Addr(), "srvr", time.Minute)
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(text, "Mode: ")
	mode, _, _ := strings.Cut(rest, "\n")
	return mode
}

// hostilePeers holds connections to the ports between servers open, and sends noise to others.
func hostilePeers(a *attack) {
	addrs := append(slices.Clone(a.site.Quorum), a.site.Election...)
	seed := uint64(time.Now().UnixNano())
	fmt.Fprintf(os.Stderr, "random bytes of seed %d\n", seed)
	for i := range a.size(60, 600) {
		if nc, err := a.dial(addrs[i%len(addrs)], 1); err == nil {
			_, _ = nc.Write([]byte{0xff})
		}
	}
	together(4, func(i int) {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		for a.going() {
			nc, err := a.dial(addrs[random.IntN(len(addrs))], 2)
			if err != nil {
				continue // followers have no quorum port that listens
			}
			sendNoise(nc, random)
			a.drop(nc)
		}
	})
}

// connectPeers connects as fast as it can, and leaves half of the connections open for a while.
func connectPeers(a *attack) {
	addrs := append(slices.Clone(a.site.Quorum), a.site.Election...)
	together(8, func(i int) {
		var open []net.Conn
		for n := i; a.going(); n++ {
			nc, err := a.dial(addrs[n%len(addrs)], 1)
			if err != nil {
				continue // followers have no quorum port that listens
			}
			open = append(open, nc)
			if len(open) > 100 {
				a.drop(open[0])
				open = open[1:]
			}
		}
	})
}

// sendNoise sends what begins like a message of the protocols between servers, or like nothing.
func sendNoise(nc net.Conn, random *rand.Rand) {
	b := make([]byte, 8+random.IntN(2000))
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	switch random.IntN(4) {
	case 0: // an election connection of protocol version -65536
		binary.BigEndian.PutUint64(b, 0xffffffffffff0000)
	case 1: // a QuorumPacket of type FOLLOWERINFO, whose data is huge
		b = append([]byte{0, 0, 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff}, b...)
	case 2: // an election connection of server 2, then a long message
		b = append([]byte{0, 0, 0, 0, 0, 0, 0, 2, 0x7f, 0xff, 0xff, 0xff}, b...)
	}
	_, _ = nc.Write(b) // the server may have closed it
}
