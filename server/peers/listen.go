package peers

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/zab"
)

// listen reads the frames of one connection until it ends.
func (c *channel) listen(nc net.Conn) error {
	p := c.e.p
	r := bufio.NewReaderSize(nc, 4<<10)
	var frame []byte
	for {
		var head [4]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return err
		}
		size := int32(binary.BigEndian.Uint32(head[:]))
		if size <= 0 || size > frameMax {
			return fmt.Errorf("%w: length %d, allowed are 1 to %d", ErrFrame, size, frameMax)
		}
		var err error
		if frame, err = readGrowing(r, frame, int(size)); err != nil {
			return err
		}
		c.mu.Lock()
		c.mu.owed = c.mu.owed && c.mu.conn != nc
		c.mu.Unlock()
		var m zab.Message
		ok, err := decodeElection(frame, &m)
		if err != nil {
			p.log.Debug("dropping election frame", zap.Int64("peer_id", int64(c.peer)), zap.Error(err))
		}
		if ok {
			m.From, m.To = c.peer, p.cfg.ID
			p.cfg.Handler.Election(m)
		}
	}
}

// readGrowing reads n bytes into b, whose memory grows with the bytes that arrive.
func readGrowing(r io.Reader, b []byte, n int) ([]byte, error) {
	b = b[:0]
	for len(b) < n {
		if len(b) == cap(b) {
			b = append(b, make([]byte, min(n-len(b), max(4<<10, len(b))))...)[:len(b)]
		}
		m, err := io.ReadFull(r, b[len(b):min(n, cap(b))])
		b = b[:len(b)+m]
		if err != nil {
			return b, err
		}
	}
	return b, nil
}
