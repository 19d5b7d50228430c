package snapshot

import (
	"fmt"
	"io"
	"math"
)

// streamSlice is how much of a body WriteStream gathers for one write.
const streamSlice = 256 << 10

// WriteStream writes the body that src produces, with its terminator, and nothing else. A leader sends that after
// SNAP, before the closing word of the quorum protocol. It does not call src.End. It returns the error of w.
// Source: storage 10.2.
func WriteStream(w io.Writer, src Source) error {
	b := make([]byte, 0, streamSlice+streamSlice/4)
	for done := false; !done; {
		b, done = gather(b[:0], src, streamSlice)
		if _, err := w.Write(b); err != nil {
			return fmt.Errorf("snapshot: write stream: %w", err)
		}
	}
	return nil
}

// gather appends slices of src to b until it holds at least size bytes or the body is complete.
func gather(b []byte, src Source, size int) (out []byte, done bool) {
	for !done && len(b) < size {
		b, done = src.Next(b)
	}
	return b, done
}

// ReadStream reads a body from r into sink and stops after its terminator: it reads no byte beyond, so r should
// be a buffered reader. An error of r comes back wrapped; bytes that are no body are ErrCorrupt. Memory is
// bounded by the longest record that really arrives.
func ReadStream(r io.Reader, sink Sink) error {
	p := parser{w: newStreamWindow(r), sink: sink}
	return p.body()
}

// newStreamWindow returns a window over r that reads exactly what is peeked.
func newStreamWindow(r io.Reader) *window {
	piece := make([]byte, 64<<10)
	return &window{
		next: func(max int) ([]byte, error) {
			n, err := io.ReadFull(r, piece[:min(max, len(piece))])
			switch {
			case n > 0:
				return piece[:n], nil // the bytes first; an error comes back with the next call
			case err == io.EOF:
				return nil, err
			default:
				return nil, &readError{err}
			}
		},
		limit: math.MaxInt64,
	}
}

// readError marks a failure of the disk or the connection, which says nothing about the bytes.
type readError struct{ err error }

func (e *readError) Error() string { return e.err.Error() }
func (e *readError) Unwrap() error { return e.err }
