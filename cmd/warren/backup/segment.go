package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/rebuild"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal"
)

// segment is the txns that one run adds, on their way into a file.
type segment struct {
	a       *addition
	after   *Entry     // with which the backup ends; nil if that is a snapshot which the source has
	started proto.Zxid // where the backup ends
	last    proto.Zxid // of what was taken
	met     bool       // the txn `started` was seen in the source, and is the same
	based   bool       // the source has a snapshot at `started`, from which its log leads on
	earlier bool       // a txn before it was
	failed  error      // of taking a txn
	chain   *snapshot.Chain

	w     *fileWriter
	buf   []byte
	entry Entry
	tail  []byte // payload of the last txn
}

// addLog copies every txn after last. after is the entry that ends with last, nil if the source is known to have it.
func (a *addition) addLog(last proto.Zxid, after *Entry) (err error) {
	names, err := wal.Names(a.src.FS, a.src.LogDir)
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	chain, err := snapshot.NewChain(a.src.FS, a.src.SnapDir, last, a.limit)
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	snapshots, err := snapshot.List(a.src.FS, a.src.SnapDir)
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	s := &segment{a: a, after: after, started: last, last: last, chain: chain}
	if i := slices.IndexFunc(snapshots, func(m snapshot.Meta) bool { return m.Zxid == last }); i >= 0 {
		s.based = true
		if !s.endsWithLog() && after != nil {
			if err := s.compare(snapshots[i].Name); err != nil {
				return err
			}
		}
	}
	defer func() {
		if err != nil && s.w != nil {
			s.w.f.Close()
		}
	}()
	from := last // with the txn itself, to compare it
	if s.after == nil {
		from++
	}
	for _, name := range wal.Needed(names, from) {
		if err := s.take(name, name == names[len(names)-1]); err != nil {
			return err
		}
	}
	// A state that a leader has sent stands for txns that are in no log, until the first one behind it is logged.
	sent := slices.IndexFunc(snapshots, func(m snapshot.Meta) bool {
		return m.Zxid > s.last && (a.limit == 0 || m.Zxid <= a.limit)
	})
	switch {
	case s.mustMeet() && (s.earlier || sent < 0):
		return s.diverged()
	case sent >= 0:
		return fmt.Errorf("%w: the log of the source does not lead from %v to %s", rebuild.ErrGap, s.last,
			snapshots[sent].Name)
	}
	return s.end()
}

// take copies from one file. A server may append to it and cut its preallocated end while it is read, so that what
// looks like damage may be none: it is believed if it is found twice in the same file of the same size. The rest of a
// write that was never synced, at the end of the last file, is left out.
func (s *segment) take(name string, isLast bool) error {
	path := filepath.Join(s.a.src.LogDir, name)
	record := func(r *wal.Record) error {
		s.failed = s.record(r)
		return s.failed
	}
	for seen := ""; ; {
		var err error
		if isLast {
			_, err = wal.ScanLast(s.a.src.FS, path, s.started+1, record)
		} else {
			_, err = wal.Scan(s.a.src.FS, path, record)
		}
		switch {
		case err == nil:
			return nil
		case s.failed != nil:
			return s.failed
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%w: %s was removed: %w", rebuild.ErrGap, name, err)
		}
		now := err.Error()
		if info, err := s.a.src.FS.Stat(path); err == nil {
			now = fmt.Sprint(info.Size(), now)
		}
		if now == seen {
			return fmt.Errorf("backup: %w", err)
		}
		seen = now
	}
}

// record takes one txn, if it is new.
func (s *segment) record(r *wal.Record) error {
	switch {
	case !s.isSame(r):
		return fmt.Errorf("%w: txn %v is not the one that the backup knows; begin a backup in another directory",
			errDiverged, r.Zxid)
	case r.Zxid == s.started:
		s.met = true
		return nil
	case r.Zxid < s.started:
		s.earlier = true
		return nil
	case r.Zxid <= s.last || s.a.limit > 0 && r.Zxid > s.a.limit:
		return nil
	case s.mustMeet() && s.earlier:
		return s.diverged()
	case !wal.Follows(s.last, r.Zxid) || s.last == s.started && !s.goesOn(r.Zxid):
		return fmt.Errorf("%w: the log of the source goes on with %v after %v", rebuild.ErrGap, r.Zxid, s.last)
	}
	if err := s.chain.Logged(r.Zxid); err != nil {
		return fmt.Errorf("%w: the log of the source goes on with %v after %v: %w", rebuild.ErrGap, r.Zxid, s.last,
			err)
	}
	return s.append(r)
}

// endsWithLog reports whether the backup ends with a txn, not with a snapshot.
func (s *segment) endsWithLog() bool { return s.after != nil && s.after.Kind == KindLog }

