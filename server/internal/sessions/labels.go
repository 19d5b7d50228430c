package sessions

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/seed94657493/warren/proto"
)

// Labels name sessions for readers that must not know their ids: a client that knows an id can take the session over,
// unless passwords have a secret. A label is a part of an HMAC of the id with a random key. So it names the same
// session in every answer of a server until its process ends, and opens no session. Labels are immutable: any number
// of goroutines may use them.
type Labels struct{ key [sha256.Size]byte }

// NewLabels returns labels with a random key.
func NewLabels() *Labels {
	l := new(Labels)
	_, _ = rand.Read(l.key[:]) // never fails
	return l
}

func (l *Labels) sum(id proto.SessionID) []byte {
	h := hmac.New(sha256.New, l.key[:])
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(id)))
	return h.Sum(nil)
}

// Number returns the label of a session in the form of an id, with the server's part of the id; 0 for no session.
func (l *Labels) Number(id proto.SessionID) proto.SessionID {
	if id == 0 {
		return 0
	}
	return id&^numbers | proto.SessionID(binary.BigEndian.Uint64(l.sum(id))&numbers)
}

// Text returns the label of a session as text that cannot be taken for an id.
func (l *Labels) Text(id proto.SessionID) string { return "s-" + hex.EncodeToString(l.sum(id)[:6]) }
