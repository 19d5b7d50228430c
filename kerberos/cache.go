package kerberos

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// cached is a credential of a ticket cache, as far as it is used.
type cached struct {
	service Principal
	ticket  ticket
}

// ticketCache is the contents of a file that kinit writes.
type ticketCache struct {
	owner   Principal
	entries []cached
}

// cacheBytesMax is the largest ticket cache that is read, in bytes.
const cacheBytesMax = 4 << 20

var errCache = errors.New("kerberos: not a ticket cache of version 3 or 4, or a damaged one")

// defaultCache is the cache that kinit writes if it is not told otherwise.
func defaultCache() string {
	if name := os.Getenv("KRB5CCNAME"); name != "" {
		return name
	}
	return fmt.Sprintf("/tmp/krb5cc_%d", os.Getuid())
}

// readCache reads a ticket cache. Only those in files can be read.
func readCache(name string) (*ticketCache, error) {
	kind, path, hasKind := strings.Cut(name, ":")
	switch {
	case !hasKind:
		path = name
	case kind != "FILE":
		return nil, fmt.Errorf("kerberos: ticket cache %s: only caches of the kind FILE can be read: set "+
			"KRB5CCNAME=FILE:... for kinit, too", name)
	}
	b, err := readFile(path, cacheBytesMax)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("kerberos: there is no ticket cache %s: run kinit", path)
	}
	if err != nil {
		return nil, fmt.Errorf("kerberos: ticket cache: %w", err)
	}
	c, err := parseCache(b)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, path)
	}
	return c, nil
}

// parseCache reads the file format of MIT Kerberos. Tickets that cannot be decoded, such as the configuration that
// MIT keeps there, are left out. The library's own reader panics on a file that is cut off.
func parseCache(b []byte) (*ticketCache, error) {
	if len(b) > cacheBytesMax || len(b) < 2 || b[0] != 5 || b[1] != 3 && b[1] != 4 {
		return nil, errCache
	}
	r := cacheReader{rest: b[2:], isOld: b[1] == 3}
	if !r.isOld {
		r.take(int(r.uint16()))
	}
	c := &ticketCache{owner: r.principal()}
	for len(r.rest) > 0 && !r.failed {
		if entry, ok := r.credential(); ok {
			entry.ticket.owner = c.owner
			c.entries = append(c.entries, entry)
		}
	}
	if r.failed {
		return nil, errCache
	}
	return c, nil
}

// cacheReader reads a ticket cache. After the first failure it returns zero values.
type cacheReader struct {
	rest   []byte
	isOld  bool // version 3
	failed bool
}

func (r *cacheReader) take(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.rest, r.failed = nil, true
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *cacheReader) uint16() uint16 {
	if b := r.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (r *cacheReader) uint32() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *cacheReader) data() []byte {
	n := r.uint32()
	if n > cacheBytesMax {
		r.failed = true
		return nil
	}
	return r.take(int(n))
}

func (r *cacheReader) time() time.Time { return time.Unix(int64(r.uint32()), 0) }

func (r *cacheReader) principal() (p Principal) {
	_ = r.uint32() // type
	n := r.uint32()
	p.Realm = string(r.data())
	for ; n > 0 && !r.failed; n-- {
		p.Components = append(p.Components, string(r.data()))
	}
	return p
}

// skipList skips addresses or authorization data: a count, and a type and data for each.
func (r *cacheReader) skipList() {
	for n := r.uint32(); n > 0 && !r.failed; n-- {
		_ = r.uint16()
		_ = r.data()
	}
}

func (r *cacheReader) credential() (c cached, ok bool) {
	_ = r.principal() // the owner
	c.service = r.principal()
	kind := int32(r.uint16())
	if r.isOld {
		_ = r.uint16() // the same again
	}
	c.ticket.key = types.EncryptionKey{KeyType: kind, KeyValue: append([]byte{}, r.data()...)}
	authenticated, from := r.time(), r.time()
	c.ticket.from, c.ticket.until = from, r.time()
	if from.Unix() == 0 {
		c.ticket.from = authenticated
	}
	c.ticket.renewable = r.time()
	_ = r.take(1 + 4) // whether it is a key of a session, flags
	r.skipList()
	r.skipList()
	text := append([]byte{}, r.data()...)
	_ = r.data() // a second ticket
	if r.failed {
		return c, false
	}
	var t messages.Ticket
	if t.Unmarshal(text) != nil {
		return c, false
	}
	c.ticket.ticket = t
	return c, true
}
