package server

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/wire"
)

// The names of znodes are stored, and not their paths. Containers below a long path that are due take little memory
// until their paths are listed, so few are listed at a time.
func TestFewLongPathsAreDueAtATime(t *testing.T) {
	cfg := memConfig()
	cfg.Container.CheckInterval = time.Hour
	s, c := serveOne(t, cfg)
	long := "/" + strings.Repeat("p", 1_000_000)
	must.Do(c.Create(long, nil, proto.ModePersistent))(t)
	for i := range 20 {
		path := fmt.Sprintf("%s/%d", long, i)
		for _, r := range []wire.Request{
			wire.CreateOp(proto.OpCreateContainer, path, nil, wire.OpenACL, proto.ModeContainer),
			wire.Create(path+"/c", nil, wire.OpenACL, proto.ModePersistent), wire.Delete(path+"/c", -1),
		} {
			call := c.Send(r)
			require.NoError(t, call.Wait())
			require.NoError(t, call.Reply.Err())
		}
	}
	size := 0
	due := s.due()
	for _, path := range due {
		size += len(path)
	}
	require.NotEmpty(t, due)
	require.Less(t, size, reaperBytes+len(long)+10)
}
