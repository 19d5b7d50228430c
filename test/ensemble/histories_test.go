package ensemble

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
)

// What an established leader and a quorum have acknowledged stays, whatever directory a member comes back with: no
// two histories are ever joined. The member with the other history stays outside and keeps its files.

// TestMadeAnew makes four of five servers begin with an empty database while the fifth is down, and lets the fifth
// come with its old one.
func TestMadeAnew(t *testing.T) {
	t.Parallel()
	scene{kinds: of(cluster.Warren, 5)}.madeAnew(t)
}

// TestBroughtBack brings two of three servers back to an old copy of their directories while the third is down, and
// lets the third come.
func TestBroughtBack(t *testing.T) {
	t.Parallel()
	scene{kinds: of(cluster.Warren, 3)}.broughtBack(t)
}

// TestBroughtBackReadOnly is TestBroughtBack with servers that serve reads without a quorum: the one that stays
// outside does not.
func TestBroughtBackReadOnly(t *testing.T) {
	t.Parallel()
	settings := map[string]string{"readonlymode.enabled": "true"}
	scene{kinds: of(cluster.Warren, 3), settings: settings}.broughtBack(t)
}

// TestBroughtBackTogether is TestBroughtBack, but the third is there before the two have acknowledged anything: its
// history goes on.
func TestBroughtBackTogether(t *testing.T) {
	t.Parallel()
	scene{kinds: of(cluster.Warren, 3)}.broughtBackTogether(t)
}

// TestForeign gives a member the directory of a member of another ensemble with the same id, which has seen more
// epochs, or fewer.
func TestForeign(t *testing.T) {
	t.Parallel()
	for _, epochs := range foreignEpochs {
		t.Run(epochs, func(t *testing.T) {
			t.Parallel()
			scene{kinds: of(cluster.Warren, 3), epochs: epochs}.foreign(t)
		})
	}
}

// foreignEpochs says what the other ensemble has seen, beside the member's own.
var foreignEpochs = []string{"more epochs", "fewer epochs", "as many epochs"}

// scene is one of the large scenes: an ensemble, of which the last server comes with another history.
type scene struct {
	kinds  []cluster.Kind
	leader cluster.Kind // that the others have when it comes; "" is any
	epochs string       // of foreignEpochs
	// settings are more settings for all servers.
	settings map[string]string
	// joins says that the newcomer may join: nothing that a server in Java says or hears tells the histories apart.
	joins bool
}

// java reports whether there is a server that elects by epoch and zxid alone.
func (s scene) java() bool { return slices.Contains(s.kinds, cluster.ZooKeeper) }

// apart returns the newcomer and the others.
func (s scene) apart(all *chaos) (newcomer *cluster.Node, others *chaos) {
	n := len(all.nodes) - 1
	return all.nodes[n], all.among(all.nodes[:n]...)
}

// comes lets the newcomer, which is down, come to the others, which have acknowledged kept. Nothing changes for the
// others, and nothing in the files of the newcomer. It stays like that when all are killed and started at once.
func (s scene) comes(newcomer *cluster.Node, c *chaos, kept []string) {
	t := c.t
	t.Helper()
	held := newcomer.Held()
	outside := func() {
		t.Helper()
		assert.False(t, newcomer.Serves(), "server %d (%s) serves", newcomer.ID(), newcomer.Kind())
		if newcomer.Kind() == cluster.Warren { // one in Java writes a snapshot at each start
			assert.Equal(t, held, newcomer.Held(), "the files of server %d", newcomer.ID())
			c.showsOutside(newcomer, c.certainLeader())
		}
	}
	g := c.stands()
	leader := c.certainLeader()
	c.logf("server %d (%s) comes; %d (%s) leads", newcomer.ID(), newcomer.Kind(), leader.ID(), leader.Kind())
	newcomer.Launch()
	c.answers(newcomer)
	if s.joins {
		g.holds(sceneWatched)
		c.logf("server %d (%s) serves: %v", newcomer.ID(), newcomer.Kind(), newcomer.Serves())
		if newcomer.Serves() {
			c.logf("it has the tree of the others: %v", c.dump(newcomer) == c.dump(leader))
		}
	} else {
		g.holds(sceneWatched, newcomer)
		outside()
	}
	c.keeps(kept)
	if t.Failed() {
		return
	}
	c.same()
	if s.java() {
		return
	}
	c.among(c.certainLeader()).showStrangers(newcomer)
	c.logf("all servers are killed and started")
	c.among(append(slices.Clone(c.nodes), newcomer)...).again()
	c.keeps(kept)
	c.answers(newcomer)
	c.stands().holds(sceneWatched, newcomer)
	outside()
	c.keeps(c.creates("together", 3))
	c.same()
}

func (s scene) madeAnew(t *testing.T) {
	all := newScene(t, s.kinds...)
	all.eras("old", 4)
	require.GreaterOrEqual(t, all.epoch(), int64(5))
	all.end()
	newcomer, c := s.apart(all)
	for _, node := range c.nodes {
		node.Wipe()
		node.Initialize()
	}
	c.begin()
	c.ledByKind(s.leader)
	require.Less(t, c.epoch(), int64(5))
	s.comes(newcomer, c, c.creates("new", sceneCreates))
}

// withCopies returns an ensemble that is down, of which all but the last server have an old copy of their
// directories, and what was acknowledged.
func (s scene) withCopies(t *testing.T) (all *chaos, kept []string) {
	t.Helper()
	all = newSceneWith(t, s.settings, s.kinds...)
	kept = all.eras("old", 1)
	all.end()
	_, c := s.apart(all)
	putBack := c.copies()
	all.begin()
	kept = append(kept, all.eras("since", 3)...)
	all.end()
	putBack()
	return all, kept
}

func (s scene) broughtBack(t *testing.T) {
	all, _ := s.withCopies(t)
	newcomer, c := s.apart(all)
	c.begin()
	c.ledByKind(s.leader)
	s.comes(newcomer, c, c.creates("new", sceneCreates))
}

func (s scene) broughtBackTogether(t *testing.T) {
	all, kept := s.withCopies(t)
	newcomer, c := s.apart(all)
	newcomer.Launch()
	all.answers(newcomer)
	c.begin()
	all.keeps(kept)
	all.keeps(all.creates("after", sceneCreates))
	all.same()
}

func (s scene) foreign(t *testing.T) {
	there, all := newScene(t, s.kinds...), newScene(t, s.kinds...)
	newcomer, c := s.apart(all)
	fits := map[string]func() bool{
		"more epochs":    func() bool { return there.epoch() > all.epoch() },
		"fewer epochs":   func() bool { return there.epoch() < all.epoch() },
		"as many epochs": func() bool { return there.epoch() == all.epoch() },
	}[s.epochs]
	var kept []string
	settle := func() {
		kept = append(kept, all.creates(fmt.Sprintf("here-%d", len(kept)), 3)...)
		newcomer.Stop()
		c.ledByKind(s.leader)
		newcomer.Start()
	}
	for settle(); !fits(); {
		if there.epoch() > all.epoch() || s.epochs == "fewer epochs" {
			all.eras(fmt.Sprintf("era-%d", len(kept)), 1)
			settle()
		} else {
			there.eras(fmt.Sprintf("there-%d", there.epoch()), 1)
		}
	}
	c.logf("epoch %d, and %d in the other ensemble", all.epoch(), there.epoch())
	there.end()
	newcomer.Stop()
	kept = append(kept, c.creates("new", sceneCreates)...)
	newcomer.PutData(there.nodes[len(there.nodes)-1].CopyData())
	s.comes(newcomer, c, kept)
}
