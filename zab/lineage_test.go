package zab

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
)

// What is noted before a history is replaced holds of both, and ends with currentEpoch.
func TestLineageCommon(t *testing.T) {
	for _, c := range []struct {
		own, other string
		upTo       int64
		want       string
	}{
		{"E7:1@1m11,2@2m12/2.0", "E7:~14/0.0", 0, "E7:~2/2.0"},
		{"E7:1@1m11,2@2m12/2.0", "E7:~14/0.0", 1, "E7:1@1m11,~2/2.0"},
		{"E7:1@1m11,2@2m12/2.0", "E7:~14/0.0", 2, "E7:1@1m11,2@2m12/2.0"},
		{"E7:1@1m11,2@2m12/2.0", "E7:1@1m11,2@2m12+1.4,3@1m13/3.0", 0, "E7:1@1m11,~2/2.0"}, // it began elsewhere
		{"e7:1@1m11,2@2m12+1.4,3@2m13+1.4/1.4", "e7:1@1m11,3@2m13+1.4/1.0", 1, "e7:1@1m11,~3@2m13+1.4/1.4"},
		{"/0.0", "E7:1@1m11/1.0", 0, "/0.0"},
	} {
		own := parsed(c.own)
		got := own.common(parsed(c.other), c.upTo)
		require.Equal(t, c.want, lineageText(got), "%s and %s up to %d", c.own, c.other, c.upTo)
		require.Equal(t, own.Epoch(), got.Epoch())
		require.Equal(t, c.own, lineageText(own), "it is left as it is")
		require.Nil(t, got.Differs(own))
		must.Do(ParseLineage(got.AppendTo(nil)))(t)
	}
}

// parsed reads a lineage as the scripts write it.
func parsed(text string) *Lineage { return args{"lineage": text}.lineage() }

// drawn is any lineage that a server can have: it does not contradict itself.
func drawn(rng *rand.Rand) *Lineage {
	for {
		if l := scribbled(rng); l.Differs(l) == nil {
			return l
		}
	}
}

func scribbled(rng *rand.Rand) *Lineage {
	l := &Lineage{}
	if rng.IntN(4) > 0 {
		l.Ensemble, l.Final = 1+rng.Uint64N(2), rng.IntN(2) == 0
	}
	last := proto.Zxid(0)
	for e, n := int64(0), rng.IntN(6); n > 0; n-- {
		e += 1 + rng.Int64N(3)
		r := Reign{Epoch: e, Leader: proto.ServerID(rng.IntN(4) - 1), Gap: rng.IntN(5) == 0}
		if rng.IntN(5) > 0 {
			r.Mark, r.Base = 1+rng.Uint64N(2), last
		}
		l.Reigns = append(l.Reigns, r)
		if rng.IntN(3) > 0 {
			last = proto.MakeZxid(e, rng.Uint32N(4))
		}
	}
	if n := len(l.Reigns); n > 0 && rng.IntN(5) > 0 {
		l.Settled = proto.MakeZxid(l.Reigns[rng.IntN(n)].Epoch, rng.Uint32N(4))
	}
	return l
}

func TestLineageIsReadAsItWasWritten(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 12))
	whole := &Lineage{Ensemble: 1<<64 - 1, Final: true, Settled: proto.MakeZxid(64, 1<<32-1)}
	for e := range int64(reignsMax) {
		whole.Reigns = append(whole.Reigns, Reign{Epoch: e + 1, Leader: proto.ServerID(e - 1), Mark: uint64(e),
			Base: proto.MakeZxid(e, 9), Gap: e%2 == 0})
	}
	require.Len(t, whole.AppendTo(nil), LineageSizeMax)
	for _, l := range []*Lineage{{}, whole, {Ensemble: 9}, parsed("E7:1@1m11,~2,4@3m12+1.4/4.2")} {
		again := must.Do(ParseLineage(l.AppendTo([]byte("x"))[1:]))(t)
		require.Equal(t, l, again)
		require.True(t, l.equal(again))
	}
	for range 2000 {
		l := drawn(rng)
		require.Equal(t, l, must.Do(ParseLineage(l.AppendTo(nil)))(t))
		require.Equal(t, l, parsed(lineageText(l)), "the language of scripts")
	}
}

