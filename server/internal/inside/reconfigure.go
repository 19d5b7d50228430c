package inside

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/visible"
)

// Reconfigured is the configuration that a change of the ensemble has made.
type Reconfigured struct {
	Lines []string `json:"lines" doc:"of the configuration; the last one is its version"`
}

// Reconfigure changes the ensemble, if its configuration is still the one that the change replaces.
func (n *Changes) Reconfigure(_ context.Context, a visible.Actor, c visible.EnsembleChange) (*Reconfigured, error) {
	if err := n.MaySteer(a); err != nil {
		return nil, err
	}
	req, err := c.ReconfigRequest()
	if err != nil {
		return nil, err
	}
	s, err := n.open(a)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	reply, err := s.Do(proto.OpReconfig, req, patience)
	if err != nil {
		return nil, err
	}
	var now proto.GetDataResponse
	if err := now.ReadFrom(reply); err != nil {
		return nil, fmt.Errorf("the answer cannot be read: %w", err)
	}
	return &Reconfigured{Lines: strings.Split(string(now.Data), "\n")}, nil
}
