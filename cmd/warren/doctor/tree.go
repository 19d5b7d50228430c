package doctor

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/internal/findings"
	"github.com/seed94657493/warren/proto"
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

// newestFile returns the newest snapshot that is whole.
func (c *directoryCheck) newestFile() (string, bool) {
	list, err := snapshot.List(c.FS, c.snapDir)
	if err != nil {
		return "", false
	}
	for _, m := range list {
		if m.Zxid == c.newest {
			return filepath.Join(c.snapDir, m.Name), true
		}
	}
	return "", false
}

// shape notes what is large in a tree. It is a snapshot.Sink.
type shape struct {
	znodes   int64
	largest  int
	path     string           // of the largest
	children map[string]int64 // by path: how many
	names    map[string]int64 // by path: the bytes of a reply that lists them
	sequence map[string]int32 // by path: sequence counters above sequenceWarn
}

// Session implements snapshot.Sink.
func (*shape) Session(proto.SessionID, int32) error { return nil }

// ACL implements snapshot.Sink.
func (*shape) ACL(int64, []proto.ACL) error { return nil }

// Node implements snapshot.Sink.
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

// shape looks for znodes that are too large and for too many children.
func (c *directoryCheck) shape() {
	file, ok := c.newestFile()
	if !ok {
		return
	}
	s := &shape{children: map[string]int64{}, names: map[string]int64{}, sequence: map[string]int32{}}
	if _, err := snapshot.Load(c.FS, file, s); err != nil {
		return // it was verified a moment ago: a server has purged it
	}
	if s.largest > znodeBytesWarn {
		c.add(Warning, "huge-znode", cmp.Or(s.path, "/"), "keep large data elsewhere and its address in the znode",
			"has %d bytes; every write of it is copied to every server and every reader", s.largest)
	}
	if s.znodes > znodesWarn {
		c.add(Warning, "many-znodes", c.snapDir, "look with warren snapshot summary at what grows",
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

// digest replays the log over the newest snapshot and compares digests, as a server does when it starts. Source:
// storage 7.3.
func (c *directoryCheck) digest() {
	file, ok := c.newestFile()
	if !ok {
		return
	}
	loader := datatree.NewLoader(datatree.Config{})
	trailer, err := snapshot.Load(c.FS, file, loader)
	if err != nil {
		return
	}
	state, err := loader.Done(c.newest)
	if err != nil {
		c.add(Error, "snapshot-damaged", file, remedyResync, "%v", err)
		return
	}
	exact := max(c.newest, trailer.DigestZxid)
	var wrong proto.Zxid
	check := func() { // ZooKeeper writes the zxid 0 where it knows no digest
		if trailer.HasDigest && trailer.DigestZxid > 0 && trailer.DigestVersion == proto.DigestVersion &&
			state.LastZxid() == trailer.DigestZxid && state.Digest() != trailer.Digest && wrong == 0 {
			wrong = trailer.DigestZxid
		}
	}
	check()
	var refused error
	_, err = wal.Verify(wal.Options{FS: c.FS, Dir: c.logDir}, c.newest+1, func(r *wal.Record) error {
		if r.Zxid > c.last {
			return errEnough // written since the log was looked at
		}
		_, applied, err := state.Apply(r.Payload, nil, nil, false)
		if err != nil {
			refused = fmt.Errorf("txn %v: %w", r.Zxid, err)
		}
		if applied.DigestMismatch && r.Zxid > exact && wrong == 0 {
			wrong = r.Zxid
		}
		check()
		return err
	})
	if refused != nil {
		c.add(Critical, "log-damaged", c.logDir, remedyResync, "%v", refused)
		return
	}
	if err != nil && state.LastZxid() < c.last {
		return // it was whole a moment ago: a server writes to it
	}
	if wrong != 0 {
		c.add(Critical, "digest", c.snapDir, "compare with the other servers; "+remedyResync,
			"the tree differs from what txn %v says it should be: this server has other data than its leader had",
			wrong)
	}
	if trailer.HasDigest && trailer.DigestZxid > c.last {
		c.add(Error, "log-end-missing", c.logDir, remedyResync,
			"the snapshot knows txns up to %v, but the log ends with %v", trailer.DigestZxid, c.last)
	}
}
