//go:build interop

package ensemble

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/wire"
)

// preferencePause is how long a follower of a higher priority has to be fit before it gets the leadership.
const preferencePause = time.Second

// newPreferring brings up servers with priorities, by their place. Servers in Java do not know the settings.
func newPreferring(t *testing.T, priorities []int, kinds ...cluster.Kind) *chaos {
	t.Helper()
	admin := map[int]int{}
	c, _ := newConfigured(t, func(id int, o *cluster.Options) {
		o.Settings["warren.priority"] = strconv.Itoa(priorities[id-1])
		o.Settings["warren.priorityPauseMs"] = strconv.FormatInt(preferencePause.Milliseconds(), 10)
		if o.Kind == cluster.Warren {
			admin[id] = adminSettings(t, o.Settings)
			o.Settings["DigestAuthenticationProvider.superDigest"] = auth.DigestIdentity("super:secret").ID
		}
	}, kinds...)
	c.admin = admin
	return c
}

// comesToLead waits until a server leads, and all serve.
func (c *chaos) comesToLead(node *cluster.Node) {
	c.t.Helper()
	cluster.Eventually(c.t, func() bool { return c.certainLeader() == node }, time.Minute,
		"server %d does not come to lead", node.ID())
	c.whole()
}

// staysLed makes sure that the leadership moves no more, even when there was much time for it.
func (c *chaos) staysLed() {
	c.t.Helper()
	leader, epoch := c.certainLeader(), c.epoch()
	time.Sleep(5 * preferencePause)
	require.Equal(c.t, leader.ID(), c.certainLeader().ID())
	require.Equal(c.t, epoch, c.epoch(), "no leader was elected meanwhile")
}

// TestPriorityBesideJava has a server in Java beside two of Warren. The leadership goes to the Warren server of the
// higher priority if the other one has it, and stays there. Of a leader in Java it is not taken, and a server in Java
// gets none.
func TestPriorityBesideJava(t *testing.T) {
	for _, tt := range []struct {
		name       string
		kinds      []cluster.Kind
		priorities []int
		preferred  int // by id; 0: no server that knows priorities has one
	}{
		{"Java has the best claim", []cluster.Kind{cluster.Warren, cluster.Warren, cluster.ZooKeeper},
			[]int{10, 1, 0}, 1},
		{"Java has the weakest claim", []cluster.Kind{cluster.ZooKeeper, cluster.Warren, cluster.Warren},
			[]int{0, 10, 0}, 2},
		{"Java is named as preferred", []cluster.Kind{cluster.ZooKeeper, cluster.Warren, cluster.Warren},
			[]int{10, 0, 0}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newPreferring(t, tt.priorities, tt.kinds...)
			java := c.nodes[slices.Index(tt.kinds, cluster.ZooKeeper)]
			if java.ID() == 3 {
				c.ledBy(cluster.ZooKeeper)
				c.staysLed()
				java.Stop()
			}
			if tt.preferred == 0 {
				require.Equal(t, cluster.Warren, c.certainLeader().Kind())
				c.staysLed()
				return
			}
			preferred := c.nodes[tt.preferred-1]
			cluster.Eventually(t, func() bool { return c.certainLeader() == preferred }, time.Minute,
				"server %d does not come to lead", preferred.ID())
			if !java.Running() {
				java.Launch()
			}
			c.whole()
			c.staysLed()

			preferred.Kill()
			other := c.certainLeader()
			preferred.Launch()
			c.whole()
			c.logf("server %d (%s) leads while server %d is away", other.ID(), other.Kind(), preferred.ID())
			if other == java {
				c.staysLed()
				return
			}
			c.comesToLead(preferred)
			c.staysLed()
		})
	}
}

// TestJavaFollowerAtPriority lets a client write at a follower in Java while the leadership moves between two Warren
// servers: by a priority, and as it moves when a leader stops. The client keeps its session and its ephemeral each
// time, and waits about as long.
func TestJavaFollowerAtPriority(t *testing.T) {
	c := newPreferring(t, []int{0, 10, 0}, cluster.ZooKeeper, cluster.Warren, cluster.Warren)
	java, preferred, other := c.nodes[0], c.nodes[1], c.nodes[2]
	c.comesToLead(preferred)
	conn := wire.Open(t, java.Addr(), wire.Options{TimeoutMs: sessionTimeout})
	conn.MustCreate(t, "/mine", nil, proto.ModeEphemeral)
	w := &writer{name: "at Java", setter: newRawSetter("/mine", []string{java.Addr()}), done: make(chan struct{})}
	resume := conn.Resume()
	resume.Reply = rawPatience
	w.setter.(*rawSetter).o = resume
	conn.Close()
	go w.run()
	t.Cleanup(w.end)
	waited := func(from time.Time) time.Duration {
		return w.longestGap(from, w.waitAfter(t, time.Now()).acked)
	}
	w.waitAfter(t, time.Now())
	var moved, stopped []time.Duration
	for round := range 3 {
		// An operator moves the leadership, and the priority moves it back.
		from := time.Now()
		told := c.order(preferred.ID(), "hand_over", fmt.Sprintf(`{"to": %d}`, other.ID()))
		require.EqualValues(t, other.ID(), told["leader"], told)
		c.whole()
		c.logf("round %d: by order the client waited %v", round, waited(from).Round(time.Millisecond))
		from = time.Now()
		c.comesToLead(preferred)
		moved = append(moved, waited(from))
		c.logf("round %d: by priority the client waited %v", round, moved[round].Round(time.Millisecond))
	}
	for range 3 {
		from := time.Now()
		leader := c.certainLeader()
		leader.Stop()
		stopped = append(stopped, waited(from))
		c.logf("server %d stopped: the client waited %v", leader.ID(), stopped[len(stopped)-1].Round(time.Millisecond))
		leader.Launch()
		c.whole()
	}
	w.end()
	require.NoError(t, w.failed, "the session lives on")
	require.Less(t, slices.Max(moved), slices.Max(stopped)+time.Second)
	at := c.client(preferred)
	defer at.Close()
	require.NoError(t, at.Sync("/"))
	stat := at.MustExists(t, "/mine", false)
	require.Equal(t, resume.Session, stat.EphemeralOwner)
	c.same()
}
