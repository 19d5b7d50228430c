package admin

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"net/http"

	"go.uber.org/zap"
)

// labels shows what a node tells of sessions with labels in place of their ids. A label is a number, too: the server's
// part of the id, and a part of an HMAC of the id. It names the same session in every answer until the process ends,
// and opens no session. The values that the node returns are not changed.
type labels struct {
	Node
	key []byte
}

// sessionsOf returns the node whose facts of sessions a request may see. A client that knows an id can take the
// session over, unless passwords have a secret (warren.sessionSecrets). So ids are for a request that may also have a
// snapshot, which holds the password of each session.
func (s *Server) sessionsOf(r *http.Request) Node {
	if !s.o.Node.SessionIDsOpen() {
		return s.o.Node
	}
	if r.Header.Get("Authorization") != "" {
		_, err := s.authorize(r)
		if err == nil {
			return s.o.Node
		}
		s.logRefusal("ids of sessions refused", r, zap.Error(err))
	}
	return labels{s.o.Node, s.labelKey}
}

// sessions is for commands whose answer has ids of sessions.
func sessions[T any](facts func(Node) T) func(*Server, *http.Request) answer {
	return func(s *Server, r *http.Request) answer { return answer{fields: facts(s.sessionsOf(r))} }
}

func newLabelKey() []byte {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails
	return key
}

// serverPart are the bits of an id that tell which server has created the session. Source: client-protocol 3.4.
const serverPart = 0xff << 56

func (l labels) label(id int64) int64 {
	if id == 0 {
		return 0 // no session
	}
	h := hmac.New(sha256.New, l.key)
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(id)))
	return int64(uint64(id)&serverPart | binary.BigEndian.Uint64(h.Sum(nil))&^uint64(serverPart))
}

// Connections implements Node.
func (l labels) Connections() (plain, secure []Connection) {
	plain, secure = l.Node.Connections()
	return l.connections(plain), l.connections(secure)
}

func (l labels) connections(all []Connection) []Connection {
	shown := make([]Connection, len(all))
	for i, c := range all {
		if c.BoundSession != nil {
			bound := *c.BoundSession
			bound.ID = l.label(bound.ID)
			c.BoundSession = &bound
		}
		shown[i] = c
	}
	return shown
}

// Sessions implements Node.
func (l labels) Sessions() Sessions {
	all := l.Node.Sessions()
	shown := Sessions{map[int64][]int64{}, map[int64][]string{}}
	for at, ids := range all.Expiry {
		for _, id := range ids {
			shown.Expiry[at] = append(shown.Expiry[at], l.label(id))
		}
	}
	for id, paths := range all.Ephemerals {
		shown.Ephemerals[l.label(id)] = paths
	}
	return shown
}

// Watches implements Node.
func (l labels) Watches() []Watch {
	all := l.Node.Watches()
	shown := make([]Watch, len(all))
	for i, w := range all {
		shown[i] = Watch{l.label(w.Session), w.Path}
	}
	return shown
}
