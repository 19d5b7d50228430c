package coordination

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/seed94657493/warren/proto/layouts"
	"github.com/seed94657493/warren/proto/paths"
)

// Bounds of what is looked at.
const (
	// MembersMax is how many znodes of one parent are looked at.
	MembersMax = 200
	// DataMax is how many bytes of the data of a znode are looked at: the record of a service must fit.
	DataMax = 4 << 10
	// looked is how many children decide whether a parent is a recipe.
	looked = 16
	// textMax is how many characters of a payload are shown.
	textMax = 200
	// TextData is how many bytes of a payload may be in its text.
	TextData = 4 * textMax
)

// Znode is a znode as far as the visitor may see it.
type Znode struct {
	Name     string
	Readable bool // without it only the name is known
	Data     []byte
	Whole    bool // Data is all of it
	Created  int64
	Session  string // of an ephemeral; "" for others
}

// Group is a znode with the first of its children in the order of their creation.
type Group struct {
	Path     string
	Self     Znode
	Children []Znode
	Total    int                // number of children
	Lines    map[string][]Znode // children of the children named as LinesOf says, by that name
	Beside   []Znode            // children of the sibling named as BesideOf says
}

// Recipe is one lock, election, queue or the like: what a group means, as the API tells it.
type Recipe struct {
	Path    string   `json:"path" doc:"of the znode that has the members"`
	Kind    string   `json:"kind" doc:"lock, read/write lock, election, semaphore, barrier, double barrier, queue, items in work, service or group"`
	Layout  string   `json:"layout" doc:"the libraries that write such znodes"`
	Sure    bool     `json:"sure" doc:"the names are those of a recipe; if not, it is a guess"`
	Note    string   `json:"note" doc:"what else is known; may be empty"`
	Total   int      `json:"total" doc:"number of members; of very many only the first are in members"`
	Members []Holder `json:"members" doc:"in the order in which their turn comes"`
}

// Holder is a member of a recipe.
type Holder struct {
	Path    string `json:"path" doc:"of its znode"`
	State   string `json:"state" doc:"holds, waits, leads, inside, closed, queued, taken, offered, disabled or member"`
	Session string `json:"session" doc:"of an ephemeral znode, as in sessions; empty for others"`
	Since   int64  `json:"since" doc:"when the znode was created, ms since 1970; 0 if it is not known"`
	Text    string `json:"text" doc:"the payload, at most 200 characters of it"`
}

// LinesOf returns the names of the children whose children belong to the recipe, if a znode with such children is one.
// has reports whether there is a child.
func LinesOf(has func(name string) bool) []string {
	for _, lines := range [][]string{{layouts.Leases, layouts.Locks}, {layouts.KazooEntries, layouts.KazooTaken}} {
		if has(lines[0]) && has(lines[1]) {
			return lines
		}
	}
	if has(layouts.Leases) { // the locks are made when the first permit is asked for, and may be gone
		return []string{layouts.Leases}
	}
	return nil
}

// BesideOf returns the name of the znode beside a semaphore of kazoo that has the line of those that wait.
func BesideOf(name string) string { return name + beside }

// IsBeside returns the name of the semaphore for which a znode may have the line. ok is false if it has none.
func IsBeside(name string) (of string, ok bool) { return strings.CutSuffix(name, beside) }

const beside = "-" + layouts.KazooLock

// markers are those that make a parent worth a look.
var markers = []string{layouts.Lock, layouts.Latch, layouts.Lease, layouts.Read, layouts.Write, layouts.Item,
	layouts.SimpleItem, layouts.KazooLock, layouts.KazooRead, layouts.KazooParty, layouts.KazooEntry}

// IsMarked reports whether the name of a child makes its parent worth a look.
func IsMarked(name []byte) bool {
	return slices.ContainsFunc(markers, func(m string) bool { return bytes.Contains(name, []byte(m)) })
}

// serviceField is in the data of every instance of a service.
var serviceField = []byte(`"serviceType"`)

// IsService reports whether data may be that of an instance of a service.
func IsService(data []byte) bool {
	return len(data) > 0 && data[0] == '{' && bytes.Contains(data[:min(len(data), DataMax)], serviceField)
}

// IsSimpleLock reports whether data is that of a lock of one ephemeral znode.
func IsSimpleLock(data []byte) bool { return simpleLock.Match(data[:min(len(data), 37)]) }

// IsBarrier reports whether the name of a znode without children says that it is a barrier.
func IsBarrier(name []byte) bool { return barrier.Match(name) }

var (
	simpleLock = regexp.MustCompile(`^` + uuid + `\n`)
	barrier    = regexp.MustCompile(`(?i)barrier`)
	fresh      = regexp.MustCompile(`^(` + uuid + `|[0-9a-f]{32})$`)
)