// compare compares the snapshot with which the backup ends with that of the source. If they are the same, the log
// need not be looked at: its digests are those of the leader, and a server of ZooKeeper may compute others.
func (s *segment) compare(name string) error {
	path := filepath.Join(s.a.src.SnapDir, name)
	if compareFile(s.a.src.FS, path, s.after.Bytes, s.after.SHA256) == nil {
		s.after = nil
		return nil
	}
	t, err := snapshot.Verify(s.a.src.FS, path)
	base := rebuild.BaseOf(name, s.started, &t)
	switch {
	case err != nil || base.DigestZxid == 0 || base.DigestZxid != proto.Zxid(s.after.DigestZxid):
		return nil // they tell nothing about each other
	case base.Digest != s.after.Digest:
		return fmt.Errorf("%w: %s has another tree than %s of the backup", errDiverged, name, s.after.File)
	}
	s.after = nil
	return nil
}

// isSame reports whether a txn of the source may be one that the end of the backup speaks of. A snapshot has the
// digest of a tree.
func (s *segment) isSame(r *wal.Record) bool {
	switch {
	case s.after == nil:
		return true
	case s.endsWithLog():
		return r.Zxid != s.started || fingerprint(r.Payload) == s.after.LastSum
	case r.Zxid != proto.Zxid(s.after.DigestZxid):
		return true
	}
	digest, ok := txnDigest(r.Payload)
	return !ok || digest == s.after.Digest
}

// mustMeet reports whether the source has not shown yet that it has the txn with which the backup ends.
func (s *segment) mustMeet() bool {
	return s.after != nil && !s.met && (s.endsWithLog() || !s.based && s.last == s.started)
}

// goesOn reports whether the first new txn is known to be the one behind `started`. At the beginning of an epoch the
// zxids do not say so: a purge may have taken the end of the epoch before.
func (s *segment) goesOn(first proto.Zxid) bool {
	return s.met || !s.endsWithLog() && (s.based || first == s.started+1)
}

func (s *segment) diverged() error {
	return fmt.Errorf("%w: it does not have txn %v, with which the backup ends; begin a backup in another directory",
		errDiverged, s.started)
}

func fingerprint(payload []byte) string {
	sum := sha256.Sum256(payload)
	return hex.EncodeToString(sum[:])
}

// logHeader is what every log file begins with. Source: storage 4.1.
func logHeader() []byte {
	h := proto.FileHeader{Magic: proto.MagicLog, Version: proto.FileVersion}
	return h.AppendTo(nil)
}

// txnDigest returns the digest of the tree that a txn carries, of the version that is computed here. Error txns have
// none. Source: storage 3.3 and 7.2.
func txnDigest(txn []byte) (digest int64, ok bool) {
	var d proto.TxnDigest
	err := d.ReadFrom(txn[len(datatree.WithoutDigest(txn)):])
	return d.TreeDigest, err == nil && d.Version == proto.DigestVersion
}

// flushBytes is how much is collected before it is written.
const flushBytes = 1 << 20

func (s *segment) append(r *wal.Record) (err error) {
	var h proto.TxnHeader
	if err := h.ReadFrom(r.Payload); err != nil {
		return fmt.Errorf("backup: txn %v: %w", r.Zxid, err)
	}
	if s.w == nil {
		s.entry = Entry{Kind: KindLog, File: fmt.Sprintf("log.%x", uint64(r.Zxid)), First: Zxid(r.Zxid),
			FirstTime: h.Time, Taken: s.a.taken}
		if s.w, err = s.a.create(s.entry.File); err != nil {
			return err
		}
		s.buf = logHeader()
	}
	s.last = r.Zxid
	s.tail = append(s.tail[:0], r.Payload...)
	s.entry.Last, s.entry.LastTime = Zxid(r.Zxid), h.Time
	s.entry.Txns++
	s.buf = wal.AppendRecord(s.buf, r.Payload)
	if len(s.buf) >= flushBytes {
		return s.flush()
	}
	return nil
}

func (s *segment) flush() error {
	_, err := s.w.Write(s.buf)
	s.buf = s.buf[:0]
	return err
}

// end completes the file.
func (s *segment) end() error {
	if s.w == nil {
		return nil
	}
	if err := errors.Join(s.flush(), s.w.done()); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	s.entry.Bytes, s.entry.SHA256 = s.w.bytes, hex.EncodeToString(s.w.sum.Sum(nil))
	s.entry.LastSum = fingerprint(s.tail)
	if d, ok := txnDigest(s.tail); ok {
		s.entry.Digest, s.entry.DigestZxid = d, s.entry.Last
	}
	_, err := s.a.keep(s.entry, s.w)
	return err
}
