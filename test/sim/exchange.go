package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// image is a copy of a disk.
type image struct {
	contents
	of     proto.ServerID
	memory bool // see lost
}

// image copies what is on a disk now.
func (n *node) image() image {
	i := image{contents: n.disk.contents, of: n.id, memory: n.lost.memory}
	i.history = slices.Clip(i.history)
	return i
}

// replace gives a server that is down another disk.
func (n *node) replace(i image) {
	n.lost.history = append(n.lost.history, n.disk.history)
	n.lost.current = max(n.lost.current, n.disk.current)
	n.lost.memory, n.lost.hunted = i.memory, 0
	n.disk = disk{n: n, contents: i.contents}
	n.state, n.verified = nil, 0
}

// withoutMeta is a disk that has lost meta.db: its epochs are in files of their own, and of the lineage only an
// identity that is final is left, if the snapshot has it.
func (i image) withoutMeta(identity bool) image {
	if l := i.lineage; identity && l != nil && l.Final {
		i.lineage = &zab.Lineage{Ensemble: l.Ensemble, Final: true}
	} else {
		i.lineage = nil
	}
	i.known, i.committed = nil, 0
	return i
}

const (
	exchangeOwnOlder = iota
	exchangeOther
	exchangeOtherOlder
	exchangeForeign
	exchangeLost
	exchangeEmpty
	exchangeKinds
)

// exchangeNames is how a report calls them.
var exchangeNames = [exchangeKinds]string{"by an older copy of the same disk", "by a copy of another server's disk",
	"by an older copy of another server's disk", "by a disk of another ensemble", "by an empty disk",
	"by an empty disk that is marked as initialised"}

// exchanges is an administrator that replaces disks by others. Its chance is its own.
type exchanges struct {
	rng      *rand.Rand
	every    int64
	backups  [][]image // of all servers, each taken at one moment, oldest first
	foreign  [][]image // of the other ensemble
	recent   []image   // of disks before their latest changes that were not only appends
	metaLost bool      // meta.db may be lost
	edges    int       // one in so many messages of synchronization is followed by an exchange
}

// How many backups and recent copies are kept.
const (
	backupsMax = 12
	recentMax  = 40
)

func (x *exchanges) init(s *Sim) {
	x.rng = rand.New(rand.NewPCG(s.opts.Seed, 0x65786368616e6765))
	x.every = 20_000 + x.rng.Int64N(80_000)
	x.metaLost = x.rng.IntN(3) == 0
	x.edges = []int{10, 30, 100, 400}[x.rng.IntN(4)]
}

// remember keeps a copy of a disk as it is before a write that changes more than the end of the log.
func (x *exchanges) remember(d *disk) {
	if d.n.s.world == nil && !d.n.s.opts.Restore || onlyAppends(&d.queue[0].p) {
		return
	}
	if len(x.recent) == recentMax {
		x.recent = slices.Delete(x.recent, 0, 1)
	}
	x.recent = append(x.recent, d.n.image())
}

// older draws an older copy of a disk: of a backup, or one that was taken before a promise or the like. It returns
// none if there is none.
func (x *exchanges) older(is func(image) bool) (image, bool) {
	from := x.recent
	if len(x.backups) > 0 && x.chance(2) {
		from = pick(x, x.backups)
	}
	var all []image
	for _, i := range from {
		if is(i) {
			all = append(all, i)
		}
	}
	if len(all) == 0 {
		return image{}, false
	}
	return pick(x, all), true
}

func (x *exchanges) chance(oneIn int) bool { return x.rng.IntN(oneIn) == 0 }

func (x *exchanges) between(from, to int64) int64 { return from + x.rng.Int64N(to-from+1) }

func pick[T any](x *exchanges, all []T) T { return all[x.rng.IntN(len(all))] }

// again repeats something until the ensemble is healed.
func (x *exchanges) again(s *Sim, every int64, do func()) {
	s.after(x.between(every/4, every), func() {
		if !s.faults.healed {
			do()
			x.again(s, every, do)
		}
	})
}

