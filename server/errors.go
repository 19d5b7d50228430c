package server

import (
	"github.com/seed94657493/warren/server/internal/durable"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/serve"
)

// Errors of Start and Run. A program chooses its exit code by them.
type (
	// DataError is returned by Start when the data directories cannot be used. Its exit code is 3, as ZooKeeper's.
	DataError = durable.DataError
	// ConfigError is returned by Start when the server cannot do what its configuration says, such as to open a key
	// store. Its exit code is 2.
	ConfigError = env.ConfigError
	// BindError is returned by Start when a client port cannot be bound. Its exit code is 14, as ZooKeeper's.
	BindError = serve.BindError
)

// ErrDurability is returned by Run when data could not be made durable. The content of the disk is then unknown. A
// restart recovers everything that was acknowledged.
var ErrDurability = env.ErrDurability

// AdminError is returned by Start when the admin server cannot start. Its exit code is 4, as ZooKeeper's.
type AdminError struct {
	Key  string // of the configuration, with its place, as of config.Config.Named
	Addr string
	Err  error
}

// Error names the address and the reason.
func (e *AdminError) Error() string {
	return "server: the admin server cannot start on " + e.Addr + " (" + e.Key + "): " + e.Err.Error()
}

// Unwrap returns the reason.
func (e *AdminError) Unwrap() error { return e.Err }

// ExitCode is the process exit code.
func (e *AdminError) ExitCode() int { return 4 }

// MetricsError ends the server when a port of the metrics exporter cannot be bound, as in ZooKeeper, which exits with
// code 1. Source: operations 4.1.
type MetricsError struct {
	Key  string // of the configuration, which has the port, with its place, as of config.Config.Named
	Addr string
	Err  error
}

// Error names the address and the reason.
func (e *MetricsError) Error() string {
	return "server: metrics are not exported on " + e.Addr + " (" + e.Key + "): " + e.Err.Error()
}

// Unwrap returns the reason.
func (e *MetricsError) Unwrap() error { return e.Err }

// ExitCode is the process exit code, that of every port but the admin server's.
func (e *MetricsError) ExitCode() int { return 14 }
