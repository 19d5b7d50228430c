package system

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed94657493/warren/server/meta"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/test/damage"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
)

// Directories that are not what their server has left. Such a server starts and gets what it lacks, or it refuses to
// start and says what is wrong. Then its operator gives the disk up.

// versionDir is where the files of a server are.
var versionDir = filepath.Join(dataDir, "version-2")

// copied is a copy of the files of a server.
type copied struct {
	mem  *vfs.Mem
	meta *meta.Mem
}

// files copies what is on the disk as a process leaves it.
func (d *disk) files() copied {
	mem := d.mem.CrashClone(rand.New(rand.NewPCG(1, 1)), vfs.CrashOptions{UnsyncedPercent: 100})
	mem.SetCapacity(0)
	return copied{mem, d.meta.Copy()}
}

// keep takes a copy that a server may get back later. It is taken of what a process finds.
func (n *node) keep() {
	if n.w.has(Exchange) || n.w.has(Damage) {
		if n.earlier.mem == nil || n.w.s.chance(50) {
			n.earlier = n.disk.files()
		}
	}
}

// spoilPause is how often is looked whether a directory may be spoilt, and spoilTries how often at most.
const (
	spoilPause = 50 * time.Millisecond
	spoilTries = 80
)

// spoil changes the directory of a server while it is down. That may take away whatever the server has acknowledged,
// without a trace. So it is done only while all others serve in one epoch, and have all that any server has applied:
// a minority is damaged, and what is acknowledged stays on a quorum. As with a disk that is lost, the ensemble stays
// as it is meanwhile: a server without its disk that a later configuration needs would be missed for ever.
func (f *faults) spoil(k Fault, n *node, lasts time.Duration, tries int) {
	f.w.s.plan(spoilPause, nil, "spoil", func() {
		switch {
		case f.over || tries == 0:
			f.restart(n, f.w.tick)
		case n.stops || n.lost || !n.served || n.disk.full || n.disk.bad || !f.othersHaveAll(n):
			f.spoil(k, n, lasts, tries-1)
		case n.p != nil:
			n.kill([]int{0, 50, 100}[f.w.s.rng.IntN(3)], true)
			f.spoil(k, n, lasts, tries-1)
		default:
			if what := f.spoilNow(k, n); what != "" {
				f.did(k, what)
				f.w.s.tracef("s%d: %s: %s", n.id, k, what)
				n.lost, n.disk.spoilt, n.disk.spoiltBy, n.disk.dormant = true, what, k, ""
				if f.w.has(Reconfig) {
					n.toldMembers()
				}
			}
			f.restart(n, lasts)
		}
	})
}

// othersHaveAll reports whether every other member serves, in the same epoch, and has applied all that any server has.
func (f *faults) othersHaveAll(n *node) bool {
	w := f.w
	m := w.membership()
	if w.has(Reconfig) && (m.groups != "" || w.pends()) {
		return false
	}
	last, epoch, voters := w.newest(), int64(0), 0
	for _, o := range w.votersAndObservers() {
		if o == n {
			continue
		}
		if !o.serves() || o.mayBeLost() || o.srv.Status().Zxid < last || epoch != 0 && o.srv.Status().Epoch != epoch {
			return false
		}
		epoch = o.srv.Status().Epoch
		if m.votes(o.id) {
			voters++
		}
	}
	all := voters
	if m.votes(n.id) {
		all++
	}
	return voters > all/2
}

// spoilNow does it, and says what; empty if there is nothing to do it to.
func (f *faults) spoilNow(k Fault, n *node) string {
	if k == CopiedDir {
		return f.copyDir(n)
	}
	f.w.harvest(n)
	var done []string
	for range 1 + f.w.s.rng.IntN(3) {
		done = append(done, f.damageFile(n))
		if f.w.s.chance(25) {
			done = append(done, f.damageMeta(n))
		}
	}
	return strings.Join(slices.DeleteFunc(done, func(what string) bool { return what == "" }), ", ")
}

// damageFile damages one snapshot or log.
func (f *faults) damageFile(n *node) string {
	s, fs := f.w.s, n.disk.mem
	prefix := []string{"snapshot.", "log."}[s.rng.IntN(2)]
	names := named(fs, prefix)
	if len(names) == 0 {
		return ""
	}
	i := len(names) - 1
	if s.chance(40) {
		i = s.rng.IntN(len(names))
	}
	name, sibling := names[i], names[(i+1)%len(names)]
	kind := strings.TrimSuffix(prefix, ".")
	switch c := s.rng.IntN(100); {
	case c < 50:
		e := damage.Edits[s.rng.IntN(len(damage.Edits))]
		f.put(fs, name, e.Do(name, f.read(fs, name)))
		return kind + " " + e.Name
	case c < 60:
		f.must(fs.Remove(filepath.Join(versionDir, name)))
		return kind + " removed"
	case c < 70:
		to := renamed(name, f.w.s.rng.Int64N(40)-10)
		f.must(fs.Rename(filepath.Join(versionDir, name), filepath.Join(versionDir, to)))
		return kind + " renamed"
	case c < 80 && name != sibling:
		one, other := f.read(fs, name), f.read(fs, sibling)
		f.put(fs, name, other)
		f.put(fs, sibling, one)
		return kind + " exchanged"
	case c < 85 && name != sibling:
		f.put(fs, name, f.read(fs, sibling))
		return kind + " overwritten"
	}
	from, how := n.earlier.mem, " as it was earlier"
	if o := f.w.nodes[s.rng.IntN(len(f.w.nodes))]; o != n && s.chance(40) {
		from, how = o.disk.files().mem, " of another server"
	}
	if from == nil || !slices.Contains(named(from, prefix), name) {
		return ""
	}
	f.put(fs, name, f.read(from, name))
	return kind + how
}

