// Package otelclient traces and measures a client with OpenTelemetry.
//
//	hooks, err := otelclient.Hooks(otel.GetTracerProvider(), otel.GetMeterProvider())
//	...
//	c, err := client.Dial(ctx, servers, client.WithHooks(hooks))
//
// Every operation is a span of kind client, a child of the one in the caller's context, and a value of the histogram
// db.client.operation.duration. Names follow OpenTelemetry's semantic conventions for databases where they have one:
//
//	db.system.name             zookeeper
//	db.operation.name          name in the protocol, such as getData
//	db.response.status_code    name of the server's answer, such as NoNode; missing if it did what it was asked
//	error.type                 the same, or Canceled, DeadlineExceeded, Closed or Other; missing without a fault
//	zookeeper.path             the znode; of spans only
//	zookeeper.zxid             last txn that the server had applied; of spans only
//
// Each span that is recorded has a link to the span of the server that the client is connected to. Warren servers
// trace a share of the operations and all that are slow; the link of any other operation leads nowhere. The ids are
// computed, and nothing is added to the protocol: see package proto/traceid.
//
// NoNode, NodeExists, BadVersion and NotEmpty are answers: they tell the state of the tree, and programs ask for
// them. The counters zookeeper.client.session.changes (zookeeper.session.state) and zookeeper.client.watch.events
// (zookeeper.event.type) count what comes unasked.
//
// The package is a module of its own, so that only programs that use it depend on OpenTelemetry. It has no state
// besides the instruments of the providers that it is given, and its hooks may be used for several clients.
package otelclient

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto"
)

// linkToServer tells what the link of a span leads to.
var linkToServer = []attribute.KeyValue{attribute.String("link.kind", "warren.server")}

// scope is the name of the instrumented library.
const scope = "github.com/seed94657493/warren/client"

// Names of attributes. Source: OpenTelemetry's semantic conventions for database client calls.
const (
	systemKey    = attribute.Key("db.system.name")
	operationKey = attribute.Key("db.operation.name")
	statusKey    = attribute.Key("db.response.status_code")
	errorKey     = attribute.Key("error.type")
	pathKey      = attribute.Key("zookeeper.path")
	zxidKey      = attribute.Key("zookeeper.zxid")
	stateKey     = attribute.Key("zookeeper.session.state")
	eventKey     = attribute.Key("zookeeper.event.type")
)

var system = systemKey.String("zookeeper")

// Hooks returns the argument of client.WithHooks. A nil provider leaves its part out. It fails if the meter
// refuses an instrument.
func Hooks(tracers trace.TracerProvider, meters metric.MeterProvider) (client.Hooks, error) {
	var h client.Hooks
	var tracer trace.Tracer
	if tracers != nil {
		tracer = tracers.Tracer(scope)
		h.Start = func(ctx context.Context, op, path string) context.Context {
			ctx, _ = tracer.Start(ctx, op, trace.WithSpanKind(trace.SpanKindClient),
				trace.WithAttributes(system, operationKey.String(op), pathKey.String(path)))
			return ctx
		}
	}
	m, err := newMeters(meters)
	if err != nil {
		return client.Hooks{}, err
	}
	h.End = func(ctx context.Context, r client.OpResult) {
		status, fault := judge(r.Err)
		if tracer != nil {
			endSpan(trace.SpanFromContext(ctx), r, status, fault)
		}
		if m != nil {
			m.operation(ctx, r, status, fault)
		}
	}
	if m != nil {
		h.State, h.Event = m.state, m.event
	}
	return h, nil
}

func endSpan(span trace.Span, r client.OpResult, status, fault string) {
	if span.IsRecording() {
		span.SetAttributes(outcome(nil, status, fault)...)
		if r.Zxid != 0 {
			span.SetAttributes(zxidKey.Int64(int64(r.Zxid)))
		}
		if id, ok := r.Trace(); ok {
			span.AddLink(trace.Link{SpanContext: trace.NewSpanContext(trace.SpanContextConfig{
				TraceID: id.Trace, SpanID: id.Root, TraceFlags: trace.FlagsSampled, Remote: true,
			}), Attributes: linkToServer})
		}
		if fault != "" {
			span.SetStatus(codes.Error, r.Err.Error())
		}
	}
	span.End()
}

// outcome appends the known attributes of an operation's result.
func outcome(to []attribute.KeyValue, status, fault string) []attribute.KeyValue {
	if status != "" {
		to = append(to, statusKey.String(status))
	}
	if fault != "" {
		to = append(to, errorKey.String(fault))
	}
	return to
}

// judge returns the name of the server's answer, and of the fault if the answer is one; both have few values, as
// attributes of metrics must.
func judge(err error) (status, fault string) {
	var code proto.ErrCode
	switch {
	case err == nil:
		return "", ""
	case errors.Is(err, context.Canceled):
		return "", "Canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "", "DeadlineExceeded"
	case errors.Is(err, client.ErrClosed):
		return "", "Closed"
	case errors.Is(err, client.ErrConnectionLoss): // the client's own error: no server has answered
		return "", client.ErrConnectionLoss.Name()
	case !errors.As(err, &code):
		return "", "Other"
	}
	switch code {
	case client.ErrNoNode, client.ErrNodeExists, client.ErrBadVersion, client.ErrNotEmpty:
		return code.Name(), ""
	}
	if !code.Known() {
		return "Unknown", "Unknown"
	}
	return code.Name(), code.Name()
}

// meters are the instruments.
type meters struct {
	duration        metric.Float64Histogram
	changes, events metric.Int64Counter
}

// newMeters returns nil for a nil provider.
func newMeters(provider metric.MeterProvider) (*meters, error) {
	if provider == nil {
		return nil, nil
	}
	meter := provider.Meter(scope)
	var m meters
	var errs [3]error
	m.duration, errs[0] = meter.Float64Histogram("db.client.operation.duration", metric.WithUnit("s"),
		metric.WithDescription("Time from the call to the answer."),
		metric.WithExplicitBucketBoundaries(0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10))
	m.changes, errs[1] = meter.Int64Counter("zookeeper.client.session.changes", metric.WithUnit("{change}"),
		metric.WithDescription("Changes of the session's state, by the state that it came to."))
	m.events, errs[2] = meter.Int64Counter("zookeeper.client.watch.events", metric.WithUnit("{event}"),
		metric.WithDescription("Watch events, of all watches."))
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("otelclient: %w", err)
	}
	return &m, nil
}

func (m *meters) operation(ctx context.Context, r client.OpResult, status, fault string) {
	var room [4]attribute.KeyValue
	room[0], room[1] = system, operationKey.String(r.Op)
	m.duration.Record(ctx, r.Took.Seconds(), metric.WithAttributes(outcome(room[:2], status, fault)...))
}

func (m *meters) state(s client.StateChange) {
	m.changes.Add(context.Background(), 1, metric.WithAttributes(stateKey.String(s.State.String())))
}

func (m *meters) event(e client.Event) {
	m.events.Add(context.Background(), 1, metric.WithAttributes(eventKey.String(e.Type.String())))
}
