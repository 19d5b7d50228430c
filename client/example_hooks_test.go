package client_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"

	"github.com/seed94657493/warren/client"
)

// Span and Tracer stand for a tracing library.
type (
	Span   struct{ name, path, status string }
	Tracer struct{ ended []Span }
)

type spanKey struct{}

func (t *Tracer) Start(ctx context.Context, name, path string) context.Context {
	return context.WithValue(ctx, spanKey{}, &Span{name: name, path: path})
}

// Hooks are all that tracing and metrics need, so that package client depends on no library for them. Package
// otelclient is the adapter for OpenTelemetry; this is one for a tracer of one's own.
func ExampleHooks() {
	tracer := &Tracer{}
	var operations, lost atomic.Int64 // counters of metrics
	hooks := client.Hooks{
		Start: func(ctx context.Context, op, path string) context.Context {
			return tracer.Start(ctx, "zookeeper "+op, path)
		},
		End: func(ctx context.Context, r client.OpResult) {
			operations.Add(1)
			span, _ := ctx.Value(spanKey{}).(*Span)
			span.status = "ok"
			if r.Err != nil && !errors.Is(r.Err, client.ErrNoNode) {
				span.status = r.Err.Error()
			}
			tracer.ended = append(tracer.ended, *span)
		},
		State: func(s client.StateChange) {
			if s.State == client.Expired {
				lost.Add(1)
			}
		},
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	ctx := context.Background()
	server, stop := client.StartFake()
	defer stop()
	c, err := client.Dial(ctx, server, client.WithHooks(hooks), client.WithLogger(logger))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	_, _, _ = c.Get(ctx, "/nothing")
	_, _, _ = c.Children(ctx, "/")
	for _, span := range tracer.ended {
		fmt.Println(span.name, span.path, span.status)
	}
	fmt.Println(operations.Load(), lost.Load())
	// Output:
	// zookeeper getData /nothing ok
	// zookeeper getChildren2 / ok
	// 2 0
}
