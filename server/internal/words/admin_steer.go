package words

import (
	"errors"
	"fmt"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/admin"
	"github.com/seed94657493/warren/zab"
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

const (
	// handOverWait is how long an operator's hand-over may take until this server serves again. An election, if there
	// is one after all, takes less in most cases.
	handOverWait = 10 * time.Second
	// handOverPause is the time between two looks at the role of this server.
	handOverPause = 2 * time.Millisecond
)

// HandOver implements admin.Node.
func (n AdminNode) HandOver(to int64, dry bool) (admin.HandedOver, error) {
	heir, began := proto.ServerID(to), time.Now()
	h := admin.HandedOver{From: int64(n.host.ID), To: to, Leader: int64(n.host.ID)}
	if !n.Config.Distributed() {
		return h, errNotLeading
	}
	epoch := n.host.View.Load().Epoch
	err := n.host.HandOverTo(heir, dry)
	switch v := n.host.View.Load(); {
	case errors.Is(err, zab.ErrNotLeading) && v.Serving && v.Leader == heir:
		h.From, h.Leader = to, to // it was done before
		return h, nil
	case errors.Is(err, zab.ErrNotLeading) && v.Serving && v.Leader >= 0 && v.Leader != n.host.ID:
		return h, fmt.Errorf("this server does not lead: ask server %d, which does", v.Leader)
	case errors.Is(err, zab.ErrNotLeading):
		return h, errNotLeading
	case err != nil || dry || heir == n.host.ID:
		return h, err
	}
	for time.Since(began) < handOverWait {
		if v := n.host.View.Load(); v.Serving && (v.State != zab.Leading || v.Epoch != epoch) {
			h.Leader = int64(v.Leader)
			break
		}
		time.Sleep(handOverPause)
	}
	h.TookMs = time.Since(began).Milliseconds()
	if h.Leader != to {
		return h, fmt.Errorf("server %d does not lead: it did not answer in time, or it went away", to)
	}
	return h, nil
}

var errNotLeading = errors.New("this server does not lead, or it hands over already")
