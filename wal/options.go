package wal

import (
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/wal/vfs"
)

// Options configure a Log.
type Options struct {
	// FS holds the log. Required.
	FS vfs.FS
	// Dir is the directory that holds the files, dataLogDir/version-2. It must exist.
	Dir string
	// PreallocSize is how far ahead of the records zeros are written, in bytes, and the size of a
	// file that is prepared in advance. Zero or less: files hold just their records.
	// ZooKeeper: preAllocSize, in KiB, 65536 by default.
	PreallocSize int64
	// Now is the clock for durations. Nil is time.Now.
	Now func() time.Time
	// Events receives what the log does. Nil: no events.
	Events Events
	// Logger receives messages for an operator. Nil: no messages.
	Logger *zap.Logger
}

// Events receives what a Log does, so that the server can count it. The logger's goroutine calls it and waits.
type Events interface {
	// Appended is called after an Append of so many bytes.
	Appended(bytes int)
	// Synced is called after a Sync that made so many bytes durable, with the time the disk took.
	Synced(took time.Duration, bytes int64)
}

type noEvents struct{}

func (noEvents) Appended(int)                {}
func (noEvents) Synced(time.Duration, int64) {}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Events == nil {
		o.Events = noEvents{}
	}
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	o.PreallocSize = max(o.PreallocSize, 0)
	return o
}
