package server

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/seed94657493/warren/datatree/watch"
	"github.com/seed94657493/warren/proto"
)

func (s *monitor) wordWchs(_ *conn, out *bytes.Buffer) {
	s.store.mu.RLock()
	s.store.watchMu.Lock()
	watchers, paths, total := s.store.watches.CountData()
	s.store.watchMu.Unlock()
	s.store.mu.RUnlock()
	fmt.Fprintf(out, "%d connections watching %d paths\nTotal watches:%d\n", watchers, paths, total)
}

// dataWatches is the data watches as pairs of session and path.
func (s *monitor) dataWatches() (pairs []watchPair) {
	s.store.mu.RLock()
	defer s.store.mu.RUnlock()
	s.store.watchMu.Lock()
	defer s.store.watchMu.Unlock()
	s.store.watches.Each(func(id watch.WatcherID, path []byte) {
		if c := s.store.slots[id]; c != nil && c.session.Load() != nil {
			pairs = append(pairs, watchPair{c.session.Load().ID, string(path)})
		}
	})
	return pairs
}

type watchPair struct {
	session proto.SessionID
	path    string
}

func (s *monitor) wordWchc(_ *conn, out *bytes.Buffer) {
	pairs := s.dataWatches()
	slices.SortFunc(pairs, func(a, b watchPair) int {
		return cmp.Or(cmp.Compare(a.session, b.session), cmp.Compare(a.path, b.path))
	})
	for i, p := range pairs {
		if i == 0 || pairs[i-1].session != p.session {
			fmt.Fprintf(out, "%v\n", p.session)
		}
		fmt.Fprintf(out, "\t%s\n", p.path)
	}
	out.WriteByte('\n')
}

func (s *monitor) wordWchp(_ *conn, out *bytes.Buffer) {
	pairs := s.dataWatches()
	slices.SortFunc(pairs, func(a, b watchPair) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.session, b.session))
	})
	for i, p := range pairs {
		if i == 0 || pairs[i-1].path != p.path {
			fmt.Fprintf(out, "%s\n", p.path)
		}
		fmt.Fprintf(out, "\t%v\n", p.session)
	}
	out.WriteByte('\n')
}
