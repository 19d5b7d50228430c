package doctor

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/internal/findings"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/rebuild"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal"
)

// The bounds above which the shape of a tree is worth a word.
const (
	znodeBytesWarn    = 512 << 10
	childrenWarn      = 50_000
	znodesWarn        = findings.ZnodesWarn
	sequenceWarn      = math.MaxInt32 / 10 * 9
	sequenceEnd       = math.MaxInt32 - 1 // here the server says that it is at its limit
	childrenOverheads = 4                 // bytes of a getChildren reply for each child, besides its name
)

// shape notes what is large in a tree. It is a snapshot.Sink.
type shape struct {
	znodes   int64
	largest  int
	path     string           // of the largest
	children map[string]int64 // by path: how many
	names    map[string]int64 // by path: the bytes of a reply that lists them
	sequence map[string]int32 // by path: sequence counters above sequenceWarn
}

func (*shape) Session(proto.SessionID, int32) error { return nil }

func (*shape) ACL(int64, []proto.ACL) error { return nil }

func (s *shape) Node(path, data []byte, _ int64, st *proto.StatPersisted) error {
	s.znodes++
	if st.Cversion > sequenceWarn {
		s.sequence[string(path)] = st.Cversion
	}
	if len(data) > s.largest {
		s.largest, s.path = len(data), string(path)
	}
	if i := bytes.LastIndexByte(path, '/'); i >= 0 {
		s.children[string(path[:i])]++
		s.names[string(path[:i])] += int64(len(path)-i-1) + childrenOverheads
	}
	return nil
}

// shape looks for znodes that are too large and for too many children, in the newest snapshot that is whole.
func (c *directoryCheck) shape() {
	list, _ := snapshot.List(c.FS, c.snapDir)
	i := slices.IndexFunc(list, func(m snapshot.Meta) bool { return m.Zxid == c.newest })
	if i < 0 {
		return
	}
	s := &shape{children: map[string]int64{}, names: map[string]int64{}, sequence: map[string]int32{}}
	if _, err := snapshot.Load(c.FS, filepath.Join(c.snapDir, list[i].Name), s); err != nil {
		return // it was verified a moment ago: a server has purged it
	}
	if s.largest > znodeBytesWarn {
		c.add(Warning, "huge-znode", cmp.Or(s.path, "/"), "keep large data elsewhere and its address in the znode",
			"has %d bytes; every write of it is copied to every server and every reader", s.largest)
	}
	if s.znodes > znodesWarn {
		c.add(Warning, "many-znodes", c.snapDir, "see with warren snapshot summary what grows",
			"there are %d znodes", s.znodes)
	}
	for _, path := range slices.Sorted(maps.Keys(s.sequence)) {
		severity, what := Warning, "%d sequential znodes were created under it, of 2147483647 that can be"
		if s.sequence[path] >= sequenceEnd {
			severity, what = Error, "its sequence counter is %d, the limit: sequential creates fail"
		}
		c.add(severity, "sequence-counter", cmp.Or(path, "/"), "let applications use another parent",
			what, s.sequence[path])
	}
	var worst string
	for path, n := range s.children {
		if n > s.children[worst] {
			worst = path
		}
		if limit := c.MaxFrameBytes; limit > 0 && s.names[path] > limit {
			c.add(Error, "children-too-many-to-list", cmp.Or(path, "/"),
				"delete some by names that you know, or raise jute.maxbuffer of the clients",
				"the names of its %d children are %d bytes, more than the %d of jute.maxbuffer: getChildren breaks "+
					"the connection", n, s.names[path], limit)
		}
	}
	if s.children[worst] > childrenWarn {
		c.add(Warning, "many-children", cmp.Or(worst, "/"), "spread them over several parents", "has %d children",
			s.children[worst])
	}
}

// errEnough ends a replay.
var errEnough = errors.New("enough")

// remedyCompare is what to do about a server that had another tree than a leader: the leader may be the wrong one.
const remedyCompare = "compare with the other servers, by warren doctor with all of them, before any of them is " +
	"emptied: this server, or one that led, had other data. If it is this one alone: " + remedyResync

// remedyForeign goes before it for what ZooKeeper has written.
const remedyForeign = "if there are paths that are not ASCII and ZooKeeper has run with another character set than " +
	"UTF-8, as with LC_ALL=C, its digests are others, and nothing is wrong; else "

