package doctor

import (
	"context"
	"strings"
	"time"
)

// The metrics that a State is read from: the free space of each data directory, which has a label, whether one of them
// is full, when the first will be, and whether the server is drained.
const (
	diskFree   = "warren_server_disk_free_bytes{"
	diskFull   = "warren_server_disk_full"
	diskFullIn = "warren_server_disk_full_in_seconds"
	draining   = "warren_server_draining"
)

// State is what a server tells of itself beside the word srvr.
type State struct {
	Free int64 // bytes of the disk with the least room
	Full bool  // a disk has no room for writes
	// FullIn is when the first disk has no room, at the growth of the last hour; negative if that is not foreseen.
	FullIn time.Duration
	// Draining says that the server takes no clients, because an operator drains it.
	Draining bool
}

// State asks the server with this client port for its state. It reports false if that server has no admin server at
// the port, or does not export the metrics.
func (p *AdminPort) State(ctx context.Context, address string) (d State, ok bool) {
	if !p.serves(ctx, address) {
		if _, err := p.ZabState(ctx, address); err != nil { // a server that has only a TLS port is told by that
			return d, false
		}
	}
	metrics := p.metrics(ctx, address)
	for name, value := range metrics {
		if strings.HasPrefix(name, diskFree) && (!ok || int64(value) < d.Free) {
			d.Free, ok = int64(value), true
		}
	}
	d.FullIn, d.Full, d.Draining = fullIn(metrics), metrics[diskFull] > 0, metrics[draining] > 0
	return d, ok
}

// fullIn returns when the first disk of a server has no room; negative if that is not foreseen.
func fullIn(metrics map[string]float64) time.Duration {
	seconds, ok := metrics[diskFullIn]
	if !ok || !(seconds >= 0 && seconds < float64(1<<62)/float64(time.Second)) {
		return -1
	}
	return time.Duration(seconds * float64(time.Second))
}