// start begins to take backups and to exchange disks.
func (x *exchanges) start(s *Sim) {
	if x.chance(2) {
		x.foreign = s.abroad()
	}
	x.again(s, x.every/3, func() { x.backup(s) })
	x.again(s, x.every, func() { x.one(s) })
}

// abroad runs another ensemble of servers with the same ids for a while, and copies its disks.
func (s *Sim) abroad() (all [][]image) {
	x := &s.exchanges
	other := New(Options{Seed: x.rng.Uint64(), Voters: s.opts.Voters, Observers: s.opts.Observers, Exchange: true})
	other.world, other.trace = s.world, false
	other.load.next = 1 << 40
	other.begin()
	for range 1 + x.rng.IntN(3) {
		for range 200 + x.rng.IntN(1500) {
			other.step()
		}
		var images []image
		for _, n := range other.nodes {
			images = append(images, n.image())
		}
		all = append(all, images)
	}
	return all
}

func (x *exchanges) backup(s *Sim) {
	var images []image
	for _, n := range s.nodes {
		images = append(images, n.image())
	}
	if len(x.backups) == backupsMax {
		i := x.rng.IntN(backupsMax)
		x.backups = slices.Delete(x.backups, i, i+1)
	}
	x.backups = append(x.backups, images)
}

// one exchanges the disks of one server, a minority, half, a majority or all, and starts them again some time later.
func (x *exchanges) one(s *Sim) {
	x.exchange(s, x.victims(s), 30_000, x.drawing)
	if !x.chance(4) {
		s.after(x.between(0, 20_000), func() { s.calm(x.between(10_000, 60_000)) })
	}
}

// edge sometimes exchanges the disk of a server right after a message that moves it to the next step of the protocol,
// or that of another server.
func (x *exchanges) edge(s *Sim, to *node) {
	if s.world == nil || x.edges == 0 || !x.chance(x.edges) {
		return
	}
	if x.chance(2) {
		to = pick(x, s.nodes)
	}
	draw := x.drawing
	if x.chance(2) {
		draw = x.forgetting
	}
	s.after(x.between(0, 400), func() {
		if !s.faults.healed {
			x.exchange(s, []*node{to}, x.between(20, 5000), draw)
		}
	})
}

// drawing makes what gives each server its disk in one exchange, from the disks as they are.
type drawing func(s *Sim, now []image) func(*node) (kind int, i image)

// forgetting returns what gives a server a copy of its disk as it was before one of its latest changes, a promise
// perhaps.
func (x *exchanges) forgetting(s *Sim, now []image) func(*node) (int, image) {
	return func(n *node) (int, image) {
		var own []image
		for _, i := range x.recent {
			if i.of == n.id {
				own = append(own, i)
			}
		}
		if len(own) == 0 {
			return x.draw(n, now)
		}
		return exchangeOwnOlder, pick(x, own[max(0, len(own)-3):])
	}
}

// exchange gives servers other disks, and starts them again within some time.
func (x *exchanges) exchange(s *Sim, victims []*node, down int64, drawing drawing) {
	now := make([]image, len(s.nodes))
	for i, n := range s.nodes {
		now[i] = n.image()
	}
	draw := drawing(s, now)
	for _, n := range victims {
		kind, i := draw(n)
		n.crash()
		s.Stats.Exchanges[kind]++
		what := exchangeNames[kind]
		if x.metaLost && kind < exchangeLost && x.chance(3) {
			i = i.withoutMeta(x.chance(2))
			s.Stats.MetaLost++
			what += ", without meta.db"
		}
		s.tracef("the disk of %d is replaced %s (server %d): epochs %d/%d last %v, lineage %v", n.id, what, i.of,
			i.accepted, i.current, lastOf(i.history), i.lineage)
		n.replace(i)
		s.after(x.between(10, down), func() {
			if !s.faults.healed {
				n.start()
			}
		})
	}
	s.unprotect()
	s.Stats.Exchanged++
}

