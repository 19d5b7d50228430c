package doctor

import (
	"context"
	"strings"
	"time"
)

// The metrics of the data directories: their free space, with a label for each, and when the first has no room.
const (
	diskFree   = "warren_server_disk_free_bytes{"
	diskFullIn = "warren_server_disk_full_in_seconds"
)

// Disk is the room for the data of a server.
type Disk struct {
	Free int64 // bytes of the disk with the least room
	// FullIn is when the first disk has no room, at the growth of the last hour; negative if that is not foreseen.
	FullIn time.Duration
}

// Disk returns the room for the data of the server with this client port. It reports false if that server has no admin
// server at the port, or does not export the metrics.
func (p *AdminPort) Disk(ctx context.Context, address string) (d Disk, ok bool) {
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
	d.FullIn = fullIn(metrics)
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
