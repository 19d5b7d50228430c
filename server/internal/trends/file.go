package trends

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"slices"
)

// A Ring is kept in a file over a restart:
//
//	magic, version of the server, names of the figures
//	each level: length of a slot in ms, number of slots, slots: beginning, and a float32 for each figure
//	number of events, events: time, kind, text, the oldest first
//	SHA-256 of all that
//
// Texts have their length in a byte before them, numbers are big-endian. Slots that are not complete are left out.

// FileMax is how many bytes a file has at most.
const FileMax = 512 << 10

const fileMagic = "warren trends 1\n"

// errFile means that a file is not one that AppendTo has written.
var errFile = errors.New("trends: the file is damaged")

// AppendTo appends what the ring keeps, for Load. names are those of its figures.
func (r *Ring) AppendTo(b []byte, names []string, version string) []byte {
	begin := len(b)
	b = append(b, fileMagic...)
	b = appendText(b, version)
	b = append(b, byte(len(names)))
	for _, name := range names {
		b = appendText(b, name)
	}
	r.mu.Lock()
	for i := range r.levels {
		part := r.part(i)
		first, end := r.kept(i)
		b = binary.BigEndian.AppendUint32(b, uint32(levels[i].every.Milliseconds()))
		b = binary.BigEndian.AppendUint16(b, uint16(end-first))
		for n := first; n < end; n++ {
			s := &part[n%len(part)]
			b = binary.BigEndian.AppendUint64(b, uint64(s.at))
			for f := range names {
				b = binary.BigEndian.AppendUint32(b, math.Float32bits(s.values[f]))
			}
		}
	}
	first := max(0, r.told-eventsKept)
	b = binary.BigEndian.AppendUint16(b, uint16(r.told-first))
	for n := first; n < r.told; n++ {
		e := &r.events[n%eventsKept]
		b = binary.BigEndian.AppendUint64(b, uint64(e.At))
		b = appendText(appendText(b, e.Kind), e.Text)
	}
	r.mu.Unlock()
	sum := sha256.Sum256(b[begin:])
	return append(b, sum[:]...)
}

func appendText(b []byte, text string) []byte {
	text = text[:min(len(text), math.MaxUint8)]
	return append(append(b, byte(len(text))), text...)
}

// Load fills an empty ring with what a file has, and returns the version of the server that wrote it. names are those
// of the figures of the ring: the file may have others. now is in ms since 1970. What is later is left out: the clock
// was ahead when it was written, and Add would wait for that time. On an error the ring stays empty.
func (r *Ring) Load(file []byte, names []string, now int64) (version string, err error) {
	if len(file) < sha256.Size || len(file) > FileMax {
		return "", errFile
	}
	body, sum := file[:len(file)-sha256.Size], file[len(file)-sha256.Size:]
	if got := sha256.Sum256(body); !bytes.Equal(got[:], sum) {
		return "", errFile
	}
	in := &reader{rest: body}
	if string(in.take(len(fileMagic))) != fileMagic {
		return "", errFile
	}
	version = in.text()
	figures := make([]int, in.uint(1)) // the index of each figure in the ring, -1 if it has none
	for i := range figures {
		figures[i] = slices.Index(names, in.text())
	}
	loaded := New(r.folds)
	for i := range loaded.levels {
		if err := loaded.loadLevel(i, in, figures, now); err != nil {
			return "", err
		}
	}
	for range min(in.uint(2), eventsKept) {
		e := Event{At: int64(in.uint(8)), Kind: in.text(), Text: in.text()}
		if e.At < 0 {
			return "", errFile
		}
		if e.At <= now {
			loaded.Tell(e)
		}
	}
	if in.bad || len(in.rest) > 0 {
		return "", errFile
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.slots, r.events, r.told = loaded.slots, loaded.events, loaded.told
	for i := range r.levels {
		r.levels[i].done = loaded.levels[i].done
	}
	return version, nil
}

// loadLevel reads the slots of a level, and keeps those that do not begin later than now.
func (r *Ring) loadLevel(i int, in *reader, figures []int, now int64) error {
	part, every, last := r.part(i), levels[i].every.Milliseconds(), int64(0)
	if in.uint(4) != uint64(every) {
		return errFile
	}
	count := in.uint(2)
	if count > uint64(len(part)) {
		return errFile
	}
	done := 0
	for n := range count {
		s := &part[n]
		s.at = int64(in.uint(8))
		if in.bad || s.at <= last || s.at%every != 0 {
			return errFile
		}
		if last = s.at; s.at <= now {
			done++
		} else {
			s.at = 0
		}
		for f := range s.values {
			s.values[f] = unknown
		}
		for _, f := range figures {
			v := math.Float32frombits(uint32(in.uint(4)))
			if f >= 0 && f < len(r.folds) && !math.IsInf(float64(v), 0) {
				s.values[f] = v
			}
		}
	}
	if r.levels[i].done = done; int(count) == len(part) {
		r.levels[i].done += len(part) // older ones may have been lost
	}
	return nil
}

// reader takes parts of a file. Behind its end it gives zeros, and is bad.
type reader struct {
	rest []byte
	bad  bool
}

func (in *reader) take(n int) []byte {
	if n > len(in.rest) {
		in.rest, in.bad = nil, true
		return make([]byte, n)
	}
	part := in.rest[:n]
	in.rest = in.rest[n:]
	return part
}

// uint reads a number of so many bytes.
func (in *reader) uint(bytes int) (n uint64) {
	for _, b := range in.take(bytes) {
		n = n<<8 | uint64(b)
	}
	return n
}

func (in *reader) text() string { return string(in.take(int(in.uint(1)))) }
