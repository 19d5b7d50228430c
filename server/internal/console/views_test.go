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

func (fakeViews) Sizes(_ api.Actor, path string) (*api.Sizes, error) {
	if path == "/new" {
		return &api.Sizes{Path: path, Running: true, Progress: 0.5}, nil
	}
	part := api.SizePart{Path: "/" + hostile, Znodes: 5, Bytes: 500, Writes: 1,
		Parts: []api.SizePart{{Path: "/" + hostile + "/" + hostile, Znodes: 4, Bytes: 400}}}
	return &api.Sizes{Path: path, Counted: 5, Missed: true, Running: true, Progress: 0.1,
		Whole: api.SizePart{Path: path, Znodes: 11, Bytes: 1100, Others: 4,
			Parts: []api.SizePart{part, {Path: "/empty"}}}}, nil
}
