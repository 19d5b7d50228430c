package console

import "github.com/seed94657493/warren/server/internal/api"

// fakeViews has hostile names and data everywhere.
type fakeViews struct{}

func (fakeViews) Recipes(api.Actor, string, string, int) (*api.Recipes, error) {
	return &api.Recipes{Visited: 9, After: "/" + hostile, Missed: true, Recipes: []api.Recipe{
		{Path: "/" + hostile, Kind: hostile, Layout: hostile, Note: hostile, Total: 500, Members: []api.Holder{
			{Path: "/" + hostile + "/" + hostile, State: hostile, Session: hostile, Since: 5, Text: hostile}, {}}},
		{Path: "/", Members: []api.Holder{{Path: "/a", State: "holds"}}}}}, nil
}
