package system

import "time"

const (
	// silenceMin is how long a client waits in vain before that is a fault of the server.
	silenceMin = time.Second
	// recovery is how long the servers may take after a fault until all of them serve again.
	recovery = 8 * time.Second
	// restarted is no fault, but has consequences.
	restarted Fault = "restart"
)

// unanswered is called when a client gives up a server that has not answered since some time. The server must have
// ended the connection unless something went wrong.
func (w *world) unanswered(c *client, server int, since time.Duration, what string) {
	if len(w.o.Features) > 0 || c.slow || w.s.slow != "" || w.s.now-since < silenceMin || w.s.now < recovery {
		return
	}
	for _, i := range w.faults.past {
		if i.kind != WallJump && i.to+recovery >= since {
			return
		}
	}
	w.s.fail(EachAnswers, "server %d does not answer client %d since %v: %s", server, c.id, since, what)
}
