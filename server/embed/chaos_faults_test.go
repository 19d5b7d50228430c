package embed

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal/vfs"
)

// havoc does bad things one after the other.
type havoc struct {
	*chaos
	rand *rand.Rand
}

// up starts a server that is down, whatever is wrong with its disk.
func (c *havoc) up(id int) {
	var err error
	for range 100 {
		c.mend(id)
		if err = c.e.Start(id); !errors.Is(err, vfs.ErrNoSpace) { // another fault may fill the disk again
			break
		}
	}
	if err != nil {
		c.mu.Lock()
		c.broken = append(c.broken, err.Error())
		c.mu.Unlock()
	}
}

// fault does one bad thing, for a while.
func (c *havoc) fault() {
	type trouble struct {
		weight int
		do     func(id int)
	}
	down := func(end func(int)) func(int) {
		return func(id int) {
			end(id)
			c.linger(150)
			c.up(id)
			c.linger(100)
		}
	}
	wipes := 2
	if c.changes {
		wipes = 0
	}
	troubles := map[string]trouble{
		"kill":           {4, down(c.e.Kill)},
		"power loss":     {4, down(c.e.PowerLoss)},
		"stop":           {3, down(c.e.Stop)},
		"wipe":           {wipes, c.wipe},
		"isolate":        {3, func(id int) { c.e.Isolate(id); c.linger(700); c.e.Heal() }},
		"one way":        {2, func(id int) { c.e.OneWay(id, c.other(id)); c.linger(700); c.e.Heal() }},
		"partition":      {2, func(id int) { c.e.Partition(c.halves()...); c.linger(700); c.e.Heal() }},
		"delay":          {2, c.delay},
		"cut clients":    {3, func(id int) { c.e.CutClients(id); c.linger(20) }},
		"refuse clients": {1, func(id int) { c.e.RefuseClients(id); c.linger(100); c.e.Heal() }},
		"expire":         {3, c.expire},
		"slow disk":      {2, c.slowDisk},
		"full disk":      {2, c.fullDisk},
		"broken disk":    {2, c.brokenDisk},
		"all":            {1, c.all},
		"lost isolated":  {2, func(id int) { c.e.Isolate(id); c.linger(50); down(c.e.PowerLoss)(id); c.e.Heal() }},
		"two":            {2, c.two},
	}
	names := []string{"kill", "power loss", "stop", "wipe", "isolate", "one way", "partition", "delay", "cut clients",
		"refuse clients", "expire", "slow disk", "full disk", "broken disk", "all", "lost isolated", "two"}
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
func (c *havoc) linger(ms int) {
	timer := time.NewTimer(time.Duration(c.rand.IntN(ms*1000)) * time.Microsecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.over.Done():
	}
}

// other is another server than id.
func (c *havoc) other(id int) int {
	n := len(c.e.members)
	return (id-1+1+c.rand.IntN(n-1))%n + 1
}

func (c *havoc) halves() [][]int {
	halves := make([][]int, 2)
	for _, id := range c.e.IDs() {
		side := c.rand.IntN(2)
		halves[side] = append(halves[side], id)
	}
	return halves
}

// wipe takes the disk of a server. The others must have all that was acknowledged: one server of a quorum may be
// lost, not two.
func (c *havoc) wipe(id int) {
	c.wiping.Lock()
	defer c.wiping.Unlock()
	if c.e.WaitServing(c.over, c.e.IDs()...) != nil {
		return
	}
	c.e.Kill(id)
	if c.e.Wipe(id) != nil {
		return // another goroutine has started it
	}
	c.linger(50)
	c.up(id)
	_ = c.e.WaitServing(c.over, c.e.IDs()...)
	if c.over.Err() != nil {
		return
	}
	c.note("wiped %d is back", id)
}

func (c *havoc) delay(id int) {
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
	c.up(id)
}

// expire ends the session of a client.
func (c *havoc) expire(int) {
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

func (c *havoc) slowDisk(id int) {
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

func (c *havoc) fullDisk(id int) {
	d := c.e.Disk(id)
	d.SetCapacity(d.Used() + int64(c.rand.IntN(20_000)))
	c.linger(600)
	if c.rand.IntN(3) == 0 {
		c.e.Kill(id)
	}
	c.up(id)
}

// brokenDisk lets one operation of a disk fail, which ends the server.
func (c *havoc) brokenDisk(id int) {
	kinds := []vfs.OpKind{vfs.OpSync, vfs.OpSync, vfs.OpWrite, vfs.OpRename, vfs.OpSyncDir}
	c.e.Disk(id).FailNth(kinds[c.rand.IntN(len(kinds))], c.rand.IntN(3), errors.New("input/output error"))
	c.linger(300)
	c.up(id)
}

// all ends every server.
func (c *havoc) all(int) {
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
		c.up(id)
		c.linger(10)
	}
	c.linger(300)
}

// two ends a server while another is cut off, and lets them come back in any order.
func (c *havoc) two(id int) {
	other := c.other(id)
	c.e.Isolate(id)
	c.linger(100)
	c.e.PowerLoss(other)
	c.linger(100)
	if c.rand.IntN(2) == 0 {
		c.e.Heal()
		c.linger(100)
		c.up(other)
	} else {
		c.up(other)
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
