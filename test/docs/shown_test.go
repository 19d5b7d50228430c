package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// shown are the tests that bring about what TROUBLESHOOTING.md says of a message, where none of them quotes it.
var shown = map[string]string{
	"holds %s: dataDir and dataLogDir are mixed up or were not moved together": "TestSentencesOfAStart",
	"server: durability is gone": "TestFailedSyncEndsTheNodeAndAcknowledgesNothing",
	"client has seen a later zxid than this server has: " +
		"it would read older data here": "TestClientFromTheFutureIsClosedWithoutAnAnswer",
	"frame length is negative or above jute.maxbuffer":  "TestHostileFirstBytesAreClosedAndHarmNobody",
	"the certificate for the other servers has expired": "TestServersThatAreNotLetIn",
	"client: request is too large":                      "TestLargeRequestIsRefusedHere",
	"client: server broke the protocol":                 "TestFrames",
	"client: subtree is larger than the cache may be":   "TestCacheIsBounded",
	"truncates to":          "TestScripts",
	"ends its history with": "TestScripts",
	"but was elected with":  "TestScripts",
}

// Every message of TROUBLESHOOTING.md is quoted by a test, or brought about by the one that is named here.
func TestMessagesAreShown(t *testing.T) {
	tests, quoting := testNames(t), readTests(t)
	text := must.ReadFile(t, "../../docs/TROUBLESHOOTING.md")
	seen := map[string]bool{}
	for i, row := range strings.Split(string(text), "\n") {
		cells := strings.Split(row, " | ")
		if !strings.HasPrefix(row, "| ") || len(cells) < 3 {
			continue
		}
		for _, message := range quotedIn(cells[0]) {
			seen[message] = true
			name, named := shown[message]
			switch quoted := theirs[message] || strings.Contains(quoting, message); {
			case named:
				require.Contains(t, tests, name, message)
				require.False(t, quoted, "%q is quoted by a test: it needs no entry", message)
			default:
				require.True(t, quoted, "docs/TROUBLESHOOTING.md:%d: no test shows %q", i+1, message)
			}
		}
	}
	for message := range shown {
		require.True(t, seen[message], "the page does not have %q", message)
	}
}

// readTests returns the text of all tests but this one, with strings joined that lines break apart.
func readTests(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, dir := range []string{
		"client", "cmd", "datatree", "proto", "recipes", "server", "snapshot", "test", "wal", "zab",
	} {
		root := filepath.Join("../..", dir)
		require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") || filepath.Base(path) == "shown_test.go" {
				return err
			}
			text, err := os.ReadFile(path)
			b.Write(text)
			return err
		}))
	}
	return regexp.MustCompile(`" \+\s*"`).ReplaceAllString(b.String(), "")
}
