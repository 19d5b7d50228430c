package traces

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/seed94657493/warren/internal/sched"
	warren "github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/stages"
)

const (
	// sendEvery is how often spans are sent.
	sendEvery = 500 * time.Millisecond
	// sendTimeout is how long the collector may take for one request.
	sendTimeout = 5 * time.Second
	// lastTimeout is the same while the server stops.
	lastTimeout = 500 * time.Millisecond
	// sendBytes is how many bytes of spans one request has. The last operation may exceed it.
	sendBytes = 256 << 10
	// queueMax is how many requests may wait, with sendBytes each.
	queueMax = 32
	// firstBytes is the first size of the memory for a request.
	firstBytes = 4 << 10
	// answerMax is how much is read of an answer of the collector.
	answerMax = 64 << 10
)

// Exporter sends spans to one collector. Any goroutine may hand spans to it, and waits for nothing; the goroutine of
// Run sends them. A nil Exporter sends nothing.
type Exporter struct {
	url     string
	headers []config.Header
	client  http.Client
	around  Surroundings

	closed *sched.Gate
	failed bool // the last request; owned by Run

	sent, dropped, failures prometheus.Counter

	mu struct {
		sync.Mutex
		parts []part // the last one grows
	}
}

// part is the spans of one request.
type part struct {
	spans []byte
	n     int
}

// Surroundings are what an Exporter needs of its server.
type Surroundings struct {
	Runtime  sched.Runtime
	Log      *zap.Logger
	Registry prometheus.Registerer
	Version  string
	Server   int64        // id of the server
	Now      func() int64 // ns on the server's clock
	Password func(warren.SessionID) [warren.PasswordSize]byte
}

// New returns an Exporter, or nil if no collector is configured. Attach must follow.
func New(cfg *config.Trace) *Exporter {
	if cfg.Endpoint == "" {
		return nil
	}
	return &Exporter{url: cfg.Endpoint, headers: cfg.HeaderList(), client: http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConns: 1, IdleConnTimeout: time.Minute,
			ResponseHeaderTimeout: sendTimeout, MaxResponseHeaderBytes: answerMax},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Tracer returns x as package stages knows it; nil for a nil Exporter.
func (x *Exporter) Tracer() stages.Tracer {
	if x == nil {
		return nil
	}
	return x
}

// Attach gives an Exporter what it needs. It is called before Run and Trace.
func (x *Exporter) Attach(s Surroundings) {
	if x == nil {
		return
	}
	x.around, x.closed = s, sched.NewGate(s.Runtime)
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		s.Registry.MustRegister(c)
		return c
	}
	x.sent = counter("warren_trace_spans_sent_total", "Spans that the collector has taken.")
	x.dropped = counter("warren_trace_spans_dropped_total",
		"Spans that the collector did not take, and operations whose spans were not made because too many waited.")
	x.failures = counter("warren_trace_failures_total", "Requests to the collector that failed.")
}

// Trace implements stages.Tracer.
func (x *Exporter) Trace(o *stages.Operation) {
	wall := x.around.Runtime.Now().UnixNano() - x.around.Now()
	x.mu.Lock()
	defer x.mu.Unlock()
	last := len(x.mu.parts) - 1
	if last < 0 || len(x.mu.parts[last].spans) >= sendBytes {
		if last++; last == queueMax {
			x.dropped.Inc()
			return
		}
		x.mu.parts = append(x.mu.parts, part{spans: make([]byte, 0, firstBytes)})
	}
	p := &x.mu.parts[last]
	spans, n := x.appendSpans(p.spans, o, wall)
	p.spans, p.n = spans, p.n+n
}

// Close lets Run send what waits, once, and end.
func (x *Exporter) Close() {
	if x != nil {
		x.closed.Open()
	}
}

// Run is the goroutine of the Exporter.
func (x *Exporter) Run() {
	defer x.client.CloseIdleConnections()
	// The server does not wait long for a request that is under way when it stops.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	x.around.Runtime.Go("traces end", func() {
		x.closed.Wait()
		cancelLast := x.around.Runtime.After(lastTimeout, cancel)
		<-ctx.Done()
		cancelLast()
	})
	for !x.closed.WaitFor(sendEvery) {
		x.sendAll(ctx)
	}
	x.sendAll(ctx)
}

// sendAll sends what waits.
func (x *Exporter) sendAll(ctx context.Context) {
	x.mu.Lock()
	parts := x.mu.parts
	x.mu.parts = nil
	x.mu.Unlock()
	for i, p := range parts {
		if err := x.send(ctx, p.spans); err != nil {
			x.failures.Inc()
			for _, rest := range parts[i:] {
				x.dropped.Add(float64(rest.n))
			}
			if !x.failed {
				x.around.Log.Warn("the collector does not accept traces: they are dropped until it does",
					zap.String("url", x.url), zap.Error(err))
			}
			x.failed = true
			return
		}
		if x.failed {
			x.around.Log.Info("the collector accepts traces again", zap.String("url", x.url))
		}
		x.failed = false
		x.sent.Add(float64(p.n))
	}
}

// send sends one request.
func (x *Exporter) send(ctx context.Context, spans []byte) error {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, x.url, bytes.NewReader(x.request(spans)))
	if err != nil {
		return err
	}
	for _, h := range x.headers {
		req.Header.Set(h.Name, h.Value)
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	resp, err := x.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, answerMax)) // so that the connection can be used again
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: %s", errRefused, resp.Status)
	}
	return nil
}

var errRefused = errors.New("the collector refuses them")

// scopeText is the name of what measures.
const scopeText = "github.com/seed94657493/warren/server"

// valid replaces what protobuf does not take in a text.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
