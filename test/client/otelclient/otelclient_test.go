package otelclient_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/client/otelclient"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/must"
)

// Names of attributes, as the package page has them.
const (
	systemKey    = attribute.Key("db.system.name")
	operationKey = attribute.Key("db.operation.name")
	statusKey    = attribute.Key("db.response.status_code")
	errorKey     = attribute.Key("error.type")
	pathKey      = attribute.Key("zookeeper.path")
	zxidKey      = attribute.Key("zookeeper.zxid")
)

func dial(t *testing.T, hooks client.Hooks) *client.Client {
	t.Helper()
	c, err := client.Dial(t.Context(), embed.Start(t, embed.Options{}).ConnectString(), client.WithHooks(hooks))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestSpans(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	hooks := must.Do(otelclient.Hooks(provider, nil))(t)
	require.Nil(t, hooks.State)
	require.Nil(t, hooks.Event)
	c := dial(t, hooks)
	ctx, parent := provider.Tracer("test").Start(t.Context(), "work")

	must.Do(c.Create(ctx, "/a", nil, client.Persistent))(t)
	_, _, err := c.Get(ctx, "/none")
	require.ErrorIs(t, err, client.ErrNoNode)
	must.Do(c.Async().Get(ctx, "/a").Wait(ctx))(t)
	given, cancel := context.WithCancel(ctx)
	cancel()
	_, err = c.Set(given, "/a", nil, client.AnyVersion)
	require.ErrorIs(t, err, context.Canceled)
	require.True(t, parent.IsRecording(), "the caller's own span has not ended")
	parent.End()

	want := []struct {
		op, path, status, fault string
		zxid                    bool
	}{
		{"create2", "/a", "", "", true},
		{"getData", "/none", "NoNode", "", true},
		{"getData", "/a", "", "", true},
		{"setData", "/a", "", "Canceled", false},
	}
	ended := spans.Ended()
	require.Len(t, ended, len(want)+1)
	for i, w := range want {
		s := ended[i]
		require.Equal(t, w.op, s.Name())
		require.Equal(t, trace.SpanKindClient, s.SpanKind())
		require.Equal(t, parent.SpanContext().SpanID(), s.Parent().SpanID())
		have := attribute.NewSet(s.Attributes()...)
		value := func(k attribute.Key) string { v, _ := have.Value(k); return v.AsString() }
		require.Equal(t, []string{"zookeeper", w.op, w.path, w.status, w.fault},
			[]string{value(systemKey), value(operationKey), value(pathKey), value(statusKey), value(errorKey)})
		require.Equal(t, w.zxid, have.HasValue(zxidKey), "%s %s", w.op, w.path)
		require.Equal(t, w.fault != "", s.Status().Code == codes.Error)
	}
}

func TestMetrics(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	hooks := must.Do(otelclient.Hooks(nil, sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))))(t)
	require.Nil(t, hooks.Start)
	c := dial(t, hooks)
	ctx := t.Context()
	must.Do(c.Create(ctx, "/a", nil, client.Persistent))(t)
	_, _, w, err := c.GetW(ctx, "/a")
	require.NoError(t, err)
	for range 2 {
		must.Do(c.Set(ctx, "/a", nil, client.AnyVersion))(t)
	}
	_, err = c.Set(ctx, "/a", nil, 7)
	require.ErrorIs(t, err, client.ErrBadVersion)
	_, ok := w.Next(ctx)
	require.True(t, ok)
	require.NoError(t, c.Close())

	var all metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(ctx, &all))
	require.Len(t, all.ScopeMetrics, 1)
	counts := map[string]int64{}
	note := func(name string, attributes attribute.Set, n int64) {
		for _, kv := range attributes.ToSlice() {
			if kv.Key != systemKey {
				name += " " + kv.Value.AsString()
			}
		}
		counts[name] = n
	}
	for _, m := range all.ScopeMetrics[0].Metrics {
		switch data := m.Data.(type) {
		case metricdata.Histogram[float64]:
			for _, p := range data.DataPoints {
				require.Positive(t, p.Sum)
				require.Less(t, p.Sum, 60.0, "seconds")
				note(m.Name, p.Attributes, int64(p.Count))
			}
		case metricdata.Sum[int64]:
			for _, p := range data.DataPoints {
				note(m.Name, p.Attributes, p.Value)
			}
		}
	}
	const took, changes, events = "db.client.operation.duration ", "zookeeper.client.session.changes ",
		"zookeeper.client.watch.events "
	require.EqualValues(t, 1, counts[took+"create2"])
	require.EqualValues(t, 1, counts[took+"getData"])
	require.EqualValues(t, 2, counts[took+"setData"])
	require.EqualValues(t, 1, counts[took+"setData BadVersion"])
	require.EqualValues(t, 1, counts[changes+client.Connected.String()], counts)
	require.EqualValues(t, 1, counts[changes+client.Closed.String()], counts)
	require.EqualValues(t, 1, counts[events+client.NodeDataChanged.String()], counts)
}

// What an operation costs besides, with spans that are not sampled and with metrics.
func BenchmarkHooks(b *testing.B) {
	for _, bench := range []struct {
		name    string
		tracers trace.TracerProvider
		meters  metric.MeterProvider
	}{
		{"not-sampled", sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())), nil},
		{"metrics", nil, sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))},
	} {
		b.Run(bench.name, func(b *testing.B) {
			h := must.Do(otelclient.Hooks(bench.tracers, bench.meters))(b)
			b.ReportAllocs()
			for b.Loop() {
				ctx := context.Background()
				if h.Start != nil {
					ctx = h.Start(ctx, "getData", "/a")
				}
				h.End(ctx, client.OpResult{Op: "getData", Path: "/a", Took: time.Millisecond, Zxid: 1})
			}
		})
	}
}
