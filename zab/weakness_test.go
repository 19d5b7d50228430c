//go:build weak

package zab

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestScriptsSeeWeakness brings back each known defect and expects its script to come out differently.
func TestScriptsSeeWeakness(t *testing.T) {
	for name, w := range weaknesses {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile("testdata/weakness/" + name + ".txt")
			require.NoError(t, err)
			require.NotEqual(t, string(text), play(string(text), func(c Config) Config { return c.WithWeakness(w) }),
				"the script does not see the defect")
		})
	}
}
