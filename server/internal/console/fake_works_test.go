package console

import (
	"context"

	"github.com/seed94657493/warren/server/internal/api"
)

func (f *fakeServer) Plan(_ api.Actor, w api.Work) (*api.Plan, error) {
	f.works = append(f.works, w)
	return &api.Plan{Znodes: 2, Batches: 2, Paths: []string{hostile}, Ephemerals: []string{hostile},
		Sessions: []string{hostile}, Refused: f.refusals, Seal: "seal"}, f.refuse
}
func (f *fakeServer) Carry(_ context.Context, _ api.Actor, w api.Work, seal string) (*api.Carried, error) {
	f.carried = append(f.carried, w)
	return &api.Carried{Znodes: 2}, f.refuse
}
func (f *fakeServer) PlanReconfiguration(api.Actor, api.EnsembleChange) (*api.Reconfiguration, error) {
	return &api.Reconfiguration{}, nil
}
func (f *fakeServer) Reconfigure(context.Context, api.Actor, api.EnsembleChange) (*api.Reconfigured, error) {
	return &api.Reconfigured{}, nil
}
func (f *fakeServer) Export(_ api.Actor, path string) (*api.Document, error) {
	return &api.Document{Version: 1, Root: path, Znodes: []api.DocumentZnode{{Data: new(hostile)}}}, nil
}
func (f *fakeServer) Quota(api.Actor, string) (*api.Quota, error) {
	return &api.Quota{Limits: api.Limits{Count: 5, Bytes: -1, CountHard: -1, BytesHard: -1}, UsedCount: 3}, nil
}
func (f *fakeServer) History(_ context.Context, _ api.Actor, path string) (*api.History, error) {
	return &api.History{Path: path, Hidden: 1, Cut: true, From: "0x1", Versions: []api.Version{
		{Kind: "changed", Zxid: "0x3", Session: hostile, HasData: true, Raw: []byte("new\n" + hostile)},
		{Kind: "permissions", Zxid: "0x2", Version: -1},
		{Kind: "created", Zxid: "0x1", HasData: true, Raw: []byte("old\n" + hostile)}}}, nil
}
func (f *fakeServer) VerifyBackup(api.Actor, string, bool) (*api.Verification, error) {
	return &api.Verification{}, nil
}
func (f *fakeServer) Activity(api.Actor, string) (*api.Activity, error) { return &api.Activity{}, nil }
