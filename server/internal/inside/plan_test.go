package inside

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
)

// A server ends the connection of a client that sends more than jute.maxbuffer. ACLs may be most of a request.
func TestMultisFitIntoARequest(t *testing.T) {
	const requestMax = 1 << 20
	acl := make([]proto.ACL, 20)
	for i := range acl {
		acl[i] = proto.ACL{Perms: proto.PermAll, Id: proto.ID{Scheme: proto.Text("digest"),
			Id: proto.Text(fmt.Sprint("user", i, ":", strings.Repeat("x", 60)))}}
	}
	p := &planned{}
	for i := range 2 * stepsPerMulti {
		p.create(fmt.Sprint("/a/", i), nil, acl, 0)
	}
	steps := 0
	for _, m := range multis(p.steps, requestMax) {
		steps += len(m)
		require.LessOrEqual(t, len(multi(m).AppendTo(nil)), requestMax)
	}
	require.Equal(t, 2*stepsPerMulti, steps)
}
