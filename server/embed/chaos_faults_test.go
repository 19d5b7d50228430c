package embed

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal/vfs"
)

// fault does one bad thing, for a while.
func (c *chaos) fault() {
	type trouble struct {
		weight int
		do     func(id int)
	}
	down := func(end func(int)) func(int) {
		return func(id int) {
			end(id)
			c.linger(150)
			c.mend(id)
			require.NoError(c, c.e.Start(id))
			c.linger(100)
		}
	}
	troubles := map[string]trouble{
		"kill":           {4, down(c.e.Kill)},
		"power loss":     {4, down(c.e.PowerLoss)},
		"stop":           {3, down(c.e.Stop)},
		"wipe":           {2, c.wipe},
		"isolate":        {3, func(id int) { c.e.Isolate(id); c.linger(700); c.e.Heal() }},
		"one way":        {2, func(id int) { c.e.OneWay(id, c.other(id)); c.linger(700); c.e.Heal() }},
		"partition":      {2, func(id int) { c.e.Partition(c.halves()...); c.linger(700); c.e.Heal() }},
		"delay":          {2, c.delay},
		"cut clients":    {3, func(id int) { c.e.CutClients(id); c.linger(20) }},
		"refuse clients": {1, func(id int) { c.e.RefuseClients(id); c.linger(100); c.e.Heal() }},
		"expire":         {3, c.expire},
		"slow disk":      {2, c.slowDisk},
		"full disk":      {2, c.fullDisk},
		"all":            {1, c.all},
		"lost isolated":  {2, func(id int) { c.e.Isolate(id); c.linger(50); down(c.e.PowerLoss)(id); c.e.Heal() }},
		"two":            {2, c.two},
	}
	names := []string{"kill", "power loss", "stop", "wipe", "isolate", "one way", "partition", "delay", "cut clients", "refuse clients", "expire",
		"slow disk", "full disk", "all", "lost isolated", "two"}
	sum := 0
	for _, name := range names {
		sum += troubles[name].weight
	}
	n := c.rand.IntN(sum)
	for _, name := range names {
		if n -= troubles[name].weight; n >= 0 {
			continue
		}
		id := 1 + c.rand.IntN(len(c.e.members))
		leads := c.e.leads()
		if leads > 0 && c.rand.IntN(3) == 0 {
			id = leads
		}
		c.note("%s %d (leader %d)", name, id, leads)
		troubles[name].do(id)
		return
	}
}

func (c *chaos) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, time.Now().Format("05.000000 ")+fmt.Sprintf(format, args...))
}

// linger lets time pass, up to so many ms or the end of the run.
func (c *chaos) linger(ms int) {
	timer := time.NewTimer(time.Duration(c.rand.IntN(ms*1000)) * time.Microsecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.over.Done():
	}
}

// other is another server than id.
func (c *chaos) other(id int) int {
	n := len(c.e.members)
	return (id-1+1+c.rand.IntN(n-1))%n + 1
}

func (c *chaos) halves() [][]int {
	halves := make([][]int, 2)
	for _, id := range c.e.IDs() {
		side := c.rand.IntN(2)
		halves[side] = append(halves[side], id)
	}
	return halves
}

// wipe takes the disk of a server. The others must have all that was acknowledged: one server of a quorum may be lost, not two.
func (c *chaos) wipe(id int) {
	if c.e.WaitServing(c.over, c.e.IDs()...) != nil {
		return
	}
	c.e.Kill(id)
	require.NoError(c, c.e.Wipe(id))
	c.linger(50)
	require.NoError(c, c.e.Start(id))
	_ = c.e.WaitServing(c.over, c.e.IDs()...)
	if c.over.Err() != nil {
		return
	}
	c.note("wiped %d is back", id)
}

func (c *chaos) delay(id int) {
	for _, other := range c.e.IDs() {
		if other != id {
			c.e.Delay(id, other, time.Duration(c.rand.IntN(40))*time.Millisecond)
			c.e.Delay(other, id, time.Duration(c.rand.IntN(40))*time.Millisecond)
		}
	}
	c.linger(300)
	if c.rand.IntN(2) == 0 {
		c.e.Kill(id)
		c.linger(100)
	}
	c.e.Heal()
	require.NoError(c, c.e.Start(id))
}

// expire ends the session of a client.
func (c *chaos) expire(int) {
	k := c.clients[c.rand.IntN(len(c.clients))]
	c.mu.Lock()
	id := k.id
	if id != 0 {
		c.hunted[id] = true
		c.expired = append(c.expired, id)
	}
	c.mu.Unlock()
	if id == 0 {
		return
	}
	// It may end by itself meanwhile, or there may be no leader until the end.
	err := c.e.ExpireSession(c.over, id)
	c.note("session %v: %v", id, err)
}

func (c *chaos) slowDisk(id int) {
	pause := time.Duration(1+c.rand.IntN(30)) * time.Millisecond
	c.e.Disk(id).Hook(func(op vfs.Op) error {
		if op.Kind == vfs.OpSync {
			<-time.After(pause)
		}
		return nil
	})
	c.linger(300)
	c.mend(id)
}

func (c *chaos) fullDisk(id int) {
	d := c.e.Disk(id)
	d.SetCapacity(d.Used() + int64(c.rand.IntN(20_000)))
	c.linger(600)
	if c.rand.IntN(3) == 0 {
		c.e.Kill(id)
	}
	c.mend(id)
	require.NoError(c, c.e.Start(id))
}

// all ends every server.
func (c *chaos) all(int) {
	for _, id := range c.e.IDs() {
		switch c.rand.IntN(3) {
		case 0:
			c.e.Stop(id)
		case 1:
			c.e.Kill(id)
		default:
			c.e.PowerLoss(id)
		}
	}
	for _, id := range c.e.IDs() {
		require.NoError(c, c.e.Start(id))
		c.linger(10)
	}
	c.linger(300)
}

// two ends a server while another is cut off, and lets them come back in any order.
func (c *chaos) two(id int) {
	other := c.other(id)
	c.e.Isolate(id)
	c.linger(100)
	c.e.PowerLoss(other)
	c.linger(100)
	if c.rand.IntN(2) == 0 {
		c.e.Heal()
		c.linger(100)
		require.NoError(c, c.e.Start(other))
	} else {
		require.NoError(c, c.e.Start(other))
		c.linger(100)
		c.e.Heal()
	}
	c.linger(200)
}

// wasHunted reports whether a session was expired on purpose.
func (c *chaos) wasHunted(id proto.SessionID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hunted[id]
}
