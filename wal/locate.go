package wal

import (
	"fmt"

	"github.com/seed94657493/warren/proto"
)

// Place is where a zxid lies in the log.
type Place struct {
	At   proto.Zxid // the largest one in the log that is not above it
	Next proto.Zxid // the smallest one above it; 0 if there is none that is synced
	Rest int64      // bytes of the log from the file that holds At to its end, about
}

// Locate finds the place of z among the synced records. ok is false if the log does not reach down to z, or if that part
// of it was not verified when the server started. It reads one file at most. Any goroutine may call it after Replay.
// Source: quorum-protocol 6.3 rule 4.
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
	if err := l.scanPlace(&segments[i], z, &p); err != nil {
		return Place{}, false, err
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

// scanPlace looks for z in one file.
func (l *Log) scanPlace(s *segment, z proto.Zxid, p *Place) error {
	path := l.o.path(s.name)
	f, err := l.o.FS.Open(path)
	if err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	defer f.Close()
	sc, err := newScanner(f, path, s.end, 0, nil)
	if err != nil {
		return err
	}
	var r Record
	for {
		ok, err := sc.next(&r)
		switch {
		case err != nil || !ok:
			return err
		case r.Zxid > z:
			p.Next = r.Zxid
			return nil
		}
		p.At = r.Zxid
	}
}
