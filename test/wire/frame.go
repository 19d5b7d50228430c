package wire

import (
	"encoding/binary"
	"fmt"
	"io"
)

// frameBytesMax bounds the frames a server may send. Replies are not limited by jute.maxbuffer,
// but nothing the tests store comes near this.
const frameBytesMax = 64 << 20

// AppendFrame appends the length word and payload.
func AppendFrame(b, payload []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload)))
	return append(b, payload...)
}

// WriteFrame writes one frame.
func WriteFrame(w io.Writer, payload []byte) error {
	_, err := w.Write(AppendFrame(nil, payload))
	return err
}

// ReadFrame reads one frame and returns its payload. It returns io.EOF if the peer closed between
// two frames, io.ErrUnexpectedEOF if inside one, and a *Violation for an impossible length.
func ReadFrame(r io.Reader) ([]byte, error) {
	var word [4]byte
	if _, err := io.ReadFull(r, word[:]); err != nil {
		return nil, err
	}
	n := int32(binary.BigEndian.Uint32(word[:]))
	if n < 0 || n > frameBytesMax {
		return nil, violationf("frame length %d", n)
	}
	payload := make([]byte, n)
	if _, err := io.ReadFull(r, payload); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return payload, nil
}

// Violation says that the server broke a rule of the protocol.
type Violation struct {
	Rule string
}

// Error returns the rule that was broken and how.
func (v *Violation) Error() string { return "wire: protocol violation: " + v.Rule }

func violationf(format string, args ...any) error {
	return &Violation{Rule: fmt.Sprintf(format, args...)}
}
