package recipes_test

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// address is the server of the examples: that of WARREN_TEST_SERVERS. Without one they are compiled and left out;
// test/recipes/single runs them.
var address = os.Getenv("WARREN_TEST_SERVERS")

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.Parse()
	if skip := flag.Lookup("test.skip"); address == "" {
		text := "^Example"
		if given := skip.Value.String(); given != "" {
			text += "|" + given
		}
		if err := skip.Value.Set(text); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	if stacks := goroutines(5 * time.Second); len(stacks) > 0 {
		fmt.Printf("%d goroutines outlive the tests:\n%s\n", len(stacks), strings.Join(stacks, "\n\n"))
		return 1
	}
	return code
}

// goroutines returns the stacks of the goroutines that have not ended after a time, except the caller's and those
// of the runtime.
func goroutines(after time.Duration) (stacks []string) {
	isOther := func(stack string) bool {
		return strings.Contains(stack, "os/signal.") || strings.Contains(stack, "runtime.ensureSigM")
	}
	buf := make([]byte, 1<<20)
	for end := time.Now().Add(after); ; time.Sleep(time.Millisecond) {
		all := strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n")
		if stacks = slices.DeleteFunc(all[1:], isOther); len(stacks) == 0 || time.Now().After(end) {
			return stacks
		}
	}
}
