package abuse

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// probeMax is how long a probe may take: what Kubernetes waits for one, by far.
const probeMax = 10 * time.Second

// TestProbesAreAnswered holds more connections to the ports of HTTP than these take, and asks what a kubelet and a
// scraper of metrics ask.
func TestProbesAreAnswered(t *testing.T) {
	for name, say := range map[string]string{
		"silent":         "",
		"half a request": "GET /healthz HTTP/1.1\r\nHost: a\r\n",
		"idle":           "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			tg := startTarget(t, 1, nil)
			for _, addr := range []string{tg.admin, tg.metrics} {
				for range 400 {
					nc := must.Do(net.Dial("tcp", addr))(t)
					defer nc.Close()
					must.Do(io.WriteString(nc, say))(t)
				}
			}
			for _, url := range []string{tg.admin + "/healthz", tg.admin + "/readyz", tg.admin + "/commands/ruok",
				tg.admin + "/metrics", tg.metrics + "/metrics"} {
				client := http.Client{Timeout: probeMax, Transport: &http.Transport{DisableKeepAlives: true}}
				resp := must.Do(client.Get("http://" + url))(t)
				require.NoError(t, resp.Body.Close())
				require.Equal(t, http.StatusOK, resp.StatusCode, url)
			}
			held := must.Do(tg.held())(t)
			require.Less(t, held[0]["open_file_descriptor_count"], int64(2*256+100), fmt.Sprint("descriptors: ", held))
		})
	}
}
