package doctor

import (
	"context"
	"strings"
)

// diskFree is the metric with the free space of a directory with data. It has a label for each directory.
const diskFree = "warren_server_disk_free_bytes{"

// DiskFree returns the free bytes of the disk with the least room among the data directories of the server with this
// client port. It reports false if that server has no admin server at the port, or does not export the metric.
func (p *AdminPort) DiskFree(ctx context.Context, address string) (free int64, ok bool) {
	if !p.serves(ctx, address) {
		if _, err := p.ZabState(ctx, address); err != nil { // a server that has only a TLS port is told by that
			return 0, false
		}
	}
	for name, value := range p.metrics(ctx, address) {
		if strings.HasPrefix(name, diskFree) && (!ok || int64(value) < free) {
			free, ok = int64(value), true
		}
	}
	return free, ok
}