// An encoding that no server can have written is refused.
func TestParseLineageRefuses(t *testing.T) {
	good := parsed("E7:1@1m11,2@3m12+1.4/2.1").AppendTo(nil)
	for n := range good {
		require.ErrorIs(t, must.Err(ParseLineage(good[:n])), errLineage, "%d bytes", n)
	}
	require.ErrorIs(t, must.Err(ParseLineage(append(good, 0))), errLineage)
	for what, text := range map[string]string{
		"epoch 0":                         "0@1m1/0",
		"a negative epoch":                "-1@1m1/0",
		"an epoch twice":                  "1@1m1,1@1m1/0",
		"epochs in another order":         "2@1m1,1@1m1/0",
		"an epoch that is never begun":    "2147483647@1m1/0",
		"a base of its own epoch":         "2@1m1+2.1/0",
		"a base of a later epoch":         "2@1m1+3.1/0",
		"settled beyond the last epoch":   "1@1m1/2.0",
		"settled without an epoch":        "/1.0",
		"no identity, and that is final":  "E0:1@1m1/1.0",
		"a leader that is none, nor -1":   "1@-2m1/0",
		"a base that is no zxid":          "2@1m1+-1/0",
		"settled up to what is no zxid":   "2@1m1/-1",
		"more epochs than a lineage has":  "65",
		"another number of epochs":        "count",
		"a format of a later version":     "format",
		"a length that fits no epoch":     "length",
		"a final that is neither 0 nor 1": "final",
	} {
		var b []byte
		switch text {
		case "65":
			l := &Lineage{}
			for e := range int64(reignsMax + 1) {
				l.Reigns = append(l.Reigns, Reign{Epoch: e + 1})
			}
			b = l.AppendTo(nil)
		case "count":
			b = parsed("1@1m1/0").AppendTo(nil)
			b[18]++
		case "format":
			b = parsed("1@1m1/0").AppendTo(nil)
			b[0]++
		case "length":
			b = append(parsed("1@1m1/0").AppendTo(nil), 1)
		case "final":
			b = parsed("e7:1@1m1/0").AppendTo(nil)
			b[9] = 2
			if _, err := ParseLineage(b); err == nil {
				continue // any other byte may stand for true
			}
		default:
			b = parsed(text).AppendTo(nil)
		}
		require.ErrorIs(t, must.Err(ParseLineage(b)), errLineage, what)
	}
}

