package serve

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// startsFile is in dataDir, beside myid. It has a line for each start since the server was last stopped in an
// orderly way: the time.
const startsFile = ".warren.starts"

// startsMax is how many starts are kept.
const startsMax = 20

// startsWith returns what is noted in the dataDir of a server of its starts, the oldest first, with one that is now.
// What cannot be read is left out: it is for operators only, and no reason not to start.
func startsWith(dir string, now time.Time) (starts []time.Time) {
	text, _ := os.ReadFile(filepath.Join(dir, startsFile))
	for line := range strings.Lines(string(text)) {
		if at, err := time.Parse(time.RFC3339, strings.TrimSpace(line)); err == nil {
			starts = append(starts, at)
		}
	}
	starts = append(starts, now)
	return starts[max(0, len(starts)-startsMax):]
}

// noteStarts notes them, if that is possible. A server does so once it has accepted its directory: nothing is written
// to one that it refuses.
func noteStarts(dir string, starts []time.Time) {
	var b strings.Builder
	for _, at := range starts {
		b.WriteString(at.UTC().Format(time.RFC3339) + "\n")
	}
	_ = os.WriteFile(filepath.Join(dir, startsFile), []byte(b.String()), 0o640)
}

// forgetStarts notes that a server was stopped in an orderly way.
func forgetStarts(dir string) { _ = os.Remove(filepath.Join(dir, startsFile)) }
