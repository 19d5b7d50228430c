package wal

import (
	"fmt"

	"github.com/seed94657493/warren/proto"
)

// Place is the position of a zxid in the log.
type Place struct {
	At   proto.Zxid // the largest one in the log that is not above it
	Txn  []byte     // a copy of the payload, if the txn that was looked for is there, so At is its zxid
	Next proto.Zxid // the smallest one above it; 0 if there is no synced one
	Rest int64      // bytes of the log from the file that holds At to its end, about
}

// Locate finds the place of z among the synced records. ok is false if the log does not reach down to z, or if it
// is not known to be without a gap from z on. Above the state that the log continues there is no gap: Replay and
// Append make sure of that. Below it, files may be left from before a snapshot was installed; there the log
// counts only if it holds every number of one epoch up to that state. Locate reads about markEvery bytes of one
// file, or from z to that state. Any goroutine may call it after Replay. Source: quorum-protocol 6.3 rule 4.
func (l *Log) Locate(z proto.Zxid) (p Place, ok bool, err error) {
	if err := l.failed.Load(); err != nil {
		return Place{}, false, *err
	}
	l.mu.Lock()
	segments := make([]segment, len(l.mu.segments)) // values, as the ends move
	for i, s := range l.mu.segments {
		segments[i] = *s
	}
	l.mu.Unlock()
	i := 0
	for i+1 < len(segments) && segments[i+1].first <= z {
		i++
	}
	if len(segments) == 0 || segments[i].first > z || segments[i].end <= headerSize {
		return Place{}, false, nil
	}
	base := proto.Zxid(l.base.Load())
	reached, err := l.scanPlace(&segments[i], z, base, &p)
	if err != nil {
		return Place{}, false, err
	}
	if p.At < base && !reached {
		return Place{}, false, nil
	}
	for _, s := range segments[i+1:] {
		if p.Next == 0 && s.end > headerSize {
			p.Next = s.first
		}
		p.Rest += max(0, s.end)
	}
	p.Rest += segments[i].end
	return p, p.At != 0, nil
}

// scanPlace looks for z in one file. reached says whether the file holds every txn from the one found up to base.
func (l *Log) scanPlace(s *segment, z, base proto.Zxid, p *Place) (reached bool, err error) {
	path := l.o.path(s.name)
	f, err := l.o.FS.Open(path)
	if err != nil {
		return false, fmt.Errorf("wal: %w", err)
	}
	defer f.Close()
	sc, err := newScanner(f, path, s.end, 0, nil)
	if err != nil {
		return false, err
	}
	sc.off = s.marks.before(z)
	var r Record
	for prev := proto.Zxid(0); ; prev = r.Zxid {
		ok, err := sc.nextNew(&r)
		switch {
		case err != nil || !ok:
			return prev >= base, err
		case r.Zxid <= z:
			if p.At = r.Zxid; p.At == z {
				p.Txn = append([]byte(nil), r.Payload...)
			}
			continue
		case p.Next == 0:
			p.Next = r.Zxid
		}
		switch {
		case p.At >= base, prev >= base:
			return true, nil
		case r.Zxid != prev && r.Zxid != prev+1:
			return false, nil
		}
	}
}
