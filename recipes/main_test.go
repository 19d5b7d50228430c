package recipes_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seed94657493/warren/recipes/internal/require"
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
	if stacks := require.Goroutines(5 * time.Second); len(stacks) > 0 {
		fmt.Printf("%d goroutines outlive the tests:\n%s\n", len(stacks), strings.Join(stacks, "\n\n"))
		return 1
	}
	return code
}
