package abuse

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/wire"
)

// frames is what can be done with what a request looks like.
func frames() []abuse {
	return []abuse{
		{name: "frames of every length", memory: 320, run: lengths},
		{name: "random bytes in a session", memory: 320, run: noise},
		{name: "writes of 1 MiB", memory: 900, run: largeWrites},
		{name: "large multis", memory: 900, run: largeMultis},
		{name: "deep paths", memory: 400, run: deepPaths},
		{name: "identities", memory: 400, run: identities},
	}
}

// juteMaxBuffer is the largest request of a default configuration.
const juteMaxBuffer = 0xfffff

// setWatchesLimit is the longest setWatches that a server takes.
const setWatchesLimit = 64 << 20

// lengths announces frames of impossible and of possible lengths, before a session and in one.
func lengths(a *attack) {
	list := []uint32{0, 1, 3, 4, 7, 8, 12, 44, 45, juteMaxBuffer - 1, juteMaxBuffer, juteMaxBuffer + 1,
		setWatchesLimit, setWatchesLimit + 1, math.MaxInt32, 1 << 31, math.MaxUint32}
	body := make([]byte, juteMaxBuffer+1)
	for i := 0; a.going(); i++ {
		n := list[i%len(list)]
		if i%2 == 0 {
			nc, err := a.dial(a.site.Client, 1)
			require.NoError(a.t, err)
			_, _ = nc.Write(binary.BigEndian.AppendUint32(nil, n)) // the server may close it at any byte
			_, _ = nc.Write(body[:min(int(n), len(body))])
			a.drop(nc)
			continue
		}
		s := a.begin(2)
		_ = s.SetDeadline(time.Now().Add(time.Second))
		_, _ = s.Write(binary.BigEndian.AppendUint32(nil, n))
		_, _ = s.Write(body[:min(int(n), len(body))])
		if n > juteMaxBuffer && n < setWatchesLimit {
			_, err := s.in.ReadByte()
			require.Error(a.t, err, "a frame of %d bytes is refused", n)
		}
		a.drop(s.Conn)
	}
}

// noise sends frames with a header that may be right and a body that is not.
func noise(a *attack) {
	seed := uint64(time.Now().UnixNano())
	fmt.Fprintf(os.Stderr, "random bytes of seed %d\n", seed)
	together(4, func(i int) {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		for a.going() {
			s := a.begin(3)
			_ = s.SetWriteDeadline(time.Now().Add(time.Second))
			for range 100 {
				body := make([]byte, random.IntN(64))
				for k := range body {
					body[k] = byte(random.Uint32())
				}
				op := proto.OpCode(random.IntN(110) - 12)
				if _, err := s.Write(frame(nil, random.Int32(), wire.Request{Op: op, Body: body})); err != nil {
					break
				}
			}
			a.drop(s.Conn)
		}
	})
}

// largeWrites sends the largest writes there are and reads no reply.
func largeWrites(a *attack) {
	h := a.helper()
	_, err := h.Create("/large", nil, proto.ModePersistent)
	require.NoError(a.t, err)
	b := frame(nil, 1, wire.SetData("/large", make([]byte, juteMaxBuffer-64), -1))
	together(a.size(2, 16), func(i int) {
		s := a.begin(i)
		go a.skim(s)
		a.pump(s, b)
	})
}

// largeMultis sends multis of as many operations as fit, which succeed and which fail at the end.
func largeMultis(a *attack) {
	var good, bad []wire.Request
	for i := range 18_000 {
		good = append(good, wire.SetData("/zookeeper/quota", nil, -1))
		bad = append(bad, wire.Create(fmt.Sprintf("/m%d", i), nil, wire.OpenACL, proto.ModePersistent))
	}
	bad = append(bad, wire.Check("/none", 0))
	b := frame(frame(nil, 1, wire.Multi(good...)), 2, wire.Multi(bad...))
	together(2, func(i int) {
		s := a.begin(i)
		go a.skim(s)
		a.pump(s, b)
		require.False(a.t, a.going(), "the server takes such multis")
	})
}

// deepPaths makes a znode as deep as it gets in time, asks for it and for others as deep.
func deepPaths(a *attack) {
	h := a.helper()
	path := ""
	for range a.size(500, 5000) {
		path += "/d"
		_, err := h.Create(path, nil, proto.ModePersistent)
		require.NoError(a.t, err)
	}
	absent := strings.Repeat("/d", juteMaxBuffer/2-40)
	b := frame(frame(frame(nil, 1, wire.Exists(path, true)), 2, wire.Exists(absent, true)), 3,
		wire.AddWatch(absent[:len(absent)-2], proto.AddWatchPersistentRecursive))
	together(4, func(i int) {
		s := a.begin(i)
		go a.skim(s)
		a.pump(s, b)
	})
}

// identities adds identities until the connection is closed, again and again.
func identities(a *attack) {
	together(4, func(i int) {
		for n := 0; a.going(); n++ {
			s := a.begin(i)
			_ = s.SetWriteDeadline(time.Now().Add(5 * time.Second))
			go a.skim(s)
			for k := range 2000 {
				if _, err := s.Write(frame(nil, -4,
					wire.Auth("digest", fmt.Appendf(nil, "u%d-%d:p", n, k)))); err != nil {
					break
				}
			}
			a.drop(s.Conn)
		}
	})
}
