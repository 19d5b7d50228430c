package recipes

import (
	"fmt"
	"slices"
)

// Life is the registration of one instance under an id of its own.
type Life struct {
	ID       string
	Begun    int64 // call of the registration
	From, To int64 // while it was surely registered; both 0 if that is never sure
	Gone     int64 // since when it is surely not, 0 if that is not sure
}

// Listing is what a client saw that had first waited for all that was known before.
type Listing struct {
	Call, Return int64
	IDs          []string
}

// JudgePresence returns an error if a listing has an instance that was not there, or lacks one that was there all the
// time.
func JudgePresence(lives []Life, listings []Listing) error {
	known := map[string]bool{}
	for _, l := range lives {
		known[l.ID] = true
	}
	for _, seen := range listings {
		for _, id := range seen.IDs {
			if !known[id] {
				return fmt.Errorf("recipes: at %d there was %s, which nobody has registered", seen.Return, id)
			}
		}
		for _, l := range lives {
			isListed := slices.Contains(seen.IDs, l.ID)
			switch {
			case isListed && seen.Return < l.Begun:
				return fmt.Errorf("recipes: at %d there was %s, which came at %d", seen.Return, l.ID, l.Begun)
			case isListed && l.Gone > 0 && l.Gone <= seen.Call:
				return fmt.Errorf("recipes: at %d there was %s, which went at %d", seen.Call, l.ID, l.Gone)
			case !isListed && l.To > 0 && l.From <= seen.Call && seen.Return <= l.To:
				return fmt.Errorf("recipes: from %d to %d there was no %s, which was there from %d to %d", seen.Call,
					seen.Return, l.ID, l.From, l.To)
			}
		}
	}
	return nil
}
