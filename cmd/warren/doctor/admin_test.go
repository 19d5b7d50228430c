package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// portOf returns the port of a test server.
func portOf(t *testing.T, web *httptest.Server) int {
	t.Helper()
	return web.Listener.Addr().(*net.TCPAddr).Port
}

// An admin port is asked by HTTPS if there is a TLS configuration, by HTTP if there is none, and by HTTP if it does
// not speak TLS.
func TestAdminPort(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`{"myid":3,"client_port":2181,"zabstate":"election"}`))
	})
	secure, plain := httptest.NewTLSServer(handler), httptest.NewServer(handler)
	defer secure.Close()
	defer plain.Close()
	trusting := func(string) (*tls.Config, error) {
		return secure.Client().Transport.(*http.Transport).TLSClientConfig.Clone(), nil
	}
	ask := func(web *httptest.Server, cfg func(string) (*tls.Config, error)) (*ZabState, error) {
		p := &AdminPort{Port: portOf(t, web), Timeout: 10 * time.Second, TLS: cfg}
		return p.ZabState(t.Context(), "127.0.0.1:2181")
	}
	for _, web := range []*httptest.Server{secure, plain} {
		require.Equal(t, int64(3), must.Do(ask(web, trusting))(t).ID)
	}
	require.Equal(t, int64(3), must.Do(ask(plain, nil))(t).ID)
	require.ErrorContains(t, must.Err(ask(secure, nil)), "answers 400 Bad Request")
	_, err := ask(secure, func(string) (*tls.Config, error) { return &tls.Config{}, nil })
	var unknown *tls.CertificateVerificationError
	require.ErrorAs(t, err, &unknown, "a certificate that is not trusted is no reason to ask without TLS")
	broken := errors.New("no such file")
	require.ErrorIs(t, must.Err(ask(plain, func(string) (*tls.Config, error) { return nil, broken })), broken)
	_, err = (&AdminPort{Port: portOf(t, plain), Timeout: time.Second}).ZabState(t.Context(), "127.0.0.1:2182")
	require.ErrorIs(t, err, errOtherServer)
	_, err = (&AdminPort{}).Get(context.Background(), "127.0.0.1:"+strconv.Itoa(1), "/readyz")
	require.ErrorIs(t, err, errNoAdminPort)
}
