package coordination

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed94657493/warren/proto/layouts"
	"github.com/seed94657493/warren/proto/paths"
)

// entry is an item of a queue with its place: the smallest key is first, then the number decides.
type entry struct {
	znode *Znode
	key   int64
	seq   int32
	what  string // that the name says
}

// queue is a parent of items. The znodes by which consumers mark items have the names of the items, and are ephemeral.
func queue(g *Group) *Recipe {
	for _, q := range []struct {
		marker, layout string
		parse          func(rest string) (entry, bool)
	}{
		{layouts.Item, "Curator, Warren", itemOf},
		{layouts.SimpleItem, "Curator's SimpleDistributedQueue, ZooKeeper", numberOf},
		{layouts.KazooEntry, "kazoo", kazooEntryOf},
	} {
		if members := items(g.Path, g.Children, q.marker, q.parse, "queued"); len(members) > 0 {
			r := &Recipe{Kind: "queue", Layout: q.layout, Sure: true, Members: members}
			if r.Total = len(members); g.Total > len(g.Children) {
				r.Total = g.Total
				r.Note = "There are more items than are looked at: some of them may come first."
			}
			if taken := g.Children[0].Session != ""; taken {
				r.Kind = "items in work"
				for i := range members {
					members[i].State, members[i].Text = "taken", ""
				}
			}
			return r
		}
	}
	return nil
}

// lockingQueue is kazoo's queue whose consumers mark what they process.
func lockingQueue(g *Group) *Recipe {
	all, ok := g.Lines[layouts.KazooEntries]
	if !ok {
		return nil
	}
	parent := paths.ChildOf(g.Path, layouts.KazooEntries)
	members := items(parent, all, layouts.KazooEntry, kazooEntryOf, "queued")
	if len(members) == 0 {
		return nil
	}
	taken := map[string]*Znode{}
	for i := range g.Lines[layouts.KazooTaken] {
		z := &g.Lines[layouts.KazooTaken][i]
		taken[paths.ChildOf(parent, z.Name)] = z
	}
	for i := range members {
		if z := taken[members[i].Path]; z != nil {
			members[i].State, members[i].Session, members[i].Since = "taken", z.Session, z.Created
		}
	}
	return &Recipe{Kind: "queue", Layout: "kazoo's LockingQueue", Sure: true, Members: members}
}

func items(parent string, all []Znode, marker string, parse func(string) (entry, bool), state string) []Holder {
	var entries []entry
	for i := range all {
		at := strings.LastIndex(all[i].Name, marker)
		if at < 0 {
			continue
		}
		if e, ok := parse(all[i].Name[at+len(marker):]); ok {
			e.znode = &all[i]
			entries = append(entries, e)
		}
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Or(cmp.Compare(a.key, b.key), int(a.seq-b.seq)) })
	members := make([]Holder, len(entries))
	for i, e := range entries {
		m := member(parent, e.znode, state)
		if inside, err := layouts.ReadItems(e.znode.Data); err == nil && e.znode.Whole {
			m.Text = ""
			if len(inside) > 0 {
				m.Text = Text(inside[0], true)
			}
			if len(inside) != 1 {
				m.Text += fmt.Sprintf(" (%d items)", len(inside))
			}
		}
		if e.what != "" {
			m.Text = strings.TrimSpace(e.what + ": " + m.Text)
		}
		members[i] = m
	}
	return members
}

func numberOf(rest string) (entry, bool) {
	seq, ok := layouts.Number(rest)
	return entry{seq: seq}, ok
}

// itemOf reads the name of an item of Curator's queues: with a number, a priority or a time.
func itemOf(rest string) (entry, bool) {
	if ms, seq, ok := layouts.Due(rest); ok {
		return entry{key: ms, seq: seq, what: "due " + utc(ms)}, true
	}
	if len(rest) > 10 { // a number alone has ten digits, or eleven characters if it is negative
		if priority, seq, ok := layouts.Priority(rest); ok {
			return entry{key: int64(priority), seq: seq, what: "priority " + strconv.Itoa(int(priority))}, true
		}
	}
	return numberOf(rest)
}

// yearMax bounds the times that are written as dates.
const yearMax = 9999

func utc(ms int64) string {
	if t := time.UnixMilli(ms).UTC(); t.Year() <= yearMax {
		return t.Format("2006-01-02 15:04:05 UTC")
	}
	return fmt.Sprintf("%d ms after 1970", ms)
}

func kazooEntryOf(rest string) (entry, bool) {
	digits, number, ok := strings.Cut(rest, "-")
	priority, err := strconv.ParseInt(digits, 10, 32)
	seq, isNumber := layouts.Number(number)
	return entry{key: priority, seq: seq, what: fmt.Sprintf("priority %d", priority)}, ok && err == nil && isNumber
}

// service is a parent of instances.
func service(g *Group) *Recipe {
	r := &Recipe{Kind: "service", Layout: "Curator's x-discovery, Warren", Sure: true, Total: g.Total}
	for i := range g.Children {
		z := &g.Children[i]
		s, err := layouts.ReadService(z.Data)
		if err != nil || !IsService(z.Data) {
			if i < looked && len(r.Members) == 0 && i+1 == min(looked, len(g.Children)) {
				return nil
			}
			continue
		}
		m := member(g.Path, z, "offered")
		if s.Enabled != nil && !*s.Enabled {
			m.State = "disabled"
		}
		m.Text = addressOf(s)
		r.Members = append(r.Members, m)
	}
	if len(r.Members) == 0 {
		return nil
	}
	return r
}

