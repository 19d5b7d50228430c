package visible

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"runtime/metrics"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/facts"
	"github.com/seed94657493/warren/server/internal/stages"
	"github.com/seed94657493/warren/server/internal/trends"
	"github.com/seed94657493/warren/wal/vfs"
)

// Trends are the figures of a server over time, and what happened to it.
type Trends struct {
	EveryMs int64   `json:"everyMs" doc:"from one moment to the next"`
	Times   []int64 `json:"times" doc:"ms since 1970, ascending; a moment is left out while the server did not run"`
	Series  []Trend `json:"series" doc:"the figures"`
	Events  []Event `json:"events" doc:"of the server, the newest first; at most 256"`
}

// Trend is one figure over time.
type Trend struct {
	Name   string     `json:"name" doc:"of the figure, such as reads or p99.sync"`
	Unit   string     `json:"unit" doc:"/s, ms, bytes, or empty for a number"`
	Values []*float64 `json:"values" doc:"one for each of times; null where it is not known"`
}

// Event is something that happened to a server.
type Event = trends.Event

// trendsEvery is from one sample of the figures to the next; findings are looked for once in so many samples.
const (
	trendsEvery   = 2 * time.Second
	findingsEvery = 5
)

// figure is one of the figures of the trends.
type figure struct {
	name, unit string
	fold       trends.Fold
}

// trendFigures are the figures in the order in which trendKeeper.sample has them.
func trendFigures() []figure {
	all := []figure{
		{"reads", "/s", trends.Mean}, {"writes", "/s", trends.Mean}, {"sessions", "", trends.Mean},
		{"connections", "", trends.Mean}, {"outstanding", "", trends.Most}, {"watches", "", trends.Mean},
		{"znodes", "", trends.Mean}, {"dataBytes", "bytes", trends.Mean}, {"diskFree", "bytes", trends.Mean},
		{"memory", "bytes", trends.Mean}, {"bytesIn", "bytes/s", trends.Mean},
	}
	for s := range stages.Number + 1 {
		name := "all"
		if s < stages.Number {
			name = s.String()
		}
		all = append(all, figure{"p50." + name, "ms", trends.Mean}, figure{"p99." + name, "ms", trends.Most})
	}
	return all
}

// readOps and writeOps are the requests of clients that count as reads and as writes.
var (
	readOps = []proto.OpCode{proto.OpExists, proto.OpGetData, proto.OpGetACL, proto.OpGetChildren,
		proto.OpGetChildren2, proto.OpGetAllChildrenNumber, proto.OpGetEphemerals, proto.OpMultiRead, proto.OpSync}
	writeOps = []proto.OpCode{proto.OpCreate, proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL,
		proto.OpDelete, proto.OpDeleteContainer, proto.OpSetData, proto.OpSetACL, proto.OpMulti, proto.OpReconfig}
)

// trendKeeper samples the figures of a server. Its goroutine owns all other fields.
type trendKeeper struct {
	*Shown

	reads, writes, bytesIn int64 // at the last sample
	at                     time.Time
	spreads                [stages.Number + 1]stages.Counts
	role                   string
	drained                bool
	found                  map[string]string // the open findings, text by name
	configuration          int64             // its version
	expired                int64             // sessions that were told, of all that have expired
	expiredAt              time.Time         // when they were told
}

func newTrends() *trends.Ring {
	var folds []trends.Fold
	for _, f := range trendFigures() {
		folds = append(folds, f.fold)
	}
	return trends.New(folds)
}

// trendsFile is where the figures are kept over a restart, in dataDir, and trendsSaved how often they are written.
const (
	trendsFile  = ".warren.trends"
	trendsSaved = 5 * time.Minute
)

// trendsRoom is how much room a disk must have for them: what is left belongs to the log.
const trendsRoom = 256 << 20

