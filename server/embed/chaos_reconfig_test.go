package embed

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed94657493/warren/test/wire"
)

// TestChaosReconfig is TestChaos in an ensemble that is reconfigured all the time.
func TestChaosReconfig(t *testing.T) {
	runChaos(t, func(t *testing.T, seed uint64) *chaos {
		c := &chaos{T: t, seed: seed, rand: rand.New(rand.NewPCG(seed, 1)), changes: true}
		return c.start(Options{Servers: 1 + c.rand.IntN(4), Observers: c.rand.IntN(2), Joiners: 1 + c.rand.IntN(2)})
	})
}

// administrator changes the ensemble again and again, without looking at what became of the last change.
type administrator struct {
	*chaos
	rand *rand.Rand
	made int
}

func (a *administrator) run() {
	for a.over.Err() == nil {
		a.one()
		timer := time.NewTimer(time.Duration(a.rand.IntN(60)) * time.Millisecond)
		<-timer.C
	}
	a.Logf("%d reconfigurations", a.made)
}

// one asks some server for a change.
func (a *administrator) one() {
	c, err := wire.Dial(a.e.Addr(1+a.rand.IntN(len(a.e.members))), wire.Options{TimeoutMs: 300, Reply: replyTimeout})
	if err != nil {
		return
	}
	defer c.Close()
	joining, leaving, members := a.draw()
	r, err := c.Do(wire.Reconfig(joining, leaving, members, -1))
	if err != nil {
		a.note("reconfiguration +%s -%s =%s: %v", joining, leaving, members, err)
		return
	}
	a.note("reconfiguration +%s -%s =%s: %v", joining, leaving, members, r.Header.Err)
	if r.Header.Err == 0 {
		a.made++
	}
}

// draw returns a change: some come or change their role, some go; or all are others.
func (a *administrator) draw() (joining, leaving, members string) {
	line := func(id int) string {
		if a.rand.IntN(4) == 0 {
			return strings.Replace(a.e.Line(id), ":participant;", ":observer;", 1)
		}
		return strings.Replace(a.e.Line(id), ":observer;", ":participant;", 1)
	}
	ids := a.rand.Perm(len(a.e.members))
	n := 1 + a.rand.IntN(len(ids))
	if a.rand.IntN(3) == 0 {
		var all []string
		for _, i := range ids[:n] {
			all = append(all, line(i+1))
		}
		return "", "", strings.Join(all, ",")
	}
	var come, leave []string
	for _, i := range ids[:min(n, 2)] {
		if a.rand.IntN(2) == 0 {
			come = append(come, line(i+1))
		} else {
			leave = append(leave, strconv.Itoa(i+1))
		}
	}
	return strings.Join(come, ","), strings.Join(leave, ","), ""
}