const uuid = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`

// Recognize returns what a group means, nil if it is no recipe that is known.
func Recognize(g *Group) *Recipe {
	var r *Recipe
	for _, try := range []func(*Group) *Recipe{semaphore, lockingQueue, locks, queue, service, party, kazooSemaphore,
		doubleBarrier, single, group} {
		if r = try(g); r != nil {
			r.Path = g.Path
			r.Total = max(r.Total, len(r.Members))
			return r
		}
	}
	return nil
}

// has reports whether one of the first children satisfies a condition.
func (g *Group) has(is func(Znode) bool) bool {
	return slices.ContainsFunc(g.Children[:min(len(g.Children), looked)], is)
}

// line returns the members of a line in order. state says what the i-th of a line does.
func line(parent string, all []Znode, markers []string, state func(line []layouts.Place, i int) string) []Holder {
	names, byName := make([]string, 0, len(all)), make(map[string]*Znode, len(all))
	for i := range all {
		z := &all[i]
		if z.Readable && z.Session == "" {
			continue // a lock ends with its session
		}
		names, byName[z.Name] = append(names, z.Name), z
	}
	places := layouts.Order(names, markers)
	members := make([]Holder, len(places))
	for i, p := range places {
		members[i] = member(parent, byName[p.Name], state(places, i))
	}
	return members
}

func member(parent string, z *Znode, state string) Holder {
	m := Holder{Path: paths.ChildOf(parent, z.Name), State: state, Session: z.Session, Since: z.Created,
		Text: Text(z.Data, z.Whole)}
	switch {
	case !z.Readable:
		m.Text = "may not be read"
	case string(z.Data) == layouts.Revoke:
		m.Text = "is asked to let go"
	}
	return m
}

// Text is a payload as text of bounded length.
func Text(data []byte, whole bool) string {
	whole = whole && len(data) <= TextData
	text := strings.ToValidUTF8(string(data[:min(len(data), TextData)]), "\uFFFD")
	runes := []rune(text)
	if len(runes) > textMax {
		runes, whole = runes[:textMax], false
	}
	for i, r := range runes {
		if r < 0x20 || r == 0x7f {
			runes[i] = ' '
		}
	}
	text = string(runes)
	if !whole && text != "" {
		text += " ..."
	}
	return text
}

// only is the state of those in an exclusive line: that of the first, while the others wait.
func only(first string) func([]layouts.Place, int) string {
	return func(_ []layouts.Place, i int) string {
		if i == 0 {
			return first
		}
		return "waits"
	}
}

// readersShare is the state of those in a line of readers and writers: readers hold until the first writer.
func readersShare(reader string) func([]layouts.Place, int) string {
	writes := func(p layouts.Place) bool { return p.Marker != reader }
	return func(line []layouts.Place, i int) string {
		if i > 0 && slices.ContainsFunc(line[:i+1], writes) {
			return "waits"
		}
		return "holds"
	}
}

func alike(state string) func([]layouts.Place, int) string {
	return func([]layouts.Place, int) string { return state }
}

// kinds are the recipes of one line, the most special first.
var kinds = []struct {
	markers            []string
	kind, layout, note string
	state              func([]layouts.Place, int) string
}{
	{[]string{layouts.Read, layouts.Write}, "read/write lock", "Curator, Warren", "", readersShare(layouts.Read)},
	{[]string{layouts.KazooRead, layouts.KazooLock}, "lock", "kazoo", "", readersShare(layouts.KazooRead)},
	{[]string{layouts.Latch}, "election", "Curator's LeaderLatch, Warren", "", only("leads")},
	{[]string{layouts.Lock}, "lock", "Curator, Warren, go-zookeeper",
		"Curator's LeaderSelector is such a lock, too: then the session that holds it leads.", only("holds")},
}

// First returns which of the names of children holds a lock or leads an election, where one at a time does. It returns
// "" if none of them has the name of such a member.
func First(names []string) string {
	for _, marker := range []string{layouts.Latch, layouts.Lock, layouts.KazooLock} {
		if line := layouts.Order(names, []string{marker}); len(line) > 0 {
			return line[0].Name
		}
	}
	return ""
}

// IsShared reports whether the name of a child says that several may hold the lock.
func IsShared(name string) bool {
	return slices.ContainsFunc([]string{layouts.Read, layouts.Write, layouts.KazooRead},
		func(marker string) bool { return strings.Contains(name, marker) })
}

func locks(g *Group) *Recipe {
	for _, k := range kinds {
		members := line(g.Path, g.Children, k.markers, k.state)
		if len(members) == 0 {
			continue
		}
		r := &Recipe{Kind: k.kind, Layout: k.layout, Note: k.note, Sure: true, Members: members}
		if g.Total > len(g.Children) {
			r.Total = g.Total
		}
		if k.layout == "kazoo" {
			r.Note = "kazoo's Election is such a lock, too."
			reads := func(m Holder) bool { return strings.Contains(m.Path, layouts.KazooRead) }
			if slices.ContainsFunc(members, reads) {
				r.Kind, r.Note = "read/write lock", ""
			}
		}
		return r
	}
	return nil
}

// semaphore is a line of permits that are held, and a line of those that want one. The first that waits has its permit
// already: it is the newest one, and counts when another one goes.
func semaphore(g *Group) *Recipe {
	leases, ok := g.Lines[layouts.Leases]
	if !ok {
		return nil
	}
	held := line(paths.ChildOf(g.Path, layouts.Leases), leases, []string{layouts.Lease}, alike("holds"))
	wait := line(paths.ChildOf(g.Path, layouts.Locks), g.Lines[layouts.Locks], []string{layouts.Lock}, alike("waits"))
	if len(held)+len(wait) == 0 {
		return nil
	}
	if n := len(held); n > 0 && len(wait) > 0 && wait[0].Session != "" && held[n-1].Session == wait[0].Session &&
		held[n-1].Since >= wait[0].Since {
		wait[0].Text = held[n-1].Text // Warren's recipe has the payload there only
		held = held[:n-1]
	}
	return &Recipe{Kind: "semaphore", Layout: "Curator, Warren", Sure: true, Members: append(held, wait...),
		Note: "How many permits there are is known to the programs only."}
}
