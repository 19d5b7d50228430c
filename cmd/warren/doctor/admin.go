package doctor

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// AdminPort is how the admin servers of several servers are asked, each at the host of its client port.
type AdminPort struct {
	Port    int // 0: none is asked
	Timeout time.Duration
	// TLS is how the client port at an address is dialled; nil, or a nil Config, is plain text.
	TLS func(address string) (*tls.Config, error)
	// Authorization is the header of that name, such as "digest super:password"; empty for none. It is never sent by
	// HTTP in the place of HTTPS.
	Authorization string
}

// AdminAnswer is what an admin server said.
type AdminAnswer struct {
	Code   int
	Status string // such as 200 OK
	Header http.Header
	Body   []byte
}

var errNoAdminPort = errors.New("admin ports are not asked")

// Get asks the admin server of the server with this client port for a path such as /readyz. If the client port is
// dialled by TLS, the admin port is asked by HTTPS. If it answers that without TLS, it is asked by HTTP: the settings
// of the two ports are independent.
func (p *AdminPort) Get(ctx context.Context, address, path string) (*AdminAnswer, error) {
	if p.Port == 0 {
		return nil, errNoAdminPort
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	var secure *tls.Config
	if p.TLS != nil {
		if secure, err = p.TLS(address); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	at := net.JoinHostPort(host, strconv.Itoa(p.Port)) + path
	if secure != nil {
		answer, err := AskURL(ctx, http.MethodGet, "https://"+at, nil, p.Authorization, secure)
		if !errors.Is(err, http.ErrSchemeMismatch) || p.Authorization != "" {
			return answer, err
		}
	}
	return AskURL(ctx, http.MethodGet, "http://"+at, nil, p.Authorization, nil)
}

// AskURL sends a request to an admin server: without a proxy, and to nobody else.
func AskURL(ctx context.Context, method, url string, body []byte, authorization string,
	secure *tls.Config) (*AdminAnswer, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: secure, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, wordBytesMax))
	if err != nil {
		return nil, err
	}
	return &AdminAnswer{Code: response.StatusCode, Status: response.Status, Header: response.Header, Body: text}, nil
}

var errOtherServer = errors.New("the admin port is that of another server, or of ZooKeeper")

// ZabState asks the server with this client port for its ZabState. It fails if there is no admin server, or one that
// is not Warren's or not that server's: several servers of one host have different admin ports.
func (p *AdminPort) ZabState(ctx context.Context, address string) (*ZabState, error) {
	answer, err := p.Get(ctx, address, "/commands/zabstate")
	if err != nil {
		return nil, err
	}
	var z ZabState
	if err := json.Unmarshal(answer.Body, &z); err != nil {
		if answer.Code != http.StatusOK {
			err = fmt.Errorf("answers %s: %.80q", answer.Status, firstLine(string(answer.Body)))
		}
		return nil, err
	}
	if !hasPort(address, z.ClientPort, z.SecurePort) {
		return nil, errOtherServer
	}
	return &z, nil
}

// hasPort reports whether the port of an address is one of some.
func hasPort(address string, some ...int) bool {
	_, port, err := net.SplitHostPort(address)
	n, numErr := strconv.Atoi(port)
	return err == nil && numErr == nil && slices.Contains(some, n)
}
