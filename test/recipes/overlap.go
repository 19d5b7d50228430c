package recipes

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/seed94657493/warren/client"
)

// span is for how long one possession is known to have lasted, and when it may have begun.
type span struct {
	grant    Operation
	from, to int64 // from the return of the grant to the call of the last use; to is below from if there was no use
}

// spans returns what is known about each possession, in the order of the tokens.
func spans(ops []Operation) []span {
	last := map[client.Zxid]int64{}
	for _, o := range ops {
		if o.Kind == Use {
			last[o.Token] = max(last[o.Token], o.Call)
		}
	}
	var all []span
	for _, o := range ops {
		if o.Kind == Grant {
			all = append(all, span{o, o.Return, last[o.Token]})
		}
	}
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.grant.Token, b.grant.Token) })
	return all
}

// JudgeShared returns an error if more than limit possessions that are shared, or one that is not and any other,
// overlapped, and if of two that exclude each other the one with the larger token came first.
func JudgeShared(ops []Operation, limit int) error {
	all := spans(ops)
	for i, s := range all {
		for j, later := range all[i+1:] {
			switch {
			case s.grant.Token == later.grant.Token:
				return fmt.Errorf("recipes: %v and %v have one token", s.grant, all[i+1+j].grant)
			case s.grant.IsShared && later.grant.IsShared:
			case max(s.grant.Call, s.to) > later.from:
				return fmt.Errorf("recipes: %v, used at %d, overlaps %v", s.grant, s.to, later.grant)
			}
		}
	}
	return judgeLimit(all, limit)
}

// judgeLimit counts the clients that share, at every moment at which one begins.
func judgeLimit(all []span, limit int) error {
	for _, s := range all {
		n := 0
		for _, other := range all {
			if s.grant.IsShared && other.grant.IsShared && other.from <= s.from && s.from < other.to {
				n++
			}
		}
		if n > limit {
			return fmt.Errorf("recipes: at %d, after %v, the lock has %d holders, the limit is %d", s.from,
				s.grant, n, limit)
		}
	}
	return nil
}
