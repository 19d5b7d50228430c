package otelclient

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"go.opentelemetry.io/otel/metric"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/client/internal/require"
	"github.com/seed94657493/warren/proto"
)

func TestJudge(t *testing.T) {
	wrap := func(err error) error { return &client.Error{Op: "getData", Err: err} }
	for _, tc := range []struct {
		err           error
		status, fault string
	}{
		{nil, "", ""},
		{wrap(client.ErrNoNode), "NoNode", ""},
		{wrap(client.ErrNotEmpty), "NotEmpty", ""},
		{wrap(client.ErrNoAuth), "NoAuth", "NoAuth"},
		{wrap(client.ErrConnectionLoss), "", "ConnectionLoss"},
		{wrap(proto.ErrCode(-4711)), "Unknown", "Unknown"},
		{fmt.Errorf("%w: %w", context.DeadlineExceeded, wrap(client.ErrConnectionLoss)), "", "DeadlineExceeded"},
		{wrap(client.ErrClosed), "", "Closed"},
		{errors.New("disk on fire"), "", "Other"},
	} {
		status, fault := judge(tc.err)
		require.Equal(t, []string{tc.status, tc.fault}, []string{status, fault}, "%v", tc.err)
	}
}

// refusing is a meter that makes no counter.
type refusing struct {
	metric.MeterProvider
}

type refusingMeter struct{ metric.Meter }

func (refusing) Meter(string, ...metric.MeterOption) metric.Meter { return refusingMeter{} }

func (refusingMeter) Float64Histogram(string, ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return nil, nil
}

func (refusingMeter) Int64Counter(name string, _ ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return nil, errors.New("no room for " + name)
}

func TestRefusedInstruments(t *testing.T) {
	_, err := Hooks(nil, refusing{})
	require.ErrorContains(t, err, "otelclient: no room for zookeeper.client.session.changes")
}
