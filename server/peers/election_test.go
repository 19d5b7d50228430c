package peers

import (
	"testing"

	"github.com/seed94657493/warren/proto"
)

// Whoever speaks first, there is one connection, opened by the larger id.
func TestElectionInBothDirections(t *testing.T) {
	for _, first := range []proto.ServerID{1, 3} {
		w := newWorld(t, 3, 3)
		hosts := map[proto.ServerID]*host{1: w.start(1), 3: w.start(3)}
		second := 4 - first
		hosts[first].peers.SendElection(vote(second, 1))
		hosts[second].heard(first, 1)
		hosts[second].peers.SendElection(vote(first, 2))
		hosts[first].heard(second, 2)
	}
}
