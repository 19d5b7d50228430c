package words

import (
	"bytes"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/facts"
)

// label stands for the labels of a server.
func label(id proto.SessionID) proto.SessionID { return 0xff - id }

// Sessions are sorted by what they are called, not by their ids.
func TestDumpOfALearnerListsTheSessionsOfTheEnsemble(t *testing.T) {
	var out bytes.Buffer
	dumpGlobal(&out, []facts.GlobalSession{{ID: 1, TimeoutMs: 20_000}, {ID: 2, TimeoutMs: 30_000}}, label)
	require.Equal(t, "Global Sessions(2):\n0xfd\t30000ms\n0xfe\t20000ms\n", out.String())
}

func TestDumpListsSessionsByExpiry(t *testing.T) {
	var out bytes.Buffer
	second := int64(time.Second)
	dumpExpiries(&out, "Local ", second, map[int64][]proto.SessionID{3 * second: {3}, 2 * second: {1, 2}}, label)
	require.Equal(t, "Local Session Sets (2)/(3):\n2 expire at T:\n\t0xfd\n\t0xfe\n1 expire at T:\n\t0xfc\n",
		regexp.MustCompile(`at .*:`).ReplaceAllString(out.String(), "at T:"))
}
