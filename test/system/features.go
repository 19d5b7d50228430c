package system

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/seed94657493/warren/server/config"
)

// Feature is a part of the service that only some runs use.
type Feature string

// The features.
const (
	Reconfig Feature = "reconfig" // the ensemble is changed all the time, and there are servers that wait to join
	Local    Feature = "local"    // sessions are local, until they create ephemerals or for good
	ReadOnly Feature = "readonly" // servers without a quorum serve clients that accept it
)

var allFeatures = []Feature{Reconfig, Local, ReadOnly}

// often is in how many of 100 runs a feature is there.
var often = map[Feature]int{Reconfig: 25, Local: 15, ReadOnly: 20}

// drawFeatures draws what is not given. It has a source of chance of its own, so that a run without features is the
// run that it was before there were any.
func drawFeatures(o *Options) {
	if o.Features != nil {
		return
	}
	rng := rand.New(rand.NewPCG(o.Seed, 0xfea))
	for _, f := range allFeatures {
		if rng.IntN(100) < often[f] {
			o.Features = append(o.Features, f)
		}
	}
}

// has reports whether this run has a feature.
func (w *world) has(f Feature) bool { return slices.Contains(w.o.Features, f) }

// features changes the configuration of a server to that of a run with features.
func (w *world) features(c *config.Config) {
	if w.has(Reconfig) {
		c.ReconfigEnabled, c.SuperDigest = true, superDigest
	}
	c.LocalSessionsEnabled, c.LocalSessionsUpgradingEnabled = w.has(Local), w.o.Seed%3 > 0
	c.ReadOnlyMode = w.has(ReadOnly)
}

// The super user of runs with features.
const (
	superCredentials = "super:test"
	superDigest      = "super:D/InIHSb7yEEbrWz8b9l71RjZJU="
)

// draw draws the next request of a client.
func (c *client) draw() asked {
	if c.w.has(Reconfig) && c.w.s.chance(6) {
		return c.w.drawMembers()
	}
	return c.load.draw(c.session)
}

// proves adds credentials that the client of a new session will prove.
func (c *client) proves(s *session) {
	if c.w.has(Reconfig) && (c.id == 0 || c.w.s.chance(10)) {
		s.auth = append(s.auth, superCredentials)
	}
}

// parseFeatures reads a list of features, as a flag has it; none is an empty list.
func parseFeatures(text string) []Feature {
	all := []Feature{}
	for name := range strings.SplitSeq(text, ",") {
		if name != "none" {
			all = append(all, Feature(name))
		}
	}
	return all
}
