package systems

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// Two masters at once are found however short the time is, and only those: a participant may give a partition up and
// take it back a moment later, while another was the master in between.
func TestTermsOfHelix(t *testing.T) {
	if _, err := exec.LookPath("java"); err != nil {
		t.Skip("no Java here")
	}
	cases := []struct {
		first, second string // what two processes have noted
		want          string // how many partitions had a master, and two
	}{
		{"150 100 shard\n200 100 shard\n", "201 201 shard\n300 201 shard\n", "1 0"}, // one after the other
		{"200 100 shard\n401 401 shard\n", "300 201 shard\n400 201 shard\n", "1 0"}, // taken back at once
		{"200 100 shard\n", "300 199 shard\n", "1 1"},                               // for a moment
		{"200 100 shard\n400 100 shard\n", "300 250 shard\n", "1 1"},                // within a term
		{"200 100 shard\n500 401 shard\n", "420 201 shard\n", "1 1"},                // in the second term
		{"900 100 shard\n", "300 250 shard\n500 450 shard\n", "1 1"},                // twice within a term
		{"200 100 shard\n", "200 100 other\n", "2 0"},
		{"200 100 shard\n200 100 other\n", "300 199 shard\n300 199 other\n", "2 2"},
		{"200 100 shard\n250 100 sha", "300 220 shard\n", "1 0"}, // the first was killed as it wrote
		{"200 1", "300 220 shard\n", "1 0"},
	}
	args := []string{"-Xmx64m", "helix/Terms.java"}
	for _, c := range cases {
		folder := t.TempDir()
		args = append(args, folder)
		require.NoError(t, os.WriteFile(filepath.Join(folder, "first"), []byte(c.first), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "second"), []byte(c.second), 0o644))
	}
	out := must.Output(t, exec.CommandContext(t.Context(), "java", args...))
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Len(t, lines, len(cases))
	for i, c := range cases {
		require.Equal(t, c.want, lines[i], c)
	}
}
