package words

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/seed94657493/warren/datatree/watch"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/serve"
)

func (s *Reporter) wordWchs(_ *serve.Conn, out *bytes.Buffer) {
	s.Store.Mu.RLock()
	s.front.Watchers.Mu.Lock()
	watchers, paths, total := s.front.Watchers.Registry.CountData()
	s.front.Watchers.Mu.Unlock()
	s.Store.Mu.RUnlock()
	fmt.Fprintf(out, "%d connections watching %d paths\nTotal watches:%d\n", watchers, paths, total)
}

// dataWatches is the data watches as pairs of session and path.
func (s *Reporter) dataWatches() (pairs []watchPair) {
	s.Store.Mu.RLock()
	defer s.Store.Mu.RUnlock()
	s.front.Watchers.Mu.Lock()
	defer s.front.Watchers.Mu.Unlock()
	s.front.Watchers.Registry.Each(func(id watch.WatcherID, path []byte) {
		if c := s.front.Watchers.Slots[id]; c != nil && c.Session.Load() != nil {
			pairs = append(pairs, watchPair{c.Session.Load().ID, string(path)})
		}
	})
	return pairs
}

type watchPair struct {
	session proto.SessionID
	path    string
}

func (s *Reporter) wordWchc(_ *serve.Conn, out *bytes.Buffer) {
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

func (s *Reporter) wordWchp(_ *serve.Conn, out *bytes.Buffer) {
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
