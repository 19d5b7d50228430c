package server

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/wire"
)

// TestLargeWritesOfManyClients sends writes of the largest size from many clients at once. All are applied, in the
// order of each client, and give back their share of the budget.
func TestLargeWritesOfManyClients(t *testing.T) {
	s := serveMem(t, memConfig(), nil)
	var calls []*wire.Call
	for i := range 8 {
		c := dialWire(t, s, wire.Options{})
		path := "/" + string(rune('a'+i))
		c.MustCreate(t, path, nil, proto.ModePersistent)
		for version := range int32(6) {
			calls = append(calls, c.Send(wire.SetData(path, make([]byte, 1_000_000), version)))
		}
	}
	for _, call := range calls {
		require.NoError(t, call.Wait())
		require.NoError(t, call.Reply.Err())
	}
	eventually(t, func() bool { return s.InProcess.Load() == 0 }, "nothing is in the pipeline")
}
