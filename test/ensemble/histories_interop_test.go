//go:build interop

package ensemble

import (
	"fmt"
	"testing"

	"github.com/seed94657493/warren/test/cluster"
)

// The large scenes with servers in Java among the others, or as the one that comes. A server in Java refuses a leader
// whose epoch is below one that it has accepted, and stays outside by itself; other differences it does not know, and
// does not tell.

const (
	w = cluster.Warren
	z = cluster.ZooKeeper
)

// mixedScenes are ensembles with one or two servers in Java, the last of which comes, and which kind leads then.
var mixedScenes = map[string][]scene{
	"five": {
		{kinds: []cluster.Kind{w, w, w, w, z}, leader: w},
		{kinds: []cluster.Kind{z, w, w, w, z}, leader: w},
		{kinds: []cluster.Kind{w, w, w, z, z}, leader: z},
		{kinds: []cluster.Kind{z, w, w, w, w}, leader: w},
		{kinds: []cluster.Kind{w, w, w, z, w}, leader: z},
		{kinds: []cluster.Kind{w, z, w, z, w}, leader: z},
	},
	"three": {
		{kinds: []cluster.Kind{w, w, z}, leader: w},
		{kinds: []cluster.Kind{z, w, z}, leader: w},
		{kinds: []cluster.Kind{w, z, z}, leader: z},
		{kinds: []cluster.Kind{z, w, w}, leader: w},
		{kinds: []cluster.Kind{w, z, w}, leader: z},
		{kinds: []cluster.Kind{z, z, w}, leader: z},
	},
}

// name says which server comes to which leader.
func (s scene) name() string { return fmt.Sprintf("%v led by %s", s.kinds, s.leader) }

// eachMixed runs a scene with each of the ensembles.
func eachMixed(t *testing.T, servers string, run func(*testing.T, scene)) {
	for _, s := range mixedScenes[servers] {
		t.Run(s.name(), func(t *testing.T) { run(t, s) })
	}
}

// TestMadeAnewMixed is TestMadeAnew with servers in Java.
func TestMadeAnewMixed(t *testing.T) {
	eachMixed(t, "five", func(t *testing.T, s scene) { s.madeAnew(t) })
}

// TestBroughtBackMixed is TestBroughtBack with servers in Java.
func TestBroughtBackMixed(t *testing.T) {
	eachMixed(t, "three", func(t *testing.T, s scene) { s.broughtBack(t) })
}

// TestBroughtBackTogetherMixed is TestBroughtBackTogether with servers in Java.
func TestBroughtBackTogetherMixed(t *testing.T) {
	eachMixed(t, "three", func(t *testing.T, s scene) { s.broughtBackTogether(t) })
}

// TestForeignMixed is TestForeign with servers in Java. One whose history has no more epochs than that of the leader
// joins as it would join ZooKeeper, if it or the leader is a server in Java.
func TestForeignMixed(t *testing.T) {
	for _, epochs := range foreignEpochs[:2] {
		t.Run(epochs, func(t *testing.T) {
			eachMixed(t, "three", func(t *testing.T, s scene) {
				s.epochs = epochs
				s.joins = epochs != foreignEpochs[0] && (s.kinds[2] == z || s.leader == z)
				s.foreign(t)
			})
		})
	}
}
