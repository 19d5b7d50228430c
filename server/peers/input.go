package peers

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/seed94657493/warren/proto"
)

// input turns the bytes of a connection into packets. It reads into large pieces of memory (chunks) and returns
// packets that alias them. The memory of a packet with data is never written again, so one allocation serves many
// packets. Only the reader uses it.
type input struct {
	r     io.Reader
	chunk []byte // [0,from) was returned as packets, [from,to) was read, the rest is free
	from  int
	to    int
	lent  bool // a packet that was returned aliases chunk[:from]
	size  int  // of the next chunk
	max   int  // of a chunk, unless one packet needs more
	limit int  // of the data of a packet
	bytes uint64
}

// readMin is the room in a chunk below which reading goes on in a new one.
const readMin = 2 << 10

// next appends complete packets to batch, up to its capacity. It reads until there is at least one.
func (in *input) next(batch []Packet) ([]Packet, error) {
	for {
		for len(batch) < cap(batch) {
			var p Packet
			n, err := p.decode(in.chunk[in.from:in.to], in.limit)
			if err == nil && n > 0 {
				err = p.check()
			}
			if err != nil {
				return batch, err
			}
			if n == 0 {
				break
			}
			in.from += n
			in.lent = in.lent || len(p.Data) > 0 || p.Authinfo != nil
			batch = append(batch, p)
			if p.Type == proto.PacketSnap {
				return batch, nil // a body follows, which is no packet
			}
		}
		if len(batch) > 0 {
			return batch, nil
		}
		if err := in.fill(); err != nil {
			return batch, err
		}
	}
}

// fill reads once.
func (in *input) fill() error {
	in.room()
	n, err := in.r.Read(in.chunk[in.to:])
	in.to += n
	in.bytes += uint64(n)
	if in.to == len(in.chunk) {
		in.size = min(2*in.size, in.max) // there was more than room
	}
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// room makes room to read, at least readMin. An incomplete packet moves to a chunk that doubles as the packet
// arrives.
func (in *input) room() {
	rest := in.to - in.from
	if !in.lent && in.from > 0 {
		copy(in.chunk, in.chunk[in.from:in.to])
		in.from, in.to = 0, rest
	}
	if len(in.chunk)-in.to >= readMin {
		return
	}
	packetMax := packetHead + in.limit + authinfoMax
	chunk := make([]byte, max(in.size, min(2*rest, packetMax+readMin)))
	copy(chunk, in.chunk[in.from:in.to])
	in.chunk, in.from, in.to, in.lent = chunk, 0, rest, false
}

// Read reads bytes that are no packet: the body of a snapshot.
func (in *input) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if in.from == in.to {
		if err := in.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(b, in.chunk[in.from:in.to])
	in.from += n
	return n, nil
}

// signature ends the body of a snapshot. Source: quorum-protocol 6.5.
const signature = "BenWasHere"

func appendSignature(b []byte) []byte { return proto.AppendString(b, signature) }

// checkSignature reads the signature.
func (in *input) checkSignature() error {
	var b [4 + len(signature)]byte
	if _, err := io.ReadFull(in, b[:]); err != nil {
		return fmt.Errorf("peers: snapshot: before its signature: %w", err)
	}
	if n := binary.BigEndian.Uint32(b[:]); n != uint32(len(signature)) || string(b[4:]) != signature {
		return fmt.Errorf("%w: a snapshot ends with %x instead of its signature", ErrPacket, b)
	}
	return nil
}
