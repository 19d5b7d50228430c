package recipes

import (
	"cmp"
	"fmt"
	"slices"
)

// Outcome is what a change of a shared value has come to.
type Outcome int

// The outcomes.
const (
	Refused Outcome = iota // it has not happened
	Unknown                // it may have happened
	Known
)

// Change is an attempt to replace a shared value by another that no other client writes.
type Change struct {
	Value, Before     string
	Version, Previous int32 // of the value and of the one before; -1 if there was none
	Outcome           Outcome
	Call, Return      int64
}

// Sight is a shared value as one client has read it.
type Sight struct {
	Client  int
	Value   string
	Version int32 // -1 if there was none
}

// JudgeChanges returns an error unless every change that is known replaced what it says, one after the other as time
// passed, and every sight is of such a value or of one whose outcome is unknown. The sights of a client are in their
// order, and none is older than the one before.
func JudgeChanges(changes []Change, sights []Sight) error {
	outcomes := map[string]Outcome{"": Known}
	for _, c := range changes {
		outcomes[c.Value] = c.Outcome
	}
	values, versions := map[int32]string{}, map[string]int32{}
	see := func(value string, version int32) error {
		if outcome, ok := outcomes[value]; !ok || outcome == Refused {
			return fmt.Errorf("recipes: version %d is %q, which nobody has written", version, value)
		}
		if other, ok := values[version]; ok && other != value {
			return fmt.Errorf("recipes: version %d is both %q and %q", version, other, value)
		}
		if other, ok := versions[value]; ok && other != version {
			return fmt.Errorf("recipes: %q is both version %d and version %d", value, other, version)
		}
		values[version], versions[value] = value, version
		return nil
	}
	for _, c := range changes {
		if c.Outcome != Known {
			continue
		}
		if err := see(c.Value, c.Version); err != nil {
			return err
		}
		if err := see(c.Before, c.Previous); err != nil {
			return err
		}
		if c.Version != c.Previous+1 {
			return fmt.Errorf("recipes: %q of version %d replaced what it had not seen: it had seen version %d",
				c.Value, c.Version, c.Previous)
		}
	}
	last := map[int]int32{}
	for _, s := range sights {
		if err := see(s.Value, s.Version); err != nil {
			return err
		}
		if before, ok := last[s.Client]; ok && s.Version < before {
			return fmt.Errorf("recipes: client %d read version %d after version %d", s.Client, s.Version, before)
		}
		last[s.Client] = s.Version
	}
	return judgeTimes(changes)
}

// judgeTimes compares the order of versions with that of times: no change that began after another had ended is
// older.
func judgeTimes(changes []Change) error {
	known := slices.DeleteFunc(slices.Clone(changes), func(c Change) bool { return c.Outcome != Known })
	ended := slices.Clone(known)
	slices.SortFunc(known, func(a, b Change) int { return cmp.Compare(a.Call, b.Call) })
	slices.SortFunc(ended, func(a, b Change) int { return cmp.Compare(a.Return, b.Return) })
	newest := Change{Version: -1}
	for _, c := range known {
		for len(ended) > 0 && ended[0].Return < c.Call {
			if ended[0].Version > newest.Version {
				newest = ended[0]
			}
			ended = ended[1:]
		}
		if newest.Version >= c.Version {
			return fmt.Errorf("recipes: version %d was there at %d, and version %d was written from %d on",
				newest.Version, newest.Return, c.Version, c.Call)
		}
	}
	return nil
}
