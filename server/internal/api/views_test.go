package api

// fakeViews has nothing to show.
type fakeViews struct{}

func (fakeViews) Recipes(Actor, string, string, int) (*Recipes, error) { return nil, ErrNotServing }
func (fakeViews) Sizes(Actor, string) (*Sizes, error)                  { return nil, ErrNotServing }
