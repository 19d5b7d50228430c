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

// noteStart notes in the dataDir of a server that it starts now, and returns all that is noted there, the
// oldest first. What cannot be read or written is left out: it is for operators only, and no reason not to start.
func noteStart(dir string, now time.Time) (starts []time.Time) {
	name := filepath.Join(dir, startsFile)
	text, _ := os.ReadFile(name)
	for line := range strings.Lines(string(text)) {
		if at, err := time.Parse(time.RFC3339, strings.TrimSpace(line)); err == nil {
			starts = append(starts, at)
		}
	}
	starts = append(starts, now)
	starts = starts[max(0, len(starts)-startsMax):]
	var b strings.Builder
	for _, at := range starts {
		b.WriteString(at.UTC().Format(time.RFC3339) + "\n")
	}
	_ = os.WriteFile(name, []byte(b.String()), 0o640)
	return starts
}

// forgetStarts notes that a server was stopped in an orderly way.
func forgetStarts(dir string) { _ = os.Remove(filepath.Join(dir, startsFile)) }
