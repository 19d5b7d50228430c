package admin

import (
	"io"
	"net/http"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/server/internal/orders"
)

// answer is the result of a command.
type answer struct {
	// fields is a record whose keys come first in the answer; nil for none.
	fields any
	// failure is the command's own error; it replaces the fields.
	failure string
	// status is the HTTP status; 0 is 200.
	status int
	// after is when the command may be given again, for the header Retry-After; 0 for no such header.
	after time.Duration
	// snapshot is announced in the headers, and is the body if stream is set.
	snapshot *orders.Snapshot
	stream   bool
}

// encode returns the whole answer of a command. Source: operations 3.2.
func (a answer) encode(command string) ([]byte, error) {
	text := []byte{'{'}
	switch {
	case a.failure != "":
		text = appendText(appendKey(text, "error"), a.failure)
		text = append(text, ',')
		text = appendText(appendKey(text, "command"), command)
		return lay(nil, append(text, '}')), nil
	case a.fields != nil:
		fields, err := compact(a.fields)
		if err != nil {
			return nil, err
		}
		if fields = fields[1 : len(fields)-1]; len(fields) > 0 { // between the braces
			text = append(append(text, fields...), ',')
		}
	}
	text = append(appendText(appendKey(text, "command"), command), ',')
	text = append(appendKey(text, "error"), "null}"...)
	return lay(nil, text), nil
}

// outcome returns the answer to a request that reaches no command: the keys command and error.
func outcome(command, text string) []byte {
	b := appendText(appendKey([]byte{'{'}, "command"), command)
	b = appendText(appendKey(append(b, ','), "error"), text)
	return lay(nil, append(b, '}'))
}

func (s *Server) send(w http.ResponseWriter, status int, text []byte) {
	s.extend(w) // the command may have taken long
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client may have disconnected
}

// stream writes the bytes of a snapshot; the client must take every piece within answerTimeout.
func (s *Server) stream(w http.ResponseWriter, snap *orders.Snapshot) {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.FormatInt(snap.Size, 10))
	piece := make([]byte, pieceBytes)
	for sent := int64(0); sent < snap.Size; {
		n, err := io.ReadFull(snap.Body, piece[:min(int64(len(piece)), snap.Size-sent)])
		if err != nil {
			s.o.Log.Error("reading a snapshot for a client", zap.Int64("offset", sent), zap.Error(err))
			panic(http.ErrAbortHandler) // the client must not take it for a complete snapshot
		}
		s.extend(w)
		if _, err := w.Write(piece[:n]); err != nil {
			s.o.Log.Info("client did not take the snapshot", zap.Int64("offset", sent), zap.Error(err))
			return
		}
		sent += int64(n)
	}
}
