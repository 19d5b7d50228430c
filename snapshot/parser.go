package snapshot

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/seed94657493/warren/proto"
)

// parser hands the records of a body to a sink, in place.
type parser struct {
	w    *window
	file string // for errors
	sink Sink
	acl  []proto.ACL // reused
}

// body parses sessions, ACL table and znodes, and ends behind the terminator.
func (p *parser) body() error {
	if err := p.sessions(); err != nil {
		return err
	}
	if err := p.acls(); err != nil {
		return err
	}
	return p.nodes()
}

func (p *parser) sessions() error {
	count, err := p.count("sessions", sessionSize)
	if err != nil {
		return err
	}
	for i := range count {
		b, err := p.w.peek(sessionSize)
		if err != nil {
			return p.short(fmt.Sprintf("session %d of %d", i+1, count), err)
		}
		id := proto.SessionID(binary.BigEndian.Uint64(b))
		if err := p.sink.Session(id, int32(binary.BigEndian.Uint32(b[8:]))); err != nil {
			return p.refused("session "+id.String(), err)
		}
		p.w.skip(sessionSize)
	}
	return nil
}

func (p *parser) acls() error {
	count, err := p.count("ACL lists", aclEntryMin)
	if err != nil {
		return err
	}
	for range count {
		if err := p.aclEntry(); err != nil {
			return err
		}
	}
	return nil
}

// aclEntry parses one entry of the ACL table. The list is decoded once element by element to measure it, and
// again when all of it is in the window, because measuring may move the window.
func (p *parser) aclEntry() error {
	b, err := p.w.peek(aclEntryMin)
	if err != nil {
		return p.short("ACL entry", err)
	}
	key := int64(binary.BigEndian.Uint64(b))
	count := int64(int32(binary.BigEndian.Uint32(b[8:])))
	if count == -1 {
		return p.corrupt(8, fmt.Sprintf("ACL %d is null", key), nil)
	}
	if count = max(count, 0); count*aclMin > min(p.w.available(), fieldMax) {
		return p.corrupt(8, fmt.Sprintf("ACL %d claims %d elements", key, count), proto.ErrCount)
	}
	end := aclEntryMin
	for range count {
		end += 4 // perms
		for range 2 {
			if end, err = p.field(end, "ACL identity"); err != nil {
				return err
			}
		}
	}
	if b, err = p.w.peek(end); err != nil {
		return p.short("ACL entry", err)
	}
	r := proto.NewReader(b[aclEntryMin:end])
	p.acl = p.acl[:0]
	for range count {
		var a proto.ACL
		a.Decode(&r)
		p.acl = append(p.acl, a)
	}
	if r.Err() != nil {
		return p.corrupt(0, fmt.Sprintf("ACL %d", key), r.Err())
	}
	if err := p.sink.ACL(key, p.acl); err != nil {
		return p.refused(fmt.Sprintf("ACL %d", key), err)
	}
	p.w.skip(end)
	return nil
}

// field returns the end of the string or buffer that starts at from, counted from the unread bytes. All of it is
// in the window except the last len bytes.
func (p *parser) field(from int, what string) (end int, err error) {
	b, err := p.w.peek(from + 4)
	if err != nil {
		return 0, p.short("length of "+what, err)
	}
	n := int(int32(binary.BigEndian.Uint32(b[from:])))
	end = from + 4 + max(n, 0)
	if n < -1 || end > fieldMax || int64(end) > p.w.available() {
		return 0, p.corrupt(from, fmt.Sprintf("length of %s is %d", what, n), proto.ErrLength)
	}
	return end, nil
}

// nodes parses znodes until the terminator. It is the hot loop: two or three compares beside
// the loads and the call of the sink.
func (p *parser) nodes() error {
	var st proto.StatPersisted
	for first := true; ; first = false {
		pathEnd, err := p.field(0, "path")
		if err != nil {
			return err
		}
		if pathEnd == len(terminator) {
			return p.end(first)
		}
		dataEnd, err := p.field(pathEnd, "data")
		if err != nil {
			return err
		}
		b, err := p.w.peek(dataEnd + nodeFixed)
		if err != nil {
			return p.short("znode", err)
		}
		path := b[4:pathEnd:pathEnd]
		if err := p.checkPath(b, path, first); err != nil {
			return err
		}
		var data []byte
		if int32(binary.BigEndian.Uint32(b[pathEnd:])) != -1 {
			data = b[pathEnd+4 : dataEnd : dataEnd]
		}
		aclKey := decodeFixed((*[nodeFixed]byte)(b[dataEnd:]), &st)
		if err := p.sink.Node(path, data, aclKey, &st); err != nil {
			return p.refused(fmt.Sprintf("znode %q", path), err)
		}
		p.w.skip(dataEnd + nodeFixed)
	}
}

