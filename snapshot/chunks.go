package snapshot

import (
	"hash/adler32"
	"io"
	"sync"
)

const (
	chunkBytes = 256 << 10 // how much is read and summed at a time
	chunkMin   = 4 << 10
	chunkCount = 3 // one is with the parser, one is ready, one is being filled
)

// chunk is a run of consecutive bytes of a file, uncompressed.
type chunk struct {
	data []byte
	sum  uint32 // Adler-32 of the file up to the end of data
	err  error  // why nothing follows: io.EOF at the end of the file; nil if more does
}

// chunks reads a file ahead of its parser, on a goroutine of its own, which also sums the bytes: reading,
// decompressing and summing take about as long as parsing.
type chunks struct {
	ready chan chunk
	free  chan []byte
	stop  chan struct{}
	done  sync.WaitGroup
	cur   chunk // with the parser
}

// readChunks starts reading r in pieces of size bytes. The caller must call close.
func readChunks(r io.Reader, size int) *chunks {
	c := &chunks{
		ready: make(chan chunk, chunkCount),
		free:  make(chan []byte, chunkCount),
		stop:  make(chan struct{}),
	}
	for range chunkCount {
		c.free <- nil // allocated at the first use: a small file needs only one
	}
	c.done.Go(func() { c.fill(r, size) })
	return c
}

func (c *chunks) fill(r io.Reader, size int) {
	h := adler32.New()
	for {
		var buf []byte
		select {
		case buf = <-c.free:
		case <-c.stop:
			return
		}
		if buf == nil {
			buf = make([]byte, size)
		}
		n, err := readPiece(r, buf[:size])
		h.Write(buf[:n])
		c.ready <- chunk{data: buf[:n], sum: h.Sum32(), err: err} // never blocks: as many places as buffers
		if err != nil {
			return
		}
	}
}

// readPiece reads until buf is full or r has no more. Unlike io.ReadFull it returns the error of r unchanged, so
// that the end of a file differs from a compressed stream that breaks off.
func readPiece(r io.Reader, buf []byte) (n int, err error) {
	for idle := 0; n < len(buf) && err == nil; {
		var k int
		k, err = r.Read(buf[n:])
		n += k
		if k > 0 {
			idle = 0
		} else if idle++; idle == 100 && err == nil {
			err = io.ErrNoProgress
		}
	}
	return n, err
}

// next returns the bytes of the next chunk and returns the chunk before to the reader.
func (c *chunks) next(int) ([]byte, error) {
	if c.cur.err != nil {
		return nil, c.cur.err
	}
	if c.cur.data != nil {
		c.free <- c.cur.data[:cap(c.cur.data)]
	}
	c.cur = <-c.ready
	if len(c.cur.data) == 0 {
		return nil, c.cur.err
	}
	return c.cur.data, nil
}

// sumBefore returns the Adler-32 of the file up to the first unread byte of w, which reads from c.
func (c *chunks) sumBefore(w *window) uint32 {
	return adlerBefore(adlerBefore(c.cur.sum, w.rest), w.buf)
}

// close ends the goroutine and waits for it.
func (c *chunks) close() {
	close(c.stop)
	c.done.Wait()
}
