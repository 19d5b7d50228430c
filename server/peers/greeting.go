package peers

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/seed94657493/warren/proto"
)

// A greeting is the first message on an election connection. The server that opens the connection sends it; there is
// no answer. Source: quorum-protocol 2.1.
const (
	greetingOne  = -65536 // protocol version: one address
	greetingMany = -65535 // protocol version: addresses joined by a bar
	greetingMax  = 2048   // bytes of the addresses

	// anonymousID is the id in the greeting of an observer without an id.
	anonymousID proto.ServerID = math.MaxInt64
)

// ErrGreeting is wrapped by every error that reports bytes that are no greeting.
var ErrGreeting = errors.New("peers: malformed greeting")

// appendGreeting appends the greeting of a server with its election addresses. Old versions understand only one
// address: the first.
func appendGreeting(b []byte, id proto.ServerID, addresses []string) []byte {
	version, text := int64(greetingOne), addresses[0]
	if all := strings.Join(addresses, "|"); len(addresses) > 1 && len(all) <= greetingMax {
		version, text = greetingMany, all
	}
	b = proto.AppendInt64(b, version)
	b = proto.AppendInt64(b, int64(id))
	return proto.AppendString(b, text)
}

// readGreeting reads a greeting and not a byte beyond it. Servers up to 3.4.5 send only their id. The addresses are
// the claim of the other server and may be wrong; the addresses of members are known from the configuration.
func readGreeting(r io.Reader) (id proto.ServerID, addresses []string, err error) {
	var b [greetingMax]byte
	if _, err := io.ReadFull(r, b[:8]); err != nil {
		return 0, nil, wrapGreeting("its version", err)
	}
	version := int64(binary.BigEndian.Uint64(b[:]))
	if version >= 0 {
		return proto.ServerID(version), nil, nil
	}
	if version != greetingOne && version != greetingMany {
		return 0, nil, fmt.Errorf("%w: unknown version %d", ErrGreeting, version)
	}
	if _, err := io.ReadFull(r, b[:12]); err != nil {
		return 0, nil, wrapGreeting("its server id", err)
	}
	id = proto.ServerID(binary.BigEndian.Uint64(b[:]))
	size := int32(binary.BigEndian.Uint32(b[8:]))
	if size <= 0 || size > greetingMax {
		return 0, nil, fmt.Errorf("%w: addresses of %d bytes from server %d, allowed are 1 to %d",
			ErrGreeting, size, id, greetingMax)
	}
	if _, err := io.ReadFull(r, b[:size]); err != nil {
		return 0, nil, wrapGreeting("its addresses", err)
	}
	return id, strings.Split(string(b[:size]), "|"), nil
}

func wrapGreeting(where string, err error) error {
	return fmt.Errorf("%w: before the end of %s: %w", ErrGreeting, where, err)
}
