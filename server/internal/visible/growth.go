package visible

import (
	"slices"

	"github.com/seed94657493/warren/server/internal/sizes"
)

// formersMax is how many former results a count keeps, and formerParts how many subtrees of each.
const formersMax, formerParts = 8, 2500

// former is a result that a newer one has replaced.
type former struct {
	counted int64 // when it was complete, ms since 1970
	missed  bool
	whole   *sizes.Part
}

// remember returns former results, in the order of their times, with one that is newer than all of them. Of too many
// the one goes whose neighbours are nearest to each other for its age, so that the gaps grow with the age. The oldest
// stays.
func remember(all []former, one former) []former {
	all = append(all, one)
	if len(all) <= formersMax {
		return all
	}
	least, at := 0.0, 0
	for i := 1; i < len(all)-1; i++ {
		gap := float64(all[i+1].counted-all[i-1].counted) / float64(one.counted-all[i-1].counted)
		if at == 0 || gap < least {
			least, at = gap, i
		}
	}
	return slices.Delete(all, at, at+1)
}

// before returns the last of former results that is no newer than since, the oldest one if all are newer, and nil if
// there is none.
func before(all []former, since int64) *former {
	if len(all) == 0 {
		return nil
	}
	i := len(all) - 1
	for i > 0 && all[i].counted > since {
		i--
	}
	return &all[i]
}

// growth compares a part with what it was in a former result.
type growth struct {
	is     bool        // there is a former result
	missed bool        // of that, or of the present one
	part   *sizes.Part // nil if it was not there, or not kept
}

// of returns the growth of a part below that of g.
func (g growth) of(name string) growth {
	below := growth{is: g.is, missed: g.missed}
	if g.part != nil {
		below.part = g.part.Find([]string{name})
		below.missed = g.missed || g.part.Others > 0
	}
	return below
}

// bytes returns by how many bytes a part that has now so many has grown, nil if that is not known.
func (g growth) bytes(now int64) *int64 {
	switch {
	case g.part != nil:
		now -= g.part.Bytes
	case !g.is || g.missed:
		return nil
	}
	return &now
}
