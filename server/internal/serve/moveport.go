package serve

import (
	"net"
	"net/netip"
	"strconv"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/server/config"
)

// MoveClientPort opens a client port where the server line has it now, and closes it where it was. Connections that stand go on.
// Source: quorum-protocol 11.5.
func (s *Front) MoveClientPort(to config.HostPort, key string, speaks language) {
	if to.Port == config.PortUnset || speaks == SpeaksTLS && s.Security.tls == nil {
		return
	}
	old := s.ClientListener(speaks)
	if old != nil && sameAddress(old.asked, to) {
		return
	}
	ln, err := s.openClientPort(to.Host, to.Port, speaks)
	if err != nil && old != nil && old.asked.Port == to.Port { // the old one stands in the way
		_ = old.Close()
		if ln, err = s.openClientPort(to.Host, to.Port, speaks); err != nil {
			s.Log.Error("the client port cannot be opened on the host of the configuration", zap.String("port", key), zap.Error(err))
			ln, err = s.openClientPort(old.asked.Host, old.asked.Port, speaks)
		}
	}
	if err != nil {
		s.Log.Error("the client port of the configuration cannot be opened: clients are served where they were", zap.String("port", key),
			zap.Error(err))
		return
	}
	if !s.replaceListener(old, ln) || !s.Spawn("accept", func() { s.accept(ln) }) {
		_ = ln.Close()
	}
}

// sameAddress reports whether two client addresses are the same. No host is every host.
func sameAddress(a, b config.HostPort) bool {
	return a.Port == b.Port && (a.Host == b.Host || anyHost(a.Host) && anyHost(b.Host))
}

func anyHost(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "" || err == nil && addr.IsUnspecified()
}

// hostPort is for net.Listen.
func hostPort(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }
