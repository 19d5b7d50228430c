package admin

import (
	"context"
	"io"
	"time"

	"github.com/seed94657493/warren/internal/findings"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/facts"
	"github.com/seed94657493/warren/server/internal/orders"
)

// Node is the server that the commands are about. What it tells is documented at facts.Facts and ensemble.Facts, what
// it does at orders.Live. Its methods are called by many goroutines at once. Those of the second group are called only
// after Serving has returned true; the server may stop meanwhile, and they must still return a value then.
type Node interface {
	Serving() bool
	TakesClients() bool
	Draining() bool
	Stalled() time.Duration
	Environment() []config.Property
	SystemProperties() []config.Property
	TraceMask() int64
	SetTraceMask(mask int64)
	Monitor() []facts.Number
	Quorum() *facts.Quorum
	Findings() []findings.Finding
	// InsecureConnection counts a connection without TLS to a port that offers it.
	InsecureConnection()

	ReadOnly() bool
	Configuration() facts.Configuration
	ConfigurationText() string
	Connections() (plain, secure []facts.Connection)
	ResetConnections()
	ResetObservers()
	Stats() facts.Stats
	ResetStats()
	Directories() facts.Directories
	SessionIDsOpen() bool
	Dump() facts.Dump
	Watches() []facts.Watch
	WatchSummary() facts.WatchSummary
	Top(by string, most int, all bool) facts.Top
	Slow(most int, all bool) facts.Slow
	Digests() []facts.Digest
	LastSnapshot() facts.LastSnapshot
	Authorize(c facts.Credentials) error
	Snapshot(ctx context.Context) (*orders.Snapshot, error)
	Restore(ctx context.Context, r io.Reader) (zxid int64, err error)
	// SnapshotRefused and RestoreRefused count what the rate limit has refused.
	SnapshotRefused()
	RestoreRefused()
}