// victims draws the servers whose disks are exchanged.
func (x *exchanges) victims(s *Sim) []*node {
	voters := slices.Clone(s.nodes[:s.opts.Voters])
	x.rng.Shuffle(len(voters), func(i, j int) { voters[i], voters[j] = voters[j], voters[i] })
	n := len(voters)
	count := []int{1, 1, 1, 1, (n - 1) / 2, (n - 1) / 2, n / 2, n / 2, n/2 + 1, n}[x.rng.IntN(10)]
	victims := voters[:count]
	for _, o := range s.nodes[s.opts.Voters:] {
		if count == 0 || x.chance(3) {
			victims = append(victims, o)
		}
	}
	return victims
}

// drawing returns what gives each server its disk: in some exchanges all get a backup of the same moment, or the same
// disk.
func (x *exchanges) drawing(s *Sim, now []image) func(*node) (int, image) {
	switch x.rng.IntN(4) {
	case 0:
		if len(x.backups) > 0 {
			backup := pick(x, x.backups)
			return func(n *node) (int, image) { return exchangeOwnOlder, backup[n.id-1] }
		}
	case 1:
		if len(x.foreign) > 0 && x.chance(2) {
			foreign := pick(x, x.foreign)
			return func(n *node) (int, image) { return exchangeForeign, foreign[n.id-1] }
		}
	case 2:
		first := s.nodes[0]
		kind, same := x.draw(first, now)
		return func(n *node) (int, image) {
			if kind == exchangeOwnOlder && n != first {
				return exchangeOtherOlder, same
			}
			return kind, same
		}
	}
	return func(n *node) (int, image) { return x.draw(n, now) }
}

// draw draws a disk for a server. Kinds of which there is none are replaced by a copy of a disk as it is.
func (x *exchanges) draw(n *node, now []image) (kind int, i image) {
	own := func(i image) bool { return i.of == n.id }
	other := func(i image) bool { return i.of != n.id }
	switch kind = x.rng.IntN(exchangeKinds + 1); kind {
	case exchangeKinds: // once more
		kind = exchangeOwnOlder
		fallthrough
	case exchangeOwnOlder:
		if i, ok := x.older(own); ok {
			return kind, i
		}
	case exchangeOtherOlder:
		if i, ok := x.older(other); ok {
			return kind, i
		}
	case exchangeForeign:
		if len(x.foreign) > 0 {
			return kind, pick(x, pick(x, x.foreign))
		}
	case exchangeLost:
		return kind, image{of: n.id, memory: true}
	case exchangeEmpty:
		return kind, image{of: n.id, contents: contents{exists: true}}
	}
	if now = slices.DeleteFunc(slices.Clone(now), own); len(now) > 0 {
		return exchangeOther, pick(x, now)
	}
	return exchangeEmpty, image{of: n.id, contents: contents{exists: true}}
}

// calm ends all faults for a while, so that writes are acknowledged.
func (s *Sim) calm(long int64) {
	if s.faults.healed {
		return
	}
	s.tracef("calm")
	s.faults.calm = s.now + long
	s.soothe()
}

// describeLineage says where the history of a server comes from, for a failure.
func (n *node) describeLineage() string {
	text := fmt.Sprintf("server %d blank %v: %v", n.id, n.disk.blank, lineageOf(&n.disk))
	if n.disk.run != nil {
		text += ", runs"
		for _, r := range n.disk.run.chain[max(0, len(n.disk.run.chain)-6):] {
			text += fmt.Sprintf(" %d (epoch %d behind %v)", r.number, r.epoch, r.base)
		}
	}
	if n.up {
		for _, o := range n.core.Strangers() {
			text += fmt.Sprintf("; %d is a stranger, ahead %v: %s", o.ID, o.Ahead, o.Reason)
		}
		if o := n.status.Outside; o != nil {
			text += "; outside: " + o.Reason
		}
	}
	return text
}