// rebuilt rebuilds the state as a server does when it starts.
func (c *directoryCheck) rebuilt() (*rebuild.Found, error) {
	kept := c.provenance()
	view, foreign := kept.Snapshots(c.FS, c.snapDir, c.Member)
	var joins func(last, next proto.Zxid) error
	if !kept.Blank {
		joins = kept.Joins
	}
	return rebuild.Newest(&rebuild.Source{Joins: joins, FS: c.FS, Dir: c.snapDir, Foreign: foreign, Snapshots: view,
		Catalogued: kept.Catalogued,
		Log: func(from proto.Zxid, fn func(*wal.Record) error) error {
			_, err := wal.Verify(wal.Options{FS: c.FS, Dir: c.logDir}, from, func(r *wal.Record) error {
				if r.Zxid > c.last {
					return errEnough // written since the log was looked at
				}
				return fn(r)
			})
			if errors.Is(err, errEnough) {
				return nil
			}
			return err
		}})
}

// linked is rebuilt. That the log does not lead to a snapshot, or from one epoch to the next, is believed when it was
// seen twice: a server may have written that snapshot, or another log, since the log was looked at.
func (c *directoryCheck) linked() (found *rebuild.Found, err error) {
	for seen, tries := "", 0; tries < looksMax; tries++ {
		found, err = c.rebuilt()
		if !errors.Is(err, snapshot.ErrUnlinked) && !errors.Is(err, rebuild.ErrGap) || err.Error() == seen {
			return found, err
		}
		seen = err.Error()
		time.Sleep(c.Settle)
		report, logErr := c.verifyLog(max(c.newest, 0) + 1)
		if logErr != nil {
			return found, err
		}
		c.last = max(c.last, report.Last)
	}
	return found, err
}

// looksMax is how often a log is looked at that is another one each time.
const looksMax = 10

// digest says what is found when the state is rebuilt. Source: storage 7.3.
func (c *directoryCheck) digest() {
	found, err := c.linked()
	c.found = found
	var damage *wal.Error
	switch {
	case errors.Is(err, snapshot.ErrUnlinked): // the log does not lead to a damaged snapshot
		c.add(Critical, "log-gap", c.logDir, remedyResync,
			"%v: what lies between may have been acknowledged, and the server does not start", err)
		return
	case errors.Is(err, server.ErrOtherLog):
		c.add(Critical, "log-gap", c.logDir, "move the log away: the restore has not", "%v", err)
		return
	case errors.Is(err, rebuild.ErrGap):
		c.add(Critical, "log-gap", c.logDir, "put the missing file back; "+remedyResync, "%v", err)
		return
	case errors.As(err, &damage), errors.Is(err, fs.ErrNotExist), errors.Is(err, snapshot.ErrNone):
		return // it was whole a moment ago: a server writes to it
	case err != nil:
		c.add(Critical, "log-damaged", c.logDir, remedyResync, "%v", err)
		return
	}
	for i := range found.Passed {
		if p := &found.Passed[i]; errors.Is(p.Err, rebuild.ErrDigest) {
			c.add(Error, "snapshot-damaged", filepath.Join(c.snapDir, p.Name), "leave it: the server puts it aside, "+
				"and starts from the one before; look for a failing disk", "%v", p.Err)
		}
	}
	remedy := remedyCompare
	if found.Ensemble == 0 {
		remedy = remedyForeign + remedy
	}
	switch {
	case found.Wrong != nil:
		c.add(Critical, "digest", c.snapDir, remedy, "%v", found.Wrong)
	case found.Differing > 0:
		c.add(Critical, "digest", c.snapDir, remedy,
			"the tree differs from what it should be by %s, from %v on", wording.Count(found.Differing, "txn"),
			found.FirstDiffering)
	}
	switch err := found.LostEnd(c.committed); {
	case err != nil && c.Member:
		c.add(Critical, "log-end-missing", c.logDir, "put the missing file back; "+remedyResync, "%v", err)
	case !found.IsExact():
		c.add(Error, "log-end-missing", c.logDir, remedyResync,
			"the snapshot knows txns up to %v, but the log ends with %v", found.ExactFrom(), c.last)
	}
}