// renamed is the name of a log or a snapshot for a zxid that is so much higher.
func renamed(name string, by int64) string {
	if zxid, _, is := snapshot.ParseName(name); is {
		return fmt.Sprintf("snapshot.%x", uint64(max(int64(zxid)+by, 1)))
	}
	zxid, _, _ := wal.FileZxid(name)
	return fmt.Sprintf("log.%x", uint64(max(int64(zxid)+by, 1)))
}

// damageMeta damages meta.db, or brings it back as it was earlier. The epoch files count as well: of two epochs a
// server takes the larger, and without a meta.db those of the files.
func (f *faults) damageMeta(n *node) string {
	epochs := n.disk.meta.Epochs()
	n.forgets()
	if !f.w.s.chance(50) {
		f.must(n.disk.anew(epochs, n.disk.meta.Blank()))
		return "meta.db lost"
	}
	if n.earlier.meta == nil || !f.w.currentMembers(n.earlier.meta) {
		return ""
	}
	n.disk.meta = n.earlier.meta.Copy()
	if f.w.s.chance(50) {
		return "meta.db and epochs as they were earlier"
	}
	f.must(n.disk.meta.SetAccepted(epochs.Accepted))
	f.must(n.disk.meta.SetCurrent(epochs.Current, ""))
	return "meta.db as it was earlier"
}

// anew makes a meta.db of the epoch files, as a server does that has lost it.
func (d *disk) anew(e meta.Epochs, blank bool) error {
	d.meta = d.s.newDisk(d.id).meta
	if err := d.meta.SetBlank(blank); err != nil {
		return err
	}
	if err := d.meta.SetAccepted(e.Accepted); err != nil {
		return err
	}
	return d.meta.SetCurrent(e.Current, "")
}

// copyDir gives a server the directory of another one, or its own as it was earlier. A meta.db of another server stops
// the start, and the error says that it is to be removed: that is what the operator does.
func (f *faults) copyDir(n *node) string {
	f.w.harvest(n)
	if f.w.s.chance(50) {
		if n.earlier.mem == nil || !f.w.currentMembers(n.earlier.meta) {
			return ""
		}
		n.forgets()
		n.disk.mem, n.disk.meta = n.earlier.mem, n.earlier.meta
		n.earlier = n.disk.files()
		return "its own as it was earlier"
	}
	o := f.w.nodes[f.w.s.rng.IntN(len(f.w.nodes))]
	if o == n || !o.serves() {
		return ""
	}
	from := o.disk.files()
	if !f.w.currentMembers(from.meta) {
		return ""
	}
	n.disk.mem = from.mem
	if f.w.s.chance(30) {
		return "that of another server but for meta.db"
	}
	n.forgets()
	f.must(n.disk.anew(from.meta.Epochs(), from.meta.Blank()))
	return "that of another server"
}

// forgets notes that the ids of sessions in meta.db are forgotten.
func (n *node) forgets() {
	if base := sessionTime(n.disk.meta); base.After(n.lostIDs) {
		n.lostIDs = base
	}
}

// sessionTime is up to when, by the wall clock, ids of sessions may have been given out.
func sessionTime(m *meta.Mem) time.Time { return time.UnixMilli(m.SessionBase() >> 16) }

// currentMembers reports whether a meta.db does not hold an earlier configuration. With one, a server may be an
// ensemble of its own.
func (w *world) currentMembers(m *meta.Mem) bool {
	kept, ok := m.Config()
	return !w.has(Reconfig) || ok && kept.Version == w.members
}

// refused is the end of a start on a directory that was spoilt: the operator gives the disk up.
func (n *node) refused(err error) {
	var code interface{ ExitCode() int }
	if !errors.As(err, &code) || code.ExitCode() != 3 || !strings.Contains(err.Error(), dataDir) {
		n.w.s.fail(EndsByItself, "server %d refuses a spoilt directory (%s) without saying what is wrong: %v", n.id,
			cmp.Or(n.disk.spoilt, n.disk.dormant), err)
		return
	}
	n.w.faults.did(n.disk.spoiltBy, "refused")
	n.wipe(false)
	n.w.faults.restart(n, n.w.tick)
}

// named are the names in the directory of a server that begin in a way, the lowest zxid first.
func named(fs *vfs.Mem, prefix string) []string {
	names, _ := fs.List(versionDir)
	names = slices.DeleteFunc(names, func(name string) bool {
		_, _, isLog := wal.FileZxid(name)
		_, _, isSnapshot := snapshot.ParseName(name)
		return !strings.HasPrefix(name, prefix) || !isLog && !isSnapshot
	})
	slices.SortFunc(names, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return names
}

func (f *faults) read(fs *vfs.Mem, name string) []byte {
	b, err := vfs.ReadFile(fs, filepath.Join(versionDir, name), 1<<30)
	f.must(err)
	return b
}

func (f *faults) put(fs *vfs.Mem, name string, b []byte) {
	f.must(vfs.WriteFile(fs, filepath.Join(versionDir, name), b))
}

func (f *faults) must(err error) {
	if err != nil {
		panic(err)
	}
}

// did counts what a fault has done, which may be several things.
func (f *faults) did(k Fault, what string) {
	for part := range strings.SplitSeq(what, ", ") {
		f.done[string(k)+": "+part]++
	}
}
