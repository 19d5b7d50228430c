package meta

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strings"

	"github.com/seed94657493/warren/proto"
)

// unset is an epoch that was never set: for ZooKeeper, a file that is missing. It is not 0, which
// a member that has seen no leader writes.
const unset int64 = -1

// record is all that must not be lost, as one value: so no part of it can be lost alone.
type record struct {
	accepted, current int64 // or unset
	blank             bool
	identity          Identity
	config            Config
	hasConfig         bool
	sessionBase       int64  // stored under a key of its own; 0 if it was never set
	lineage           string // stored under a key of its own
	addresses         string // see formatAddresses; stored under a key of its own, and may be lost
}

func (r *record) epochs() Epochs {
	return Epochs{Accepted: max(r.accepted, 0), Current: max(r.current, 0)}
}

// Versions of the encoding. A reader refuses any other. The two differ only in whether the server is blank, so
// that an older release, which knows only the first, does not take a blank server for one that counts.
const (
	recordFormat = 1
	blankFormat  = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// storedID changes an id between what it is and what a record holds, in both directions: 0 in a record is NoServer,
// and -1 is server 0. Records are older than servers with the id 0.
func storedID(id int64) int64 {
	if id == 0 || id == -1 {
		return -1 - id
	}
	return id
}

// encode returns format, fields and the CRC-32C of both.
func (r *record) encode() []byte {
	format := int32(recordFormat)
	if r.blank {
		format = blankFormat
	}
	b := proto.AppendInt32(nil, format)
	b = proto.AppendInt64(b, r.accepted)
	b = proto.AppendInt64(b, r.current)
	b = proto.AppendInt64(b, storedID(int64(r.identity.ServerID)))
	b = proto.AppendString(b, r.identity.Instance)
	b = proto.AppendInt64(b, r.identity.CreatedMs)
	b = proto.AppendBool(b, r.hasConfig)
	b = proto.AppendInt64(b, int64(r.config.Version))
	b = proto.AppendString(b, r.config.Text)
	return seal(b)
}

func (r *record) decode(b []byte) error {
	b, err := unseal(b)
	if err != nil {
		return err
	}
	d := proto.NewReader(b)
	format := d.Int32()
	if d.Err() == nil && format != recordFormat && format != blankFormat {
		return fmt.Errorf("format %d of the record is unknown, want %d or %d", format, recordFormat, blankFormat)
	}
	r.blank = format == blankFormat
	r.accepted = d.Int64()
	r.current = d.Int64()
	r.identity.ServerID = proto.ServerID(storedID(d.Int64()))
	r.identity.Instance = d.Text().String()
	r.identity.CreatedMs = d.Int64()
	r.hasConfig = d.Bool()
	r.config.Version = proto.Zxid(d.Int64())
	r.config.Text = d.Text().String()
	if d.Err() != nil {
		return d.Err()
	}
	if r.accepted < unset || r.current < unset {
		return fmt.Errorf("epochs %d and %d", r.accepted, r.current)
	}
	return nil
}

// formatAddresses returns the text of addresses by host name: a line for each name, with the name and then its
// addresses, separated by spaces.
func formatAddresses(addresses map[string][]string) string {
	var b strings.Builder
	for _, host := range slices.Sorted(maps.Keys(addresses)) {
		b.WriteString(strings.Join(append([]string{host}, addresses[host]...), " ") + "\n")
	}
	return b.String()
}

// parseAddresses is the inverse of formatAddresses.
func parseAddresses(text string) map[string][]string {
	addresses := map[string][]string{}
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 1 {
			addresses[words[0]] = words[1:]
		}
	}
	return addresses
}

// encode returns the value of a catalogue entry. Its key is the name, which is also in the value so that the
// checksum covers it.
func (s *Snapshot) encode() []byte {
	b := proto.AppendString(nil, s.Name)
	b = proto.AppendInt64(b, int64(s.Zxid))
	b = proto.AppendInt64(b, s.Size)
	b = proto.AppendInt32(b, int32(s.Checksum))
	b = proto.AppendInt64(b, s.VerifiedMs)
	return seal(b)
}

func (s *Snapshot) decode(b []byte) error {
	b, err := unseal(b)
	if err != nil {
		return err
	}
	d := proto.NewReader(b)
	*s = Snapshot{Name: d.Text().String(), Zxid: proto.Zxid(d.Int64()), Size: d.Int64(),
		Checksum: uint32(d.Int32()), VerifiedMs: d.Int64()}
	return d.Err()
}

var errChecksum = errors.New("checksum of a record does not match")

func seal(b []byte) []byte {
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func unseal(b []byte) ([]byte, error) {
	n := len(b) - 4
	if n < 0 || binary.BigEndian.Uint32(b[n:]) != crc32.Checksum(b[:n], castagnoli) {
		return nil, errChecksum
	}
	return b[:n], nil
}
