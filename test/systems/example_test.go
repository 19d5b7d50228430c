package systems

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The page about the server for tests of Java projects shows the project that TestServerForJavaProjects runs.
func TestPageShowsTheExample(t *testing.T) {
	const file = "java/example/src/test/java/example/SettingsTest.java"
	source, err := os.ReadFile("../../" + file)
	require.NoError(t, err)
	page, err := os.ReadFile("../../docs/TEST-SERVER.md")
	require.NoError(t, err)
	_, class, found := strings.Cut(string(source), "\n\n@ExtendWith")
	require.True(t, found)
	require.Contains(t, string(page), "<!-- "+file+" -->\n```java\n@ExtendWith"+class+"```\n")
}
