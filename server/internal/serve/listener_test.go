package serve

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/test/must"
)

// A client port with a host name that does not resolve is bound at the last known address, if there is one.
func TestClientPortOfANameThatDoesNotResolve(t *testing.T) {
	s := New(env.New(&config.Config{}, env.Options{}), nil)
	s.known = map[string][]string{"zk-1.invalid": {"::1", "127.0.0.1"}, "localhost": {"192.0.2.1"},
		"zk-2.invalid": {"192.0.2.1"}}
	ln := must.Do(s.openClientPort("zk-1.invalid", 0, speaksPlain))(t)
	defer ln.Close()
	host, _ := must.Do2(net.SplitHostPort(ln.Addr().String()))(t)
	require.Equal(t, "127.0.0.1", host)
	_, err := s.openClientPort("zk-2.invalid", 0, speaksPlain)
	var name *net.DNSError
	require.ErrorAs(t, err, &name, "the last known address is not here any more")
	require.Equal(t, "localhost", s.toBind("localhost"))
	require.Equal(t, "other.invalid", s.toBind("other.invalid"))
}
