package peers

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// Frames of the election channel are a length and a payload; every payload of at least notificationMin bytes is a
// notification. Probes and their answers, which only Warren has, are shorter: a server in Java drops a payload that
// is too short for a vote and goes on.
const (
	frameMax         = 512 << 10  // bytes of a payload. Source: quorum-protocol 2.3
	notificationMin  = 28         // up to 3.3: state, leader, zxid, round
	notificationOld  = 40         // 3.4: with peer epoch, and a version that is not read
	notificationSize = 44         // since 3.5: with version and length of the configuration
	probeSize        = 12         // magic, nonce
	probeReplySize   = 24         // magic, nonce, zxid, acceptedEpoch
	probeMagic       = 0x57725051 // "WrPQ"
	probeReplyMagic  = 0x57725041 // "WrPA"
)

// ErrFrame is wrapped by every error that reports bytes that are no frame of the election channel.
var ErrFrame = errors.New("peers: malformed election frame")

// appendElection appends the frame of m, which is a Notification, Probe or ProbeReply. It appends nothing for other
// types. Source: quorum-protocol 3.1.
func appendElection(b []byte, m *zab.Message) []byte {
	switch m.Type {
	case zab.Notification:
		at := len(b)
		b = append(b, 0, 0, 0, 0)
		b = proto.AppendInt32(b, int32(m.State))
		b = proto.AppendInt64(b, int64(m.Vote.Leader))
		b = proto.AppendInt64(b, int64(m.Vote.Zxid))
		b = proto.AppendInt64(b, m.Round)
		b = proto.AppendInt64(b, m.Vote.Epoch)
		b = proto.AppendInt32(b, m.Version)
		b = proto.AppendInt32(b, int32(len(m.Config)))
		b = append(b, m.Config...)
		if m.Lineage != nil {
			b = appendFlags(b, &zab.Message{Lineage: m.Lineage})
		}
		binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	case zab.Probe:
		b = proto.AppendInt32(b, probeSize)
		b = proto.AppendInt32(b, probeMagic)
		b = binary.BigEndian.AppendUint64(b, m.Nonce)
	case zab.ProbeReply:
		b = proto.AppendInt32(b, probeReplySize)
		b = proto.AppendInt32(b, probeReplyMagic)
		b = binary.BigEndian.AppendUint64(b, m.Nonce)
		b = proto.AppendInt64(b, int64(m.Zxid))
		b = proto.AppendInt32(b, int32(min(m.Epoch, math.MaxInt32)))
	}
	return b
}

// decodeElection reads the payload of one frame into m, which does not alias it. ok is false for frames that this
// server has to drop. Source: quorum-protocol 3.1, receiver rules.
func decodeElection(b []byte, m *zab.Message) (ok bool, err error) {
	r := proto.NewReader(b)
	if len(b) < notificationMin {
		return decodeProbe(b, m), nil
	}
	*m = zab.Message{Type: zab.Notification, State: zab.State(r.Int32())}
	m.Vote.Leader = proto.ServerID(r.Int64())
	m.Vote.Zxid = proto.Zxid(r.Int64())
	m.Round = r.Int64()
	switch len(b) {
	case notificationMin:
		m.Vote.Epoch = m.Vote.Zxid.Epoch()
		return true, nil
	case notificationOld:
		m.Vote.Epoch = r.Int64()
		return true, nil
	}
	m.Vote.Epoch = r.Int64()
	m.Version = r.Int32()
	if err := r.Err(); err != nil || m.Version < 2 {
		return err == nil, wrapFrame(b, err)
	}
	config := r.Buffer()
	if err := r.Err(); err != nil {
		return false, wrapFrame(b, err)
	}
	if config == nil {
		return false, wrapFrame(b, errNullConfig)
	}
	m.Config = bytes.Clone(config)
	var trailer zab.Message
	readTrailer(b, notificationSize+len(config), &trailer)
	m.Lineage = trailer.Lineage
	return true, nil
}

var errNullConfig = errors.New("its configuration is null")

func wrapFrame(b []byte, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: notification of %d bytes: %w", ErrFrame, len(b), err)
}

func decodeProbe(b []byte, m *zab.Message) bool {
	if len(b) < probeSize {
		return false
	}
	switch magic := binary.BigEndian.Uint32(b); {
	case magic == probeMagic && len(b) == probeSize:
		*m = zab.Message{Type: zab.Probe, Nonce: binary.BigEndian.Uint64(b[4:])}
		return true
	case magic == probeReplyMagic && len(b) == probeReplySize:
		*m = zab.Message{Type: zab.ProbeReply, Nonce: binary.BigEndian.Uint64(b[4:]),
			Zxid: proto.Zxid(binary.BigEndian.Uint64(b[12:])), Epoch: int64(int32(binary.BigEndian.Uint32(b[20:])))}
		return true
	}
	return false
}