// checkPath accepts "" for the first znode only, and "/..." for every other.
func (p *parser) checkPath(b, path []byte, first bool) error {
	switch {
	case int32(binary.BigEndian.Uint32(b)) == -1:
		return p.corrupt(0, "path is null", nil)
	case first && len(path) > 0:
		return p.corrupt(0, fmt.Sprintf("first znode is %q, not the root", path), nil)
	case !first && len(path) == 0:
		return p.corrupt(0, "second root", nil)
	case !first && path[0] != '/':
		return p.corrupt(4, fmt.Sprintf("path %q does not begin with a slash", path), nil)
	}
	return nil
}

// end consumes the terminator: the only path of one byte, since the root's is empty.
func (p *parser) end(first bool) error {
	b, err := p.w.peek(len(terminator))
	if err != nil {
		return p.short("end of the znodes", err)
	}
	if first || !bytes.Equal(b[:len(terminator)], terminator) {
		return p.corrupt(0, fmt.Sprintf("path %q in place of a znode or the end", b[4:5]), nil)
	}
	p.w.skip(len(terminator))
	return nil
}

// decodeFixed decodes what follows a znode's data and returns its ACL key.
func decodeFixed(b *[nodeFixed]byte, st *proto.StatPersisted) (aclKey int64) {
	st.Czxid = proto.Zxid(binary.BigEndian.Uint64(b[8:]))
	st.Mzxid = proto.Zxid(binary.BigEndian.Uint64(b[16:]))
	st.Ctime = int64(binary.BigEndian.Uint64(b[24:]))
	st.Mtime = int64(binary.BigEndian.Uint64(b[32:]))
	st.Version = int32(binary.BigEndian.Uint32(b[40:]))
	st.Cversion = int32(binary.BigEndian.Uint32(b[44:]))
	st.Aversion = int32(binary.BigEndian.Uint32(b[48:]))
	st.EphemeralOwner = proto.SessionID(binary.BigEndian.Uint64(b[52:]))
	st.Pzxid = proto.Zxid(binary.BigEndian.Uint64(b[60:]))
	return int64(binary.BigEndian.Uint64(b[:]))
}

// count parses the count of a table whose entries take at least minSize bytes.
func (p *parser) count(what string, minSize int64) (int64, error) {
	b, err := p.w.peek(4)
	if err != nil {
		return 0, p.short("count of "+what, err)
	}
	n := int64(int32(binary.BigEndian.Uint32(b)))
	if n < 0 || n*minSize > p.w.available() {
		return 0, p.corrupt(0, fmt.Sprintf("count of %s is %d", what, n), proto.ErrCount)
	}
	p.w.skip(4)
	return n, nil
}

// corrupt reports what is wrong at an offset into the unread bytes.
func (p *parser) corrupt(at int, what string, cause error) error {
	return &CorruptError{File: p.file, Offset: p.w.off + int64(at), What: what, Err: cause}
}

// short reports that the file ends inside something, or why it cannot be read on.
func (p *parser) short(what string, err error) error {
	var re *readError
	switch at := len(p.w.buf); {
	case err == errEnded:
		return p.corrupt(at, "ends inside "+what, nil)
	case errors.As(err, &re):
		return fmt.Errorf("snapshot: %s of %s: %w", what, p.name(), re.err)
	default:
		return p.corrupt(at, "unreadable inside "+what, err)
	}
}

func (p *parser) name() string { return cmp.Or(p.file, stream) }

// refused reports that the sink did not take a record.
func (p *parser) refused(what string, err error) error {
	return fmt.Errorf("snapshot: %s, %s at byte %d: %w", p.name(), what, p.w.off, err)
}
