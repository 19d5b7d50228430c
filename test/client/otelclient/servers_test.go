package otelclient_test

import (
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/client/otelclient"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/must"
)

// collector takes traces as a collector of OpenTelemetry does.
type collector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []received
	auth  map[string]bool // values of the header Authorization
	err   error
}

// received is a span and the server that has sent it.
type received struct {
	*tracepb.Span
	server string
}

func newCollector(t *testing.T) *collector {
	c := &collector{auth: map[string]bool{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request tracepb.TracesData // the fields of ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &request)
		}
		if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/x-protobuf" {
			err = errors.Join(err, errors.New("not a request of OTLP"))
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.err = errors.Join(c.err, err)
		c.auth[r.Header.Get("Authorization")] = true
		for _, resource := range request.ResourceSpans {
			server := ""
			for _, kv := range resource.Resource.Attributes {
				if kv.Key == "service.instance.id" {
					server = kv.Value.GetStringValue()
				}
			}
			for _, scope := range resource.ScopeSpans {
				for _, s := range scope.Spans {
					c.spans = append(c.spans, received{s, server})
				}
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(c.Close)
	return c
}

// trace waits until a trace has enough spans of each name, and returns all of its spans by name.
func (c *collector) trace(t *testing.T, id string, want map[string]int) (by map[string][]received) {
	t.Helper()
	require.Eventually(t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		by = map[string][]received{}
		for _, s := range c.spans {
			if hex.EncodeToString(s.TraceId) == id {
				by[s.Name] = append(by[s.Name], s)
			}
		}
		for name, n := range want {
			if len(by[name]) < n {
				return false
			}
		}
		return true
	}, 20*time.Second, 20*time.Millisecond, "trace %s has %v", id, by)
	c.mu.Lock()
	defer c.mu.Unlock()
	require.NoError(t, c.err)
	return by
}

func took(s received) time.Duration { return time.Duration(s.EndTimeUnixNano - s.StartTimeUnixNano) }

// TestTraceAcrossServers follows writes and reads of a client of a follower through all servers. The spans of all
// servers and the link of the client's span have one trace. The stages follow each other without a gap from the
// beginning to the end of the root span. The root span is the time that the client has measured, less the network.
func TestTraceAcrossServers(t *testing.T) {
	c := newCollector(t)
	e := embed.Start(t, embed.Options{Servers: 3, TickTime: time.Second, Configure: func(_ int, cfg *config.Config) {
		cfg.Trace.Endpoint, cfg.Trace.Ratio, cfg.Trace.Headers = c.URL, 1, "Authorization=Bearer abc"
	}})
	leader := must.Do(e.Leader(t.Context()))(t)
	follower := leader%3 + 1

	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	hooks := must.Do(otelclient.Hooks(provider, nil))(t)
	k := must.Do(client.Dial(t.Context(), e.ConnectString(follower), client.WithHooks(hooks)))(t)
	defer k.Close()
	// An operation must be long against the two ways between client and server, which no server sees.
	const pause = 150 * time.Millisecond
	for _, id := range e.IDs() {
		if id != leader {
			e.Delay(id, leader, pause)
		}
	}
	must.Do(k.Create(t.Context(), "/traced", nil, client.Persistent))(t)
	e.Heal()
	must.Do2(k.Get(t.Context(), "/traced"))(t)
	require.NoError(t, k.Sync(t.Context(), "/traced"))

	ended := spans.Ended()
	require.Len(t, ended, 3)
	for i, want := range []map[string]int{
		{"create2": 1, "forward": 1, "sync": 1, "quorum": 2, "lead": 1, "log": 3, "prepare": 1},
		{"getData": 1}, {"sync": 1},
	} {
		links := ended[i].Links()
		require.Len(t, links, 1)
		link := links[0].SpanContext
		by := c.trace(t, link.TraceID().String(), want)
		root := by[ended[i].Name()][0]
		if ended[i].Name() == "sync" { // the operation and a stage have the same name
			root = by["sync"][slices.IndexFunc(by["sync"], func(s received) bool { return len(s.ParentSpanId) == 0 })]
		}
		require.Equal(t, link.SpanID().String(), hex.EncodeToString(root.SpanId), "the link leads to the root")
		require.Empty(t, root.ParentSpanId)

		sum, children := time.Duration(0), []received{}
		for name, all := range by {
			for _, s := range all {
				switch {
				case string(s.ParentSpanId) != string(root.SpanId):
				case name == "lead" || name == "log":
				default:
					sum += took(s)
					children = append(children, s)
				}
			}
		}
		slices.SortFunc(children, func(a, b received) int { return int(a.StartTimeUnixNano - b.StartTimeUnixNano) })
		require.NotEmpty(t, children)
		require.Equal(t, took(root), sum, "the stages are the whole operation")
		at := root.StartTimeUnixNano
		for _, s := range children {
			require.Equal(t, at, s.StartTimeUnixNano, "%s begins when the stage before it ends", s.Name)
			require.Equal(t, root.server, s.server)
			at = s.EndTimeUnixNano
		}
		measured := ended[i].EndTime().Sub(ended[i].StartTime())
		if i > 0 {
			continue
		}
		t.Logf("client %v, server %v, stages %v", measured, took(root), children)
		require.InDelta(t, measured, took(root), float64(pause/3), "the client waits for nothing else but the network")
		require.Greater(t, took(root), pause)
		servers := map[string]bool{}
		for _, s := range by["log"] {
			servers[s.server] = true
			require.Equal(t, root.SpanId, s.ParentSpanId)
		}
		require.Len(t, servers, 3, "each server has logged it")
		require.NotEqual(t, root.server, by["lead"][0].server)
		require.Equal(t, root.SpanId, by["lead"][0].ParentSpanId)
		require.Less(t, took(by["lead"][0]), took(root))
	}
	require.Equal(t, map[string]bool{"Bearer abc": true}, c.auth)
}
