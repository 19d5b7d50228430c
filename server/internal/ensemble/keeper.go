package ensemble

import (
	"cmp"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/json"
	"net/netip"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/internal/findings"
	"github.com/seed94657493/warren/server/internal/facts"
)

// keepEvery is how often the servers of the configuration ask each other, and tellEvery how often the log repeats a
// finding that lasts.
const keepEvery, tellEvery = 2 * time.Second, time.Minute

// keeper holds what the servers of the ensemble have told last, and since when there is each finding. The goroutine of
// Keep asks them; any goroutine may ask for the judgement.
type keeper struct {
	mu       sync.Mutex
	instance uint64                 // of this process
	address  string                 // at which it has found itself; empty before
	key      *ecdh.PrivateKey       // of this process
	others   []findings.Server      // in the order of the configuration, then twins; replaced, not changed
	plain    map[int64]time.Time    // servers that are none of Warren, and when they were asked for a record
	hosts    []netip.Addr           // of the servers that have no names
	places   map[string]whereabouts // of the names of servers
	times    map[int64]float64      // ms that each of them took to answer last
	tree     *facts.Tree            // the last one that was known; nil before
	began    map[trait]time.Time
	tallies  map[string]*tally
	numbers  []findings.Finding // of this server, by its numbers; replaced, not changed
	around   []findings.Finding // of this server, by its files and its memory; replaced, not changed
	mode     string             // of this server, with serving and since when
	serving  bool
	since    time.Time

	starts       []time.Time   // see Started
	certificates []certificate // that this server shows, beside those of its ports for clients and servers

	recheck  func() error      // reads the configuration again; nil if nobody can
	lookedAt time.Time         // when lookAround last did; of the goroutine of Keep
	told     map[trait]telling // findings that the log knows; of the goroutine of Keep
}

// trait is what makes two findings the same at two times.
type trait struct {
	check, address string
	server         int64
}

func traitOf(f *findings.Finding) trait { return trait{f.Check, f.Address, f.Server} }

// telling is what the log has of a finding.
type telling struct {
	last    time.Time
	finding findings.Finding
}

func (k *keeper) init(instance uint64) {
	k.instance, k.times, k.plain = instance, map[int64]float64{}, map[int64]time.Time{}
	k.places = map[string]whereabouts{}
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		panic("facts: no key: " + err.Error()) // rand never fails
	}
	k.key = key
	k.began, k.tallies, k.told = map[trait]time.Time{}, map[string]*tally{}, map[trait]telling{}
}

// byID returns the others by their ids. Of two with one id it is the one at the address of the configuration.
// REQUIRES: k.mu.
func (k *keeper) byID() map[int64]findings.Server {
	all := map[int64]findings.Server{}
	for _, s := range k.others {
		if _, twice := all[s.ID]; !twice {
			all[s.ID] = s
		}
	}
	return all
}

// refresh counts the numbers anew, for one who asks and may wait, unless the tree is not free for long.
func (f *Facts) refresh() {
	for try := 0; try < 20 && f.Serving(); try++ {
		if f.Stalled() == 0 && f.Store.Mu.TryRLock() {
			f.Store.Mu.RUnlock()
			f.countNumbers()
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Record is what this server tells of itself and of the others.
func (f *Facts) Record() *findings.Record {
	f.refresh()
	f.keeper.mu.Lock()
	defer f.keeper.mu.Unlock()
	return &findings.Record{Self: f.self(f.Runtime.Now()), Others: f.keeper.others}
}

// RecordText is Record as JSON.
func (f *Facts) RecordText() []byte { return written(f.Record()) }

// written is a record of this package as JSON.
func written(record any) []byte {
	text, err := json.Marshal(record)
	if err != nil {
		panic("ensemble: a record of this package cannot be written: " + err.Error())
	}
	return text
}

// Findings is what is wrong with the ensemble, as far as this server knows, the most urgent first.
func (f *Facts) Findings() []findings.Finding {
	k := &f.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	now := f.Runtime.Now()
	all := findings.Ensemble(append([]findings.Server{f.self(now)}, k.others...), now, findings.LagMax)
	began := make(map[trait]time.Time, len(all))
	for i := range all {
		t := traitOf(&all[i])
		if first, ok := k.began[t]; ok && (all[i].Since.IsZero() || first.Before(all[i].Since)) {
			all[i].Since = first
		} else if all[i].Since.IsZero() {
			all[i].Since = now
		}
		began[t] = all[i].Since
	}
	k.began = began
	return all
}

// Keep asks the other servers and tells the log what is wrong, until the server stops.
func (f *Facts) Keep() {
	if f.Config.Distributed() {
		f.keeper.remember(f.disk.Meta.Addresses())
	}
	for {
		f.askOthers()
		f.countNumbers()
		f.lookAround()
		f.lastTree()
		if f.Stopping.IsOpen() {
			return // that it serves nobody is no trouble
		}
		f.tell(f.Findings(), f.Runtime.Now())
		if f.Stopping.WaitFor(keepEvery) {
			return
		}
	}
}

// tell writes to the log each finding that is more than a notice when it begins, once in tellEvery while it lasts, and
// when it has ended.
func (f *Facts) tell(all []findings.Finding, now time.Time) {
	told := f.keeper.told
	there := map[trait]bool{}
	for i := range all {
		x := &all[i]
		if x.Severity < findings.Warning {
			continue
		}
		t := traitOf(x)
		there[t] = true
		if old, ok := told[t]; ok && now.Sub(old.last) < tellEvery && old.finding.Severity == x.Severity {
			continue
		}
		told[t] = telling{now, *x}
		fields := []zap.Field{zap.String("check", x.Check), zap.String("severity", x.Severity.String()),
			zap.Duration("for", now.Sub(x.Since).Round(time.Second)), zap.String("remedy", x.Remedy)}
		if x.Severity == findings.Warning {
			f.Log.Warn(x.Text(), fields...)
		} else {
			f.Log.Error(x.Text(), fields...)
		}
	}
	var over []telling
	for t, old := range told {
		if !there[t] {
			over = append(over, old)
			delete(told, t)
		}
	}
	slices.SortFunc(over, func(a, b telling) int { return cmp.Compare(a.finding.Check, b.finding.Check) })
	for _, old := range over {
		level := zap.ErrorLevel // a log that has the beginning has the end
		if old.finding.Severity == findings.Warning {
			level = zap.WarnLevel
		}
		f.Log.Log(level, "no longer: "+old.finding.Text(), zap.String("check", old.finding.Check),
			zap.Duration("lasted", now.Sub(old.finding.Since).Round(time.Second)))
	}
}