func FuzzParseLineage(f *testing.F) {
	f.Add((&Lineage{}).AppendTo(nil))
	f.Add(parsed("E7:1@1m11,~2,4@3m12+1.4/4.2").AppendTo(nil))
	rng := rand.New(rand.NewPCG(2, 12))
	for range 20 {
		f.Add(drawn(rng).AppendTo(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := ParseLineage(b)
		if err != nil {
			require.ErrorIs(t, err, errLineage)
			return
		}
		require.Equal(t, l, must.Do(ParseLineage(l.AppendTo(nil)))(t))
		require.NotEmpty(t, l.String())
		c := &Config{Lineage: l, Epochs: Epochs{Accepted: 9, Current: 9}}
		require.EqualValues(t, 9, c.lineage().Epoch(), "the history ends with currentEpoch")
	})
}

func TestDiffers(t *testing.T) {
	const same = ""
	for _, c := range []struct{ what, a, b, text string }{
		{"nothing is known", "/0", "/0", same},
		{"one has nothing", "/0", "E7:1@1m11,2@2m12+1.4/2.0", same},
		{"an older copy", "E7:1@1m11/1.3", "E7:1@1m11,2@2m12+1.4/2.1", same},
		{"an older copy that knows the last txn", "E7:1@1m11/1.4", "E7:1@1m11,2@2m12+1.4/2.1", same},
		{"two that went on apart, neither of them established",
			"E7:1@1m11,2@2m12+1.4/1.0", "E7:1@1m11,3@3m13+1.5/1.0", same},
		{"the other one began before it and was never established",
			"E7:1@1m11,2@2m12+1.4/1.0", "E7:1@1m11,3@3m13+1.5/3.0", same},
		{"what a later epoch began with came after the other's epoch",
			"E7:1@1m11,2@2m12+1.2/1.0", "E7:1@1m11,3@3m13+1.4,4@3m14+1.4/4.0", same},

		{"other ensembles",
			"E7:1@1m11/1.0", "E8:1@1m11/1.0", "ensemble 0000000000000008 is not ensemble 0000000000000007"},
		{"another identity that began after all that is known here", "E7:1@1m11/1.0", "E8:~3@2,4@3m14/4.0",
			"ensemble 0000000000000008 is not ensemble 0000000000000007, " +
				"unless ZooKeeper servers have led from one to the other"},
		{"one that began before", "E7:1@1m11,4@1m14/4.0", "E8:~3@2,4@3m15/4.0",
			"ensemble 0000000000000008 is not ensemble 0000000000000007"},
		{"one that is known to have begun before", "E7:1@1m11,5@1m15/5.0", "E8:~3@2,4@3m14/4.0",
			"ensemble 0000000000000008 is not ensemble 0000000000000007"},
		{"one that a restore has begun", "E7:1@1m11/1.0", "E8:~9m14+1.0/0",
			"ensemble 0000000000000008 is not ensemble 0000000000000007"},
		{"one that a standalone server has gone on with", "E7:1@1m11/1.0", "E8:1@2m12,2/1.0",
			"ensemble 0000000000000008 is not ensemble 0000000000000007"},
		{"one of which only a snapshot tells", "E7:1@1m11/1.0", "E8:/0",
			"ensemble 0000000000000008 is not ensemble 0000000000000007"},
		{"one identity is not final", "E7:1@1m11/1.0", "e8:1@1m11/1.0", same},
		{"none is final", "e7:1@1m11/1.0", "e8:1@1m11/1.0", same},
		{"one is not known", "E7:1@1m11/1.0", "1@1m11/1.0", same},

		{"another mark", "1@1m11,2@2m12/1.0", "1@1m11,2@2m13/1.0", "epoch 2, led by 2, is not epoch 2, led by 2"},
		{"another leader", "1@1m11,2@2m12/1.0", "1@1m11,2@3/1.0", "epoch 2, led by 3, is not epoch 2, led by 2"},
		{"no mark", "1@1m11,2@2m12/1.0", "1@1m11,2@2/1.0", same},
		{"no leader", "1@1m11,2@2m12/1.0", "1@1m11,~2/1.0", same},
		{"the first of two epochs",
			"3@1m11,4@2m12/0", "3@2m15,4@3m16/0", "epoch 3, led by 2, is not epoch 3, led by 1"},

		{"an epoch began before a committed txn",
			"1@1m11/1.5", "1@1m11,2@2m12+1.4/0", "epoch 2 began without 0x100000005, which is committed here"},
		{"the same behind a gap",
			"1@1m11/1.5", "~9@2m12+1.4/0", "epoch 9 began without 0x100000005, which is committed here"},
		{"it is not known where the next epoch began", "1@1m11/1.5", "1@1m11,2@2/0", same},
		{"an empty history", "1@1m11/1.5", "2@3m12/0", "epoch 2 began without 0x100000005, which is committed here"},
		{"what an established epoch began with",
			"1@1m11,2@2m12+1.5/2.0", "1@1m11,3@2m13+1.4/0",
			"epoch 3 began without 0x100000005, which is committed here"},
		{"the same, of an empty history",
			"1@1m11,2@2m12+1.5/2.0", "3@2m13/0",
			"epoch 3 began without 0x100000005, which is committed here"},

		{"an established epoch is missing",
			"1@1m11,2@2m12+1.5/2.0", "1@1m11,3@2m13+1.5/0",
			"epoch 3 began without 0x200000000, which is committed here"},
		{"there is a gap", "1@1m11,2@2m12+1.5/2.0", "1@1m11,~3@2m13+1.5/0", same},
		{"it may lie before the list", "1@1m11,2@2m12+1.5/2.0", "3@2m13+1.5/0", same},
		{"the history ends before", "1@1m11,2@2m12+1.5/2.0", "1@1m11/0", same},
	} {
		a, b := parsed(c.a), parsed(c.b)
		d := a.Differs(b)
		if c.text == same {
			require.Nil(t, d, c.what)
			require.Nil(t, b.Differs(a), c.what)
			continue
		}
		require.NotNil(t, d, c.what)
		require.Equal(t, c.text, d.Text, c.what)
		require.Equal(t, d.Foreign, b.Differs(a).Foreign, c.what)
		require.Equal(t, strings.Contains(c.text, "unless"), d.Unproven, c.what)
		require.Equal(t, d.Unproven, b.Differs(a).Unproven, c.what)
		require.Equal(t, d.Epoch, b.Differs(a).Epoch, c.what)
	}
	var none *Lineage
	require.Nil(t, none.Differs(parsed("E7:1@1m11/1.0")))
	require.Nil(t, parsed("E7:1@1m11/1.0").Differs(nil))
}

// Whether two lineages differ, and where, does not depend on which of them asks.
func TestDiffersIsSymmetric(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 12))
	differ := 0
	for range 20_000 {
		a, b := drawn(rng), drawn(rng)
		d, e := a.Differs(b), b.Differs(a)
		if d == nil && e == nil {
			continue
		}
		differ++
		if d == nil || e == nil || d.Foreign != e.Foreign || d.Epoch != e.Epoch {
			require.Equal(t, d, e, "%s and %s", lineageText(a), lineageText(b))
		}
	}
	require.Greater(t, differ, 2000)
	require.Less(t, differ, 18_000)
}