// addressOf says where an instance is, and its payload.
func addressOf(s *layouts.Service) string {
	text := ""
	if s.Address != nil {
		text = *s.Address
	}
	if s.Port != nil {
		text += fmt.Sprintf(":%d", *s.Port)
	}
	if s.SSLPort != nil {
		text += fmt.Sprintf(" TLS %d", *s.SSLPort)
	}
	if s.Type != "" && s.Type != "DYNAMIC" {
		text += " " + strings.ToLower(s.Type)
	}
	if len(s.Payload) > 0 && string(s.Payload) != "null" {
		text += " " + string(s.Payload)
	}
	return Text([]byte(text), true)
}

// party is kazoo's list of members.
func party(g *Group) *Recipe {
	r := members(g, "kazoo's Party", func(z *Znode) bool { return strings.Contains(z.Name, layouts.KazooParty) })
	if r != nil {
		r.Sure = true
	}
	return r
}

// group is a parent of nothing but ephemerals, as that of Curator's GroupMember.
func group(g *Group) *Recipe {
	return members(g, "Curator's GroupMember, Warren, kazoo's ShallowParty", func(*Znode) bool { return true })
}

// members is a group if all children are ephemerals that are members.
func members(g *Group, layout string, is func(*Znode) bool) *Recipe {
	r := &Recipe{Kind: "group", Layout: layout, Total: g.Total}
	for i := range g.Children {
		z := &g.Children[i]
		if z.Readable && (z.Session == "" || IsSimpleLock(z.Data)) || !is(z) {
			return nil
		}
		r.Members = append(r.Members, member(g.Path, z, "member"))
	}
	if !g.has(func(z Znode) bool { return z.Session != "" }) {
		return nil
	}
	return r
}

// IsSemaphore reports whether data may be that of kazoo's semaphore.
func IsSemaphore(data []byte) bool {
	_, err := permitsOf(data)
	return err == nil
}

// permitsOf returns how many permits kazoo's semaphore has.
func permitsOf(data []byte) (uint64, error) {
	return strconv.ParseUint(string(data[:min(len(data), 11)]), 10, 31)
}

// kazooSemaphore has the number of its permits as data, and an ephemeral for each that is held. Those that wait are in
// a line beside it.
func kazooSemaphore(g *Group) *Recipe {
	limit, err := permitsOf(g.Self.Data)
	if err != nil || !g.has(func(z Znode) bool { return fresh.MatchString(z.Name) }) {
		return nil
	}
	r := members(g, "kazoo", func(z *Znode) bool { return fresh.MatchString(z.Name) })
	if r == nil {
		return nil
	}
	r.Kind = "semaphore"
	r.Note = fmt.Sprintf("%d permits. Those that wait are in the line at %s.", limit, BesideOf(g.Path))
	for i := range r.Members {
		r.Members[i].State = "holds"
	}
	wait := line(BesideOf(g.Path), g.Beside, []string{layouts.KazooLock}, alike("waits"))
	r.Members, r.Total = append(r.Members, wait...), r.Total+len(wait)
	return r
}

// doubleBarrier has an ephemeral with a fresh name for each process inside, and a znode that opens it.
func doubleBarrier(g *Group) *Recipe {
	r := &Recipe{Kind: "double barrier", Layout: "Curator, Warren, kazoo", Total: g.Total}
	isOpen := false
	for i := range g.Children {
		z := &g.Children[i]
		switch {
		case z.Name == layouts.Ready:
			isOpen = true
		case !fresh.MatchString(z.Name) || z.Readable && z.Session == "":
			return nil
		default:
			r.Members = append(r.Members, member(g.Path, z, "waits"))
		}
	}
	if len(r.Members) == 0 {
		return nil
	}
	r.Note = "Not open: more processes have to enter."
	if isOpen {
		r.Total--
		r.Note = "Open: the processes inside work. It ends when all have left."
		for i := range r.Members {
			r.Members[i].State = "inside"
		}
	}
	return r
}

// single is a recipe of one znode without children.
func single(g *Group) *Recipe {
	if g.Total > 0 {
		return nil
	}
	z := g.Self
	switch {
	case z.Session != "" && IsSimpleLock(z.Data):
		m := member(paths.ParentOf(g.Path), &z, "holds")
		_, payload, _ := strings.Cut(string(z.Data), "\n")
		m.Text = Text([]byte(payload), z.Whole)
		return &Recipe{Kind: "lock", Layout: "Warren's SimpleMutex", Sure: true, Members: []Holder{m},
			Note: "Sessions that wait leave no znode."}
	case z.Session == "" && IsBarrier([]byte(z.Name)):
		return &Recipe{Kind: "barrier", Layout: "Curator, Warren, kazoo",
			Members: []Holder{member(paths.ParentOf(g.Path), &z, "closed")},
			Note:    "It is closed while the znode exists. Only its name says that it is a barrier."}
	}
	return nil
}
