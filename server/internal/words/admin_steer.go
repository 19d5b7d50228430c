package words

import (
	"errors"

	"github.com/seed94657493/warren/server/admin"
)

// errNoOtherServer is why a server is not drained.
var errNoOtherServer = errors.New("clients have no other server: this one is not a member of an ensemble that serves")

// ShedConnections implements admin.Node.
func (n AdminNode) ShedConnections(percent int) int { return n.front.Shed(percent) }

// Drain implements admin.Node.
func (n AdminNode) Drain(rate int, dry bool) error {
	switch r, ok := n.Role(); {
	case rate == 0 && dry:
	case rate == 0:
		n.front.Undrain()
	case !ok || r.ReadOnly || len(n.Membership().Members) < 2:
		return errNoOtherServer
	case dry:
	default:
		n.front.Drain(rate)
	}
	return nil
}

// Draining implements admin.Node.
func (n AdminNode) Draining() bool {
	_, on := n.front.Draining()
	return on
}

// Drained implements admin.Node.
func (n AdminNode) Drained() admin.Drained {
	rate, on := n.front.Draining()
	return admin.Drained{Draining: on, Clients: n.front.Clients(), Rate: rate}
}
