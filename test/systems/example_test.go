package systems

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// The page about the server for tests of Java projects shows the project that TestServerForJavaProjects runs.
func TestPageShowsTheExample(t *testing.T) {
	const file = "java/example/src/test/java/example/SettingsTest.java"
	source := must.ReadFile(t, "../../"+file)
	page := must.ReadFile(t, "../../docs/TEST-SERVER.md")
	_, class, found := strings.Cut(string(source), "\n\n@ExtendWith")
	require.True(t, found)
	require.Contains(t, string(page), "<!-- "+file+" -->\n```java\n@ExtendWith"+class+"```\n")
}