// A server that goes on with its history, or gets to know more of it, never differs from what it was.
func TestNoServerDiffersFromItsPast(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 12))
	for range 100 {
		l, last := &Lineage{}, proto.Zxid(0)
		past := []*Lineage{l}
		for e := int64(0); e < 200; {
			switch rng.IntN(5) {
			case 0, 1:
				e += 1 + rng.Int64N(3)
				r := Reign{Epoch: e, Leader: proto.ServerID(rng.IntN(3))}
				if rng.IntN(4) > 0 {
					r.Mark, r.Base = rng.Uint64()|1, last
				} else {
					r.Gap = true
				}
				l = l.adopting(r)
			case 2:
				last = max(last, proto.MakeZxid(e, last.Counter()%7+1))
			case 3:
				l = l.settled(max(min(last, proto.MakeZxid(e, 1<<20)), proto.MakeZxid(e, 0)))
			case 4:
				l = l.identified(rng.Uint64()|1, rng.IntN(3) == 0)
			}
			past = append(past, l)
		}
		require.Len(t, l.Reigns, reignsMax)
		for _, p := range past {
			if p.Differs(l) != nil {
				require.Nil(t, p.Differs(l), "%s and %s", lineageText(p), lineageText(l))
			}
		}
	}
}

// A list that has become too long still says that its identity did not begin with it.
func TestIdentityReachesBackAsFarAsItIsKnown(t *testing.T) {
	for text, since := range map[string]int64{
		"E7:1@1m11/1.0":               0,
		"E7:3@1m11/3.0":               0,
		"E7:~3@1m11/3.0":              3,
		"E7:1@1m11,2@2,3@1m13/3.0":    3,
		"E7:1@1m11,~3@1m13,4@1m14/0":  3,
		"E7:1@1m11,2@2,3@1m13,4/3.0":  3,
		"E7:~9m11+1.4,10@1m13/10.0":   0,
		"E7:1@2,~9m11+1.4,10@1m13/10": 0,
	} {
		l := parsed(text)
		got, _ := l.span()
		require.Equal(t, since, got, text)
		for e := l.Epoch() + 1; e < 200; e++ {
			l = l.adopting(Reign{Epoch: e, Leader: 1, Mark: 1})
		}
		require.Equal(t, int64(200-reignsMax), l.Reigns[0].Epoch)
		got, _ = l.span()
		if since > 0 {
			require.Equal(t, l.Reigns[0].Epoch, got, text)
			continue
		}
		require.Zero(t, got, text)
	}
}

