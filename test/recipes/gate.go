package recipes

import "fmt"

// Stand is a time in which a barrier surely stood: from the return of Set to the call of Remove.
type Stand struct{ From, To int64 }

// Pass is a Wait at a barrier.
type Pass struct {
	Client       int
	Call, Return int64
}

// JudgeGate returns an error if a client passed a barrier while it stood. Otherwise it tells how many it has held
// back.
func JudgeGate(stands []Stand, passes []Pass) (held int, err error) {
	for _, p := range passes {
		for _, s := range stands {
			switch {
			case s.From <= p.Call && p.Return <= s.To:
				return 0, fmt.Errorf("recipes: client %d came at %d and passed at %d a barrier that stood from %d "+
					"to %d", p.Client, p.Call, p.Return, s.From, s.To)
			case p.Call <= s.To && s.To < p.Return:
				held++
			}
		}
	}
	return held, nil
}
