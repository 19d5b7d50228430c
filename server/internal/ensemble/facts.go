package ensemble

import (
	"github.com/seed94657493/warren/server/internal/durable"
	"github.com/seed94657493/warren/server/internal/facts"
	"github.com/seed94657493/warren/server/internal/host"
	"github.com/seed94657493/warren/server/internal/serve"
)

// Facts are what a server knows of itself and of its ensemble. They hide nothing. Any goroutine may ask; Keep is the
// goroutine that asks the other servers.
type Facts struct {
	*facts.Facts
	disk    *durable.Disk
	front   *serve.Front
	host    *host.Host
	keeper  keeper
	seals   fresh[asking, []byte]   // answers to other servers
	answers fresh[string, []answer] // of other servers, about their clients
	tasks   tasks
}

// New returns what a server knows of its ensemble. Nothing is asked before Keep.
func New(f *facts.Facts, d *durable.Disk, front *serve.Front, h *host.Host) *Facts {
	all := &Facts{Facts: f, disk: d, front: front, host: h}
	all.keeper.init(f.Runtime.Uint64())
	all.tasks.tickets, all.tasks.places = map[int64][]ticket{}, make(chan struct{}, tasksMax)
	return all
}
