package server

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/internal/serve"
	"github.com/seed94657493/warren/test/wire"
)

// The admin commands list the clients of the two ports apart.
func TestConnectionsByPort(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	dialWire(t, s, wire.Options{})
	plain, secure := s.facts.Connections()
	require.Len(t, plain, 1)
	require.Empty(t, secure)
	s.front.Conns.Each(func(c *serve.Conn) { c.SecurePort = true })
	plain, secure = s.facts.Connections()
	require.Empty(t, plain)
	require.Len(t, secure, 1)
	require.NotNil(t, secure[0].BoundSession)
}