// loadTrends reads the figures of the last life, and returns the version of the server that wrote them, "" if nothing
// is known of it.
func (n *Shown) loadTrends() string {
	file, err := vfs.ReadFile(n.FS, filepath.Join(n.Config.DataDir, trendsFile), trends.FileMax)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	version := ""
	if err == nil {
		version, err = n.trends.Load(file, trendNames(), n.Runtime.Now().UnixMilli())
	}
	if err != nil {
		n.Log.Info("the console begins without the figures of the time before the start", zap.Error(err))
	}
	return version
}

// saveTrends writes the figures. It does not matter if that fails, or if a crash loses them: nothing is synced, and a
// checksum tells. A nearly full disk is left alone.
func (n *Shown) saveTrends() {
	if free, _, err := n.FS.Free(n.Config.DataDir); err == nil && free < trendsRoom {
		return
	}
	name := filepath.Join(n.Config.DataDir, trendsFile)
	file := n.trends.AppendTo(nil, trendNames(), n.Program)
	f, err := n.FS.Create(name + ".tmp")
	if err == nil {
		_, err = f.Write(file)
		err = errors.Join(err, f.Close())
	}
	if err == nil {
		err = n.FS.Rename(name+".tmp", name)
	}
	if err != nil {
		_ = n.FS.Remove(name + ".tmp") // there may be none
		n.Log.Debug("the figures of the console are not kept over a restart", zap.Error(err))
	}
}

func trendNames() (names []string) {
	for _, f := range trendFigures() {
		names = append(names, f.name)
	}
	return names
}

// KeepTrends samples the figures until the server stops.
func (n *Shown) KeepTrends() {
	before := n.loadTrends()
	k := &trendKeeper{Shown: n, found: map[string]string{},
		configuration: n.Membership().ConfigVersion, expired: n.Metrics.StaleSessions.Total()}
	n.trends.Tell(Event{At: n.Began.UnixMilli(), Kind: "start", Text: "Server started: " + n.Program})
	if before != "" && before != n.Program {
		n.trends.Tell(Event{At: n.Began.UnixMilli(), Kind: "deploy",
			Text: fmt.Sprintf("%s runs; before the restart it was %s", n.Program, before)})
	}
	saved := n.Runtime.Now()
	for samples := 0; !n.Stopping.WaitFor(trendsEvery); samples++ {
		if now := n.Runtime.Now(); now.Sub(saved) >= trendsSaved {
			n.saveTrends()
			saved = now
		}
		k.sample(n.Runtime.Now())
		k.watchRole()
		k.watchConfiguration()
		k.watchExpired(n.Runtime.Now())
		if samples%findingsEvery == 0 {
			k.watchFindings()
		}
	}
	n.saveTrends()
}

// sample adds the figures of this moment. Rates count from the last sample.
func (k *trendKeeper) sample(now time.Time) {
	figures := make([]float32, 0, trends.Wide)
	seconds, first, open := now.Sub(k.at).Seconds(), k.at.IsZero(), k.Doors.InService()
	add := func(v float64, known bool) {
		if !known {
			v = math.NaN()
		}
		figures = append(figures, float32(v))
	}
	rate := func(last *int64, total int64) {
		add(float64(total-*last)/seconds, !first && seconds > 0)
		*last = total
	}
	rate(&k.reads, k.Env.Stats.CountOf(readOps...))
	rate(&k.writes, k.Env.Stats.CountOf(writeOps...))
	tree, free := &facts.Tree{}, int64(0)
	if open {
		tree, free = k.Tree(), k.DiskFree()
	}
	add(float64(tree.Sessions), open)
	add(float64(k.front.Conns.Len()), true)
	add(float64(k.InProcess.Load()), true)
	add(float64(tree.Watches), open)
	add(float64(tree.Znodes), open)
	add(float64(tree.Bytes), open)
	add(float64(free), open)
	add(float64(memoryInUse()), true)
	rate(&k.bytesIn, k.Env.Stats.BytesIn.Total())
	spreads := k.Stages.Spreads()
	for s := range k.spreads {
		var counts stages.Counts
		if spreads != nil {
			counts = spreads[s].Counts()
		}
		for _, q := range []float64{0.5, 0.99} {
			ms, ok := counts.Quantile(&k.spreads[s], q)
			add(ms, ok && !first)
		}
		k.spreads[s] = counts
	}
	k.at = now
	k.trends.Add(now.UnixMilli(), figures)
}

