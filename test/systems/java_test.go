//go:build systems

package systems

import (
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
)

// A project that declares the jar of java/warren-test-server runs its tests on Warren.
func TestServerForJavaProjects(t *testing.T) {
	maven := func(folder string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), "mvn", append([]string{"-B",
			"-Dmaven.repo.local=" + filepath.Join(cache(t), "m2"), "-f", filepath.Join(folder, "pom.xml")},
			args...)...)
		cmd.Env = append(os.Environ(), "WARREN_BIN="+cluster.Binary(t))
		out, err := cmd.CombinedOutput()
		if err != nil && !strings.Contains(string(out), "COMPILATION ERROR") &&
			!strings.Contains(string(out), "Tests run:") {
			t.Skipf("mvn: %v\n%s", err, out)
		}
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	copied := t.TempDir()
	require.NoError(t, os.CopyFS(copied, os.DirFS("../../java")))
	maven(filepath.Join(copied, "warren-test-server"), "install")
	maven(filepath.Join(copied, "example"), "test")
	reports, err := filepath.Glob(filepath.Join(copied, "example/target/surefire-reports/TEST-*.xml"))
	require.NoError(t, err)
	require.Len(t, reports, 1)
	text, err := os.ReadFile(reports[0])
	require.NoError(t, err)
	var suite struct {
		Tests    int `xml:"tests,attr"`
		Errors   int `xml:"errors,attr"`
		Failures int `xml:"failures,attr"`
		Skipped  int `xml:"skipped,attr"`
	}
	require.NoError(t, xml.Unmarshal(text, &suite))
	require.Equal(t, 1, suite.Tests)
	require.Zero(t, suite.Errors+suite.Failures+suite.Skipped)
}
