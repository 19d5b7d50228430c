package system

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/wire"
)

// Feature is a part of the service that only some runs use.
type Feature string

// The features.
const (
	Reconfig Feature = "reconfig" // the ensemble is changed all the time, and there are servers that wait to join
	Local    Feature = "local"    // sessions are local, until they create ephemerals or for good
	ReadOnly Feature = "readonly" // servers without a quorum serve clients that accept it
	Quota    Feature = "quota"    // clients set quotas, which are not enforced
	Priority Feature = "priority" // servers have priorities, or leaders serve nobody: they hand over without a fault
	Damage   Feature = "damage"   // files of servers that are down are damaged
	Exchange Feature = "exchange" // servers get the directories of others, or their own as they were earlier
	Clocks   Feature = "clocks"   // clocks jump while leases are held
	Outcomes Feature = "outcomes" // clients ask what has become of their requests, and send others again
)

var allFeatures = []Feature{Reconfig, Local, ReadOnly, Quota, Priority, Damage, Exchange, Clocks, Outcomes}

// often is in how many of 100 runs a feature is there.
var often = map[Feature]int{Reconfig: 25, Local: 15, ReadOnly: 20, Quota: 20, Priority: 20,
	Damage: 20, Exchange: 15, Clocks: 15, Outcomes: 40}

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
	if w.has(Priority) {
		c.Priority, c.PriorityPause = int(c.OwnID()%3), 500*time.Millisecond
	}
	c.LeaderServes = w.leadersServe()
}

// leadersServe reports whether leaders take clients in this run. They do where one server may be alone, which would
// serve nobody otherwise.
func (w *world) leadersServe() bool {
	return !w.has(Priority) || w.has(Reconfig) || w.o.Servers < 3 || w.o.Seed%2 == 0
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
	if c.w.has(Quota) && c.w.s.chance(6) {
		return asked{Request: c.load.drawQuota()}
	}
	return c.load.draw(c.session)
}

// drawQuota draws a write of the znodes of a quota, or a read of its limits. Two things the history does not tell, as
// in ZooKeeper: what is applied when the leader prepares a write, which is what counts for hard limits; and when a
// server has counted the use of a quota anew, which it does when it loads a snapshot.
func (l *load) drawQuota() wire.Request {
	const top = "/zookeeper/quota"
	at := fmt.Sprintf("%s/%c", top, 'a'+rune(l.s.rng.IntN(4)))
	if l.s.chance(30) {
		at += fmt.Sprintf("/%c", 'p'+rune(l.s.rng.IntN(3)))
	}
	count, bytes := 1+l.s.rng.IntN(6), 1+l.s.rng.IntN(300)
	limits := fmt.Appendf(nil, "count=%d,bytes=%d", count, bytes)
	if l.s.chance(60) {
		limits = fmt.Appendf(nil, "count=-1,bytes=-1;byteHardLimit=%d;countHardLimit=%d", bytes, count)
	}
	switch n := l.s.rng.IntN(100); {
	case n < 25: // as the shell of ZooKeeper does it
		return wire.Multi(wire.Create(at, nil, wire.OpenACL, proto.ModePersistent),
			wire.Create(at+"/zookeeper_limits", limits, wire.OpenACL, proto.ModePersistent),
			wire.Create(at+"/zookeeper_stats", []byte("count=0,bytes=0"), wire.OpenACL, proto.ModePersistent))
	case n < 45:
		return wire.SetData(at+"/zookeeper_limits", limits, -1)
	case n < 55:
		return wire.Delete(at+"/zookeeper_limits", -1)
	case n < 65:
		return wire.Delete(at+"/zookeeper_stats", -1)
	case n < 70:
		return wire.Delete(at, -1)
	case n < 75:
		return wire.Create(at+"/zookeeper_limits", limits, wire.OpenACL, proto.ModePersistent)
	case n < 80:
		return wire.Create(at+"/zookeeper_stats", nil, wire.OpenACL, proto.ModePersistent)
	}
	return wire.GetData(at+"/zookeeper_limits", false)
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
