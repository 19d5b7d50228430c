package abuse

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"time"
)

// members is what can be done to the ports between servers by a program that reaches them.
func members() []abuse {
	return []abuse{
		{name: "quorum and election ports, hostile bytes", members: 3, memory: 400, run: hostilePeers},
		{name: "quorum and election ports, connects", members: 3, memory: 400, run: connectPeers},
	}
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
