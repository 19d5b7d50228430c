package doctor

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/doctor"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/wire"
)

// calm looks at all servers that answer again and again, until what is planned is done, and wants no finding above
// notice at any moment.
func (h *hosts) calm(done func() bool) {
	h.t.Helper()
	watch := cluster.NewWatch()
	for !done() {
		require.Less(h.t, watch.Elapsed(), agreement, "what was planned is not done")
		for i := range h.nodes {
			_, text, err := h.get(i, "/api/v1/ensemble")
			if err != nil { // it is being restarted
				continue
			}
			for _, p := range problemsOf(h.t, text) {
				if !slices.Contains(ofTheMachine, p.Check) {
					require.Equal(h.t, doctor.Notice.String(), p.Severity, "server %d: %s: %s", h.nodes[i].ID(),
						p.Check, p.Text)
				}
			}
		}
		time.Sleep(lookEvery)
	}
}

// TestPlannedWorkIsNoTrouble restarts all servers, one after the other, each after it was drained, and then adds an
// observer, which becomes a voter. No surface tells more than notices meanwhile, and none tells anything afterwards.
func TestPlannedWorkIsNoTrouble(t *testing.T) {
	t.Parallel()
	h := newHosts(t, withSuper(4, nil)...)
	joiner := h.nodes[3]
	lines := map[string]string{"reconfigEnabled": "true", "skipACL": "yes"}
	for _, n := range h.nodes[:3] {
		key, value, _ := strings.Cut(n.Line(), "=")
		lines[key] = value
	}
	voter := joiner.Line()
	observer := strings.Replace(voter, ":participant", ":observer", 1)
	h.nodes = h.nodes[:3]
	for _, n := range h.nodes {
		n.Lists(h.nodes...)
		n.Set(lines)
	}
	h.start(h.nodes...)
	h.until(none)
	h.nodes = leaderFirst(t, h.nodes)
	for _, i := range []int{1, 2, 0} { // the leader last
		drained := &accident{name: "drained", finds: found{"drained": doctor.Notice}}
		h.drain(i)
		h.until(drained)
		h.nodes[i].Stop()
		h.nodes[i].Launch()
		h.calm(h.nodes[i].Serves)
	}
	h.until(none)

	joiner.Set(lines)
	joiner.Set(map[string]string{"server.4": strings.TrimPrefix(observer, "server.4=")})
	joiner.Launch()
	c, err := wire.Dial(h.nodes[0].Addr(), wire.Options{TimeoutMs: 30_000, Reply: time.Minute})
	require.NoError(t, err)
	defer c.Close()
	for _, line := range []string{observer, voter} {
		h.calm(func() bool { // a voter is only added when it has caught up
			reply, err := c.Do(wire.Reconfig(line, "", "", -1))
			return err == nil && reply.Header.Err == proto.OK
		})
		h.calm(joiner.Serves)
	}
	h.nodes = append(h.nodes, joiner)
	h.until(none)
}
