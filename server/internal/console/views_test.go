package console

import (
	"context"

	"github.com/seed94657493/warren/server/internal/api"
)

// fakeViews has hostile names and data everywhere.
type fakeViews struct{}

func (fakeViews) Trends(int64) *api.Trends                          { return &api.Trends{} }
func (fakeViews) Watchers(api.Actor, string) (*api.Watchers, error) { return &api.Watchers{}, nil }
func (fakeViews) ID() int64                                         { return 1 }
func (fakeViews) Pass(context.Context, int64, api.Task) (*api.TaskAnswer, error) {
	return nil, &api.Refusal{Status: 502, Text: "there is no other server"}
}
func (fakeViews) Servers() *api.Servers { return &api.Servers{} }

func (fakeViews) Recipes(api.Actor, string, string, int) (*api.Recipes, error) {
	return &api.Recipes{Visited: 9, After: "/" + hostile, Missed: true, Recipes: []api.Recipe{
		{Path: "/" + hostile, Kind: hostile, Layout: hostile, Note: hostile, Total: 500, Members: []api.Holder{
			{Path: "/" + hostile + "/" + hostile, State: hostile, Session: hostile, Since: 5, Text: hostile}, {}}},
		{Path: "/", Members: []api.Holder{{Path: "/a", State: "holds"}}}}}, nil
}

func (fakeViews) Sizes(_ api.Actor, path string, _ int64) (*api.Sizes, error) {
	if path == "/new" {
		return &api.Sizes{Path: path, Running: true, Progress: 0.5}, nil
	}
	part := api.SizePart{Path: "/" + hostile, Znodes: 5, Bytes: 500, Writes: 1,
		Parts: []api.SizePart{{Path: "/" + hostile + "/" + hostile, Znodes: 4, Bytes: 400}}}
	return &api.Sizes{Path: path, Counted: 5, Missed: true, Running: true, Progress: 0.1,
		Whole: api.SizePart{Path: path, Znodes: 11, Bytes: 1100, Others: 4,
			Parts: []api.SizePart{part, {Path: "/empty"}}}}, nil
}

func (fakeViews) Past(
	_ context.Context, _ api.Actor, _ api.Moment, path, _ string, _ int,
) (*api.Past, error) {
	return &api.Past{Zxid: "0x5", At: 5, Snapshot: hostile, Exists: true,
		Znode: api.Znode{Path: path, Raw: []byte(hostile), ACL: []api.ACL{{Scheme: hostile, ID: hostile}}},
		Children: api.Children{After: hostile,
			Children: []api.Child{{Name: hostile, Owner: hostile, Children: 1}}}}, nil
}
func (fakeViews) Terms(context.Context, api.Actor, string) (*api.Terms, error) {
	return &api.Terms{}, nil
}
func (fakeViews) Difference(
	context.Context, api.Actor, api.Moment, api.Moment, string, int,
) (*api.Difference, error) {
	return &api.Difference{From: hostile, To: "0x6", Changed: 9, Cut: true, Changes: []api.PastChange{
		{Path: "/" + hostile, Kind: hostile, What: []string{hostile}, Before: hostile, After: hostile},
		{Path: "/b", Kind: "deleted"}}}, nil
}

func (fakeViews) MaySeeAll(api.Actor) error                { return api.ErrMayNotSteer }
func (fakeViews) Shared(api.Actor, string)                 {}
func (fakeViews) Audit(api.Actor, int) (*api.Audit, error) { return &api.Audit{}, nil }
func (fakeViews) Backups(api.Actor) (*api.Backups, error)  { return &api.Backups{}, nil }
