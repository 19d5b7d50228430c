package past

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"path/filepath"
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/rebuild"
	"github.com/seed94657493/warren/wal"
)

// source reads files of the log, as many bytes of them as it may, and decodes their txns.
type source struct {
	*rebuild.Reader
	most  Limits
	left  int64 // bytes that may be read
	multi proto.MultiTxn

	from    proto.Zxid // the first txn that was looked at, of which nothing was dropped; 0 before
	cut     bool       // there are older files that were not read, or something was dropped, because of the limits
	dropped proto.Zxid // the txn of what was dropped last

	about []byte // is in every txn that changes what is looked for
	// does is called with each change, and with the state of the znode after it. Both are valid during the call only.
	does func(path proto.Text, v *Version)
	// ends is called with the end of each session. znodes are those that it deletes, nil if the txn has no list.
	ends func(h *proto.TxnHeader, znodes []proto.Text)
}

func newSource(ctx context.Context, d rebuild.Dirs, most Limits) *source {
	return &source{Reader: rebuild.NewReader(ctx, d, most.Pace), most: most, left: most.Bytes}
}

// errNoRoom means that a file is larger than what may still be read.
var errNoRoom = errors.New("the file is too large")

// backwards hands over the files of the log, the newest first, until file wants no more, or the limits forbid it. The
// error is ErrLarge if they allow not even one.
func (s *source) backwards(file func(name string) (more bool, err error)) error {
	names, err := wal.Names(s.FS, s.Log)
	if err != nil {
		return err
	}
	more := true
	for i := len(names) - 1; i >= 0 && more; i-- {
		if first, _, _ := wal.FileZxid(names[i]); first > s.Last {
			continue
		}
		switch more, err = file(names[i]); {
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, errNoRoom):
			s.cut, more = true, false
		case errors.Is(err, iofs.ErrNotExist): // purged
			more = false
		case err != nil:
			return err
		}
	}
	if s.cut && s.from == 0 {
		return ErrLarge
	}
	return nil
}

// joined returns what a file has, and behind it what newer files have: the newest of both, as many as may be. first is
// the first txn of the file.
func joined[T any](s *source, first proto.Zxid, has, newer []T, zxidOf func(*T) proto.Zxid) []T {
	all := append(has, newer...)
	if over := len(all) - s.most.Versions; over > 0 {
		s.dropped = zxidOf(&all[over-1])
		all, s.cut = slices.Clone(all[over:]), true
	}
	if s.from = first; s.cut {
		if s.from = zxidOf(&all[0]); s.from == s.dropped { // a multi may have both
			s.from++
		}
	}
	return all
}

// scan decodes one file of the log. It returns the zxid of the first txn, or 0 if the file is empty.
func (s *source) scan(name string) (first proto.Zxid, err error) {
	info, err := s.FS.Stat(filepath.Join(s.Log, name))
	switch {
	case err != nil:
		return 0, fmt.Errorf("past: %w", err)
	case info.Size() > s.left:
		return 0, errNoRoom
	}
	s.left -= info.Size()
	err = s.Scan(name, func(rec *wal.Record) error {
		if first == 0 {
			first = rec.Zxid
		}
		if err := s.record(rec.Payload); err != nil {
			return fmt.Errorf("past: txn %v: %w", rec.Zxid, err)
		}
		return nil
	})
	return first, err
}

func (s *source) record(payload []byte) error {
	in := proto.NewReader(payload)
	var h proto.TxnHeader
	if h.Decode(&in); in.Err() != nil {
		return in.Err()
	}
	if h.Type != proto.OpCloseSession && !bytes.Contains(payload, s.about) {
		return nil // most txns are about other znodes
	}
	if h.Type != proto.OpMulti {
		return s.body(&h, h.Type, &in)
	}
	s.multi = proto.MultiTxn{}
	if s.multi.Decode(&in); in.Err() != nil {
		return in.Err()
	}
	for i := range s.multi.Txns {
		if s.multi.Txns[i].Type == proto.OpError {
			return nil // it has failed as a whole
		}
	}
	for i := range s.multi.Txns {
		sub := proto.NewReader(s.multi.Txns[i].Data)
		if err := s.body(&h, s.multi.Txns[i].Type, &sub); err != nil {
			return err
		}
	}
	return nil
}

// body decodes one operation. Source: storage 3.2.
func (s *source) body(h *proto.TxnHeader, op proto.OpCode, in *proto.Reader) error {
	v := Version{Zxid: h.Zxid, Time: h.Time, Session: h.ClientID, HasData: true}
	var path proto.Text
	switch op {
	case proto.OpCreate, proto.OpCreate2:
		again := *in
		var c proto.CreateTxn
		if c.Decode(in); in.Err() != nil { // of a server before 3.4, which wrote no version of the parent
			*in = again
			var old proto.CreateTxnV0
			old.Decode(in)
			c = proto.CreateTxn{Path: old.Path, Data: old.Data, Acl: old.Acl, Ephemeral: old.Ephemeral}
		}
		path, v.Data, v.ACL = c.Path, c.Data, c.Acl
		if c.Ephemeral {
			v.owner = h.ClientID
		}
	case proto.OpCreateContainer:
		var c proto.CreateContainerTxn
		c.Decode(in)
		path, v.Data, v.ACL = c.Path, c.Data, c.Acl
	case proto.OpCreateTTL:
		var c proto.CreateTTLTxn
		c.Decode(in)
		path, v.Data, v.ACL = c.Path, c.Data, c.Acl
	case proto.OpSetData, proto.OpReconfig:
		var c proto.SetDataTxn
		c.Decode(in)
		path, v.Kind, v.Data, v.Version = c.Path, changed, c.Data, c.Version
	case proto.OpSetACL:
		var c proto.SetACLTxn
		c.Decode(in)
		path, v.Kind, v.ACL, v.Version, v.HasData = c.Path, Permissions, c.Acl, -1, false
	case proto.OpDelete, proto.OpDeleteContainer:
		var c proto.DeleteTxn
		c.Decode(in)
		path, v.Kind, v.Version, v.HasData = c.Path, deleted, -1, false
	case proto.OpCloseSession:
		var c proto.CloseSessionTxn
		if !c.DecodeList(in) {
			c.Paths2Delete = nil
		}
		s.ends(h, c.Paths2Delete)
		return nil
	default:
		return nil
	}
	if in.Err() != nil {
		return in.Err()
	}
	s.does(path, &v)
	return nil
}