// A lineage is cut where currentEpoch is, and says that it does not know what it does not know.
func TestLineageOfConfig(t *testing.T) {
	for _, c := range []struct {
		lineage string
		current int64
		want    string
	}{
		{"E7:1@1m11,2@2m12+1.4/2.1", 2, "E7:1@1m11,2@2m12+1.4/2.1"},
		{"E7:1@1m11,2@2m12+1.4/1.3", 3, "E7:1@1m11,2@2m12+1.4,~3/1.3"},
		{"E7:1@1m11,2@2m12+1.4/1.3", 1, "E7:1@1m11/1.3"},
		{"E7:1@1m11,2@2m12+1.4/2.1", 1, "E7:1@1m11/0"},
		{"/0", 0, "/0"},
		{"/0", 4, "~4/0"},
		{"E7:1@1m11,2@2/2.1", 2, "e7:1@1m11,2@2/2.1"}, // a ZooKeeper server leads
		{"E7:1@1m11,2/1.1", 2, "E7:1@1m11,2/1.1"},     // a standalone server has removed the mark
		{"E7:1@1m11,2@2,3@1m13/2.1", 3, "E7:1@1m11,2@2,3@1m13/2.1"},
	} {
		cfg := &Config{Lineage: parsed(c.lineage), Epochs: Epochs{Accepted: 9, Current: c.current}}
		require.Equal(t, lineageText(parsed(c.want)), lineageText(cfg.lineage()), "%s at %d", c.lineage, c.current)
	}
	require.Equal(t, "~4/0.0", lineageText((&Config{Epochs: Epochs{Accepted: 4, Current: 4}}).lineage()))
}

// A stranger that a checksum has found stays one while its history goes on.
func TestLineageGoesOn(t *testing.T) {
	was := parsed("E7:1@1m11,2@2m12+1.4/2.0")
	for text, want := range map[string]bool{
		"E7:1@1m11,2@2m12+1.4/2.3":              true,
		"E7:1@1m11,2@2m12+1.4,3@1m13+2.4/3.0":   true,
		"E7:2@2m12+1.4,3@1m13+2.4,9@1m14/0":     true,
		"E7:1@1m11/1.0":                         false,
		"E7:1@1m11,2@2m19+1.4/2.0":              false,
		"E7:1@1m11,2@3m12+1.4,3@1m13+2.4/3.0":   false,
		"/0":                                    false,
		"E7:3@1m13+2.4,4@1m14+2.4,5@1m15/5.0":   false,
		"E7:1@1m11,~3@1m13+2.4,4@1m14+2.4/3.25": false,
	} {
		require.Equal(t, want, parsed(text).goesOn(was), text)
	}
	var none *Lineage
	require.False(t, none.goesOn(was))
	require.False(t, was.goesOn(&Lineage{}))
}

// TestSumsOfTheSameTxn compares a txn with itself, without its digest, with another digest, and with another txn.
func TestSumsOfTheSameTxn(t *testing.T) {
	digested, bare := SumsOf([]byte("txn, digest 1"), 3), SumsOf([]byte("txn"), 3)
	for _, c := range []struct {
		name string
		a, b Sums
		same bool
	}{
		{"itself", digested, digested, true},
		{"without the digest", digested, bare, true},
		{"another digest", digested, SumsOf([]byte("txn, digest 2"), 3), false},
		{"another txn", bare, SumsOf([]byte("nxt"), 3), false},
		{"another txn with a digest", bare, SumsOf([]byte("nxt, digest 1"), 3), false},
		{"a sender that tells nothing of digests", bare, Sums{digested.Whole, digested.Whole}, false},
	} {
		require.Equal(t, c.same, c.a.same(c.b), c.name)
		require.Equal(t, c.same, c.b.same(c.a), c.name)
	}
}

