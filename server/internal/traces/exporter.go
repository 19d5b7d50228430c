package traces

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
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
	// waitMax is how long the exporter waits at most before it sends a request again. The wait doubles each time.
	waitMax = 30 * time.Second
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
	// The following are owned by Run.
	failed  bool          // the last request
	rejects bool          // the collector took only a part of it
	wait    time.Duration // 0 unless the collector wants it again
	next    time.Time     // not before that is anything sent

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
		x.sendAll(ctx, false)
	}
	x.sendAll(ctx, true)
}

// sendAll sends what waits. What the collector wants to be sent again waits on, unless it is the last time.
func (x *Exporter) sendAll(ctx context.Context, last bool) {
	now := x.around.Runtime.Now()
	if now.Before(x.next) && !last {
		return
	}
	x.mu.Lock()
	parts := x.mu.parts
	x.mu.parts = nil
	x.mu.Unlock()
	for i, p := range parts {
		rejected, why, err := x.send(ctx, p)
		if err != nil {
			x.failures.Inc()
			later, isLater := errors.AsType[*errLater](err)
			if !x.failed {
				text := "the collector does not accept traces: they are dropped until it does"
				if isLater {
					text = "the collector wants traces later: they wait, and are dropped when too many do"
				}
				x.around.Log.Warn(text, zap.String("url", x.url), zap.Error(err))
			}
			x.failed = true
			if isLater && !last {
				x.wait = min(max(2*x.wait, sendEvery), waitMax)
				x.next = now.Add(max(x.wait, min(later.after, waitMax)))
				x.putBack(parts[i:])
				return
			}
			x.drop(parts[i:])
			return
		}
		if x.failed {
			x.around.Log.Info("the collector accepts traces again", zap.String("url", x.url))
		}
		x.failed, x.wait = false, 0
		x.sent.Add(float64(p.n - rejected))
		x.dropped.Add(float64(rejected))
		if rejected > 0 && !x.rejects {
			x.around.Log.Warn("the collector accepts only some of the spans", zap.String("url", x.url),
				zap.Int("rejected", rejected), zap.String("reason", why))
		}
		x.rejects = rejected > 0
	}
}

// putBack lets requests wait before those that have come meanwhile, as far as there is room.
func (x *Exporter) putBack(parts []part) {
	x.mu.Lock()
	defer x.mu.Unlock()
	all := slices.Concat(parts, x.mu.parts)
	fit := min(len(all), queueMax)
	x.drop(all[fit:])
	x.mu.parts = all[:fit]
}

func (x *Exporter) drop(parts []part) {
	for _, p := range parts {
		x.dropped.Add(float64(p.n))
	}
}

// send sends one request, and returns how many of its spans the collector has rejected, and why.
func (x *Exporter) send(ctx context.Context, p part) (rejected int, why string, err error) {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, x.url, bytes.NewReader(x.request(p.spans)))
	if err != nil {
		return 0, "", err
	}
	for _, h := range x.headers {
		req.Header.Set(h.Name, h.Value)
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	resp, err := x.client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, answerMax)) // whole, so that the connection can be used again
	switch resp.StatusCode {
	case http.StatusOK:
		rejected, why = partial(body)
		return min(rejected, p.n), why, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 16) // else it may be a date
		return 0, "", &errLater{resp.Status, time.Duration(seconds) * time.Second}
	}
	return 0, "", fmt.Errorf("%w: %s", errRefused, resp.Status)
}

// errLater is an answer after which the same request is to be sent again, by the specification of OTLP over HTTP.
type errLater struct {
	status string
	after  time.Duration // at least
}

func (e *errLater) Error() string { return "it is to be sent again later: " + e.status }

var errRefused = errors.New("the collector refuses them")

// scopeText is the name of what measures.
const scopeText = "github.com/seed94657493/warren/server"

// valid replaces what protobuf does not take in a text.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
