module github.com/seed94657493/warren/client/otelclient

go 1.26.0

require (
	github.com/seed94657493/warren/client v0.1.0
	github.com/seed94657493/warren/proto v0.1.0
	go.opentelemetry.io/otel v1.47.0
	go.opentelemetry.io/otel/metric v1.47.0
	go.opentelemetry.io/otel/trace v1.47.0
)

require github.com/cespare/xxhash/v2 v2.3.0 // indirect