// Where an epoch ends the zxids do not tell whether txns are missing. The lineage does, of established epochs.
func TestLineageShares(t *testing.T) {
	z := proto.MakeZxid
	const own = "E7:2@2m12+1.4,5@1m15+2.9,6@1m16+5.3/2.0"
	for _, c := range []struct {
		other string
		at    proto.Zxid
		want  bool
	}{
		{own, z(2, 9), true},
		{own, z(6, 1), true},
		{own, z(7, 1), false},
		{"E7:2@2m12+1.4/2.0", z(2, 9), true},
		{"E7:2@2m22+1.4/2.0", z(2, 9), false},
		{"E7:6@1m16+5.3/2.0", z(2, 9), true}, // epoch 6 began with a history that has it
		{"E7:6@1m16+5.3/2.0", z(5, 3), true},
		{"E7:6@1m16+5.3/2.0", z(5, 4), false}, // behind which it began
		{"E7:6@1m26+5.3/2.0", z(2, 9), false},
		{"E7:~6/2.0", z(2, 9), false}, // led by a ZooKeeper server
		{"E7:8@1m18+6.3/2.0", z(2, 9), false},
		{"/0.0", z(2, 9), false},
	} {
		require.Equal(t, c.want, parsed(own).shares(parsed(c.other), c.at), "%s at %v", c.other, c.at)
		require.Equal(t, c.want, parsed(c.other).shares(parsed(own), c.at), "%s at %v", c.other, c.at)
	}
}

func TestLineageBegins(t *testing.T) {
	z := proto.MakeZxid
	l := &Lineage{Ensemble: 1, Final: true, Reigns: []Reign{
		{Epoch: 2, Leader: 1, Mark: 7, Base: z(1, 40)},
		{Epoch: 4, Leader: -1}, // led by a server that speaks the Java protocol
	}}
	require.True(t, l.Begins(2, z(1, 40)))
	require.False(t, l.Begins(2, z(1, 39)))
	require.True(t, l.Begins(4, z(2, 9)), "nothing contradicts it")
	require.False(t, l.Begins(3, z(2, 9)), "the epoch is not known")
}

func TestLineageJoins(t *testing.T) {
	z := proto.MakeZxid
	l := &Lineage{Ensemble: 1, Final: true, Settled: z(5, 0), Reigns: []Reign{
		{Epoch: 2, Leader: 1, Mark: 7, Base: z(1, 40)},
		{Epoch: 4, Leader: -1}, // led by a server that speaks the Java protocol
		{Epoch: 5, Leader: 2, Mark: 8, Base: z(4, 9)},
		{Epoch: 6, Leader: 3, Mark: 9, Base: z(5, 3)}, // not known to be established
	}}
	for _, test := range []struct {
		last, next proto.Zxid
		joins      bool
	}{
		{z(1, 40), z(2, 1), true},
		{z(1, 39), z(2, 1), false}, // a txn is missing
		{z(1, 41), z(2, 1), false}, // a txn that was not committed
		{z(2, 8), z(2, 9), true},
		{z(1, 40), z(5, 1), false}, // the epochs between are missing
		{z(2, 1), z(4, 1), true},   // nothing is known of it
		{z(4, 9), z(5, 1), true},
		{z(5, 0), z(5, 1), true},
		{z(5, 2), z(6, 1), true}, // the history may have gone on otherwise
	} {
		require.Equal(t, test.joins, l.Joins(test.last, test.next) == nil, "%v, %v", test.last, test.next)
	}
	require.Equal(t, z(4, 9), l.Committed())
	require.NoError(t, (&Lineage{}).Joins(z(1, 1), z(2, 1)))

	restored := &Lineage{Ensemble: 1, Final: true, Reigns: []Reign{{Epoch: 3, Leader: -1, Mark: 7, Base: z(2, 4)}}}
	require.ErrorIs(t, restored.Joins(z(3, 1), z(3, 2)), ErrOtherLog, "no server has led the epoch of a restore")
	require.NoError(t, restored.Joins(z(3, 1), z(4, 1)))
	alone := &Lineage{Ensemble: 1, Final: true, Reigns: []Reign{{Epoch: 3, Leader: -1}}}
	require.NoError(t, alone.Joins(z(3, 1), z(3, 2)), "a standalone server has")
}
