package server

import (
	"time"

	"github.com/seed94657493/warren/proto"
)

// Occupy makes one turn of the host last for d, and returns when it has ended.
func (s *Server) Occupy(d time.Duration) {
	done := make(chan struct{})
	if s.member.Do(func() { time.Sleep(d); close(done) }) {
		<-done
	}
}

// Stray adds a znode to the tree of this server only, as a bug or a flipped bit would.
func (s *Server) Stray(path string) error {
	s.Store.Mu.Lock()
	defer s.Store.Mu.Unlock()
	h := proto.TxnHeader{Zxid: s.Store.State.LastZxid(), Type: proto.OpCreate}
	body := proto.CreateTxn{Path: proto.Text(path),
		Acl: []proto.ACL{{Perms: proto.PermAll, Id: proto.ID{Scheme: proto.Text("world"), Id: proto.Text("anyone")}}}}
	_, _, err := s.Store.State.Apply(body.AppendTo(h.AppendTo(nil)), nil, nil, false)
	return err
}
