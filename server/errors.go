package server

import (
	"github.com/seed94657493/warren/server/internal/durable"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/internal/serve"
	"github.com/seed94657493/warren/server/internal/words"
)

// Errors of Start and Run. A program chooses its exit code by them.
type (
	// DataError is returned by Start when the data directories cannot be used. Its exit code is 3, as ZooKeeper's.
	DataError = durable.DataError
	// ConfigError is returned by Start when the server cannot do what its configuration says, such as to open a key
	// store. Its exit code is 2.
	ConfigError = env.ConfigError
	// BindError is returned by Start when the client port cannot be bound. Its exit code is 14, as ZooKeeper's.
	BindError = serve.BindError
	// AdminError is returned by Start when the admin server cannot start. Its exit code is 4, as ZooKeeper's.
	AdminError = words.AdminError
	// MetricsError ends the server when the metrics exporter cannot start, as in ZooKeeper.
	MetricsError = words.MetricsError
)

// ErrDurability is returned by Run when data could not be made durable. The content of the disk is then unknown. A
// restart recovers everything that was acknowledged.
var ErrDurability = env.ErrDurability
