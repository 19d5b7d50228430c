package zab

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/zab/quorum"
)

// FuzzCore plays a hostile or broken world to one core: any message, on any link, in any order, between ticks and
// answers of the host. For any input the core must not panic, and its promises must be durable. Input from
// the network costs its sender the connection at most.
func FuzzCore(f *testing.F) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 3))
		data := make([]byte, 600)
		for i := range data {
			data[i] = byte(rng.UintN(256))
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { survive(t, data) })
}

// TestCoreSurvivesAnything is the same with random bytes.
func TestCoreSurvivesAnything(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 4))
	for range 3000 {
		data := make([]byte, 100+rng.IntN(1500))
		for i := range data {
			data[i] = byte(rng.UintN(256))
		}
		survive(t, data)
	}
}

func survive(t *testing.T, data []byte) {
	q := must.Do(quorum.Majority(1, 2, 3))(t)
	byteAt := func() byte {
		if len(data) == 0 {
			return 0
		}
		b := data[0]
		data = data[1:]
		return b
	}
	timing := Timing{TickTime: 4, InitLimit: 3, SyncLimit: 2, FinalizeWait: 1, ResendMin: 2, ResendMax: 8,
		DialPause: 1, DialAttempts: 2}
	limits := Limits{WindowTxns: 4, WindowBytes: 100, InFlight: 10, LinksMax: 4, LagBytes: 20, CounterMax: 20}
	first := byteAt()
	cfg := Config{ID: 2, Ensemble: &Ensemble{Quorum: q}, History: noHistory{}, Rand: rand.New(rand.NewPCG(1, 1)),
		Timing: timing, Limits: limits, Blank: first&1 == 1}
	cfg.Masters = first&128 == 128
	if b := byteAt(); b > 128 {
		cfg.Lineage = drawn(rand.New(rand.NewPCG(uint64(b), 5)))
	}
	if first&2 == 2 {
		cfg.ID, cfg.Ensemble.Observers = 4, []proto.ServerID{4}
	}
	if first&4 == 4 {
		cfg.Window = txns("1.1-6")
		cfg.Last, cfg.Epochs = cfg.Window[5].Zxid, Epochs{Accepted: 1, Current: 1}
	}
	reconfig := func(c Config) Config {
		if first&64 == 64 {
			c.Roster = roster{}
			c.Ensemble = c.Ensemble.at(proto.MakeZxid(1, 0))
		}
		return c
	}
	c := must.Do(New(reconfig(cfg)))(t)
	switch first >> 3 & 7 { // most runs begin deep in the protocol
	case 1, 2:
		c = leading(t, true)
	case 3:
		c = leading(t, false)
	case 4, 5, 6, 7:
		join := following("1.1-6", "LEADERINFO link=1 from=3 epoch=4", "DIFF link=1 from=3 zxid=1.6",
			"NEWLEADER link=1 from=3 epoch=4", "UPTODATE link=1 from=3")
		if first>>3&7 == 5 {
			join = append(join[:5], "SNAP link=1 from=3 zxid=1.9")
		}
		if first>>3&7 == 6 {
			join = append(join[:6], "PROPOSAL link=1 from=3 txns=2.1")
		}
		s := &script{configure: reconfig}
		for _, line := range join {
			s.run(strings.Fields(line))
		}
		require.False(t, s.over)
		c = s.core
	}
	c.cfg = reconfig(c.cfg) // also of a leader
	var seq Seq
	zxid := func() proto.Zxid {
		b := byteAt()
		return proto.MakeZxid(int64(b&3), uint32(b>>2)&15) - proto.Zxid(b>>7)
	}
	links := []LinkID{0, 1, 2, 3}
	for len(data) > 0 {
		switch op := byteAt(); op % 16 {
		case 0:
			c.Tick()
		case 1, 2:
			if seq > 0 {
				c.Persisted(seq)
			}
		case 3:
			if id := c.Accept(Port(op >> 4 & 1)); id != 0 {
				links = append(links, id)
			}
		case 4:
			c.LinkUp(links[int(byteAt())%len(links)])
		case 5:
			c.LinkDown(links[int(byteAt())%len(links)])
		case 6:
			z := c.NextZxid()
			txns := []Txn{{Zxid: z}, {Zxid: z + 1}}
			if op>>4 > 7 {
				txns[1].Payload = wire(byteAt(), z+1)
			}
			_ = c.Propose(txns...)
		case 7:
			_ = c.Sync(links[int(byteAt())%len(links)], 1)
			c.Answer(links[int(byteAt())%len(links)], 2)
		case 8:
			if op>>4 == 0 {
				c.HandOver(op>>7 == 1)
			}
			c.PeerUp(proto.ServerID(op>>4) % 5)
			c.Unfit(proto.ServerID(op>>4)%5, op>>6 != 0)
		case 9:
			c.Streamed(links[int(byteAt())%len(links)], min(zxid(), c.log.window.last()))
		default:
			m := Message{Type: Type(byteAt()) % (ProbeReply + 3), From: proto.ServerID(byteAt() % 5),
				Link: links[int(byteAt())%len(links)], Zxid: zxid(), Epoch: int64(byteAt()%6) - 1,
				State: State(byteAt() % 5), Round: int64(byteAt() % 4), Version: int32(byteAt() % 3),
				Vote:   Vote{Leader: proto.ServerID(byteAt() % 5), Zxid: zxid(), Epoch: int64(byteAt()%4) - 1},
				Leader: proto.ServerID(byteAt() % 5), Warren: op&16 == 0, Blank: op&32 == 32, Repeat: op&64 == 0}
			for z, n := zxid(), byteAt()%4; n > 0; n-- {
				m.Txns = append(m.Txns, Txn{Zxid: z})
				if b := byteAt(); b > 200 {
					m.Txns[len(m.Txns)-1].Payload = wire(b, z)
				}
				z++
			}
			if b := byteAt(); b > 128 {
				m.Config = wire(b, zxid())
			}
			if b := byteAt(); b > 128 {
				m.Active = wire(b, zxid())
			}
			if b := byteAt(); b > 160 {
				m.Lineage = drawn(rand.New(rand.NewPCG(uint64(b&15), 5)))
			}
			b := byteAt()
			m.Whole, m.Refused, m.Final, m.Summed, m.Sum = b&1 == 1, b&2 == 2, b&4 == 4, b&8 == 8, uint32(b>>4)
			c.Step(m)
		}
		out := c.Take()
		if out.Renew && byteAt()&1 == 1 {
			c.Renew()
			out = c.Take()
		}
		if n := len(out.Persist); n > 0 {
			seq = out.Persist[n-1].Seq
		}
		for _, d := range out.Dial {
			links = append(links, d.Link)
			c.LinkUp(d.Link)
		}
		if len(links) > 8 {
			links = links[len(links)-8:]
		}
	}
}

// wire is the text of one of some configurations, or of none.
func wire(pick byte, version proto.Zxid) []byte {
	texts := []string{"1,2,3/4", "2/", "1,3/2", "1,2,4/", "5,6,7/1", "", "/1", "2,2/", "1,2,3/2"}
	return (&Ensemble{Version: version, Text: []byte(texts[int(pick)%len(texts)])}).Wire()
}
