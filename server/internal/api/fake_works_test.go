package api

import (
	"context"

	"github.com/seed94657493/warren/proto"
)

func (f *fakeServer) Plan(Actor, Work) (*Plan, error) { return &Plan{}, nil }
func (f *fakeServer) Carry(_ context.Context, _ Actor, w Work, seal string) (*Carried, error) {
	f.changed = append(f.changed, Change{Path: w.Path})
	return &Carried{}, nil
}
func (f *fakeServer) PlanReconfiguration(Actor, EnsembleChange) (*Reconfiguration, error) {
	return &Reconfiguration{}, nil
}
func (f *fakeServer) Reconfigure(context.Context, Actor, EnsembleChange) (*Reconfigured, error) {
	return &Reconfigured{}, nil
}
func (f *fakeServer) Export(Actor, string) (*Document, error) { return nil, proto.ErrNoNode }
func (f *fakeServer) Quota(Actor, string) (*Quota, error)     { return nil, proto.ErrNoNode }
func (f *fakeServer) History(context.Context, Actor, string) (*History, error) {
	if f.history != nil {
		f.history()
	}
	return &History{Versions: []Version{{Zxid: "0x2"}, {Zxid: "0x1", HasData: true, Raw: []byte("x")}}}, nil
}
func (f *fakeServer) VerifyBackup(Actor, string, bool) (*Verification, error) {
	return &Verification{}, nil
}
func (f *fakeServer) Activity(Actor, string) (*Activity, error) { return &Activity{}, nil }