// memoryInUse is the memory that the process has from the system, in bytes.
func memoryInUse() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}

// watchRole tells when the role, the leader or the epoch is another one, and when clients are refused.
func (k *trendKeeper) watchRole() {
	if text := k.roleText(); text != k.role {
		k.Tell("role", text)
		k.role = text
	}
	_, drained := k.front.Draining()
	switch {
	case drained && !k.drained:
		k.Tell("clients", "Stopped accepting clients: an operator drains this server")
	case !drained && k.drained:
		k.Tell("clients", "Accepts clients again")
	}
	k.drained = drained
}

// roleText says which role a member of an ensemble has; it is what was told last on others, and before recovery.
func (k *trendKeeper) roleText() string {
	r, ok := k.Role()
	if !ok {
		return k.role
	}
	epoch := k.disk.Meta.Epochs().Current
	switch {
	case r.ReadOnly:
		return "Lost its ensemble: serves reads only"
	case r.Leading:
		return fmt.Sprintf("Leads the ensemble since epoch %d", epoch)
	case r.Leader >= 0 && r.Observing:
		return fmt.Sprintf("Observes server %d in epoch %d", r.Leader, epoch)
	case r.Leader >= 0:
		return fmt.Sprintf("Follows server %d in epoch %d", r.Leader, epoch)
	}
	return "Looks for a leader"
}

// watchFindings tells which findings are new, and which are gone.
func (k *trendKeeper) watchFindings() {
	now := map[string]string{}
	for _, f := range k.Findings() {
		now[fmt.Sprint(f.Check, f.Server)] = f.Text()
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if _, known := k.found[name]; !known {
			k.Tell("finding", now[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(k.found)) {
		if _, still := now[name]; !still {
			k.Tell("resolved", "Resolved: "+k.found[name])
		}
	}
	k.found = now
}

// watchConfiguration tells when the servers of the ensemble are other ones.
func (k *trendKeeper) watchConfiguration() {
	q := k.Membership()
	if q.ConfigVersion == k.configuration {
		return
	}
	k.configuration = q.ConfigVersion
	v := votingOf(q)
	text := fmt.Sprintf("The ensemble has a new configuration, %s: %d voters", proto.Zxid(q.ConfigVersion), v.Voters)
	if v.Observers > 0 {
		text += fmt.Sprintf(" and %d observers", v.Observers)
	}
	k.Tell("configuration", text)
}

// expiredEvery is how often it is told that sessions have expired.
const expiredEvery = time.Minute

// watchExpired tells how many sessions have expired, as far as this server has decided it.
func (k *trendKeeper) watchExpired(now time.Time) {
	total := k.Metrics.StaleSessions.Total()
	switch n := total - k.expired; {
	case n == 0 || now.Sub(k.expiredAt) < expiredEvery:
		return
	case n == 1:
		k.Tell("sessions", "1 session expired")
	default:
		k.Tell("sessions", fmt.Sprintf("%d sessions expired", n))
	}
	k.expired, k.expiredAt = total, now
}

// Tell adds an event.
func (n *Shown) Tell(kind, text string) {
	n.trends.Tell(Event{At: n.Runtime.Now().UnixMilli(), Kind: kind, Text: text})
}

// Trends is for the API.
func (n *Shown) Trends(from int64) *Trends {
	v := n.trends.Since(from)
	t := &Trends{EveryMs: v.Every.Milliseconds(), Times: v.Times, Events: n.trends.Events()}
	for i, f := range trendFigures() {
		values := make([]*float64, len(v.Times))
		for j, value := range v.Values[i] {
			if value == value { // not NaN
				values[j] = new(float64(value))
			}
		}
		t.Series = append(t.Series, Trend{Name: f.name, Unit: f.unit, Values: values})
	}
	return t
}
