package client_test

import (
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seed94657493/warren/client"
	serverconfig "github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/beside"
	"github.com/seed94657493/warren/test/must"
)

var seedFlag = flag.Uint64("client.seed", 0, "seed of the tests with random faults; 0 draws one")

// embedded is the address of a Warren server in this process.
var embedded string

func TestMain(m *testing.M) {
	extended := func(_ int, cfg *serverconfig.Config) { cfg.ExtendedTypes = true }
	os.Exit(beside.Main(m, embed.Options{Configure: extended}, &embedded))
}

// servers returns the connect strings of single servers: the one in this process, and those of WARREN_TEST_SERVERS,
// separated by spaces, which must have extendedTypesEnabled.
func servers() []string {
	return append([]string{embedded}, strings.Fields(os.Getenv("WARREN_TEST_SERVERS"))...)
}

// seeded returns a source of randomness whose seed is printed.
func seeded(t *testing.T) *rand.Rand {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-client.seed=%d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// within returns a context for a test step.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// dial connects and closes at the end of the test.
func dial(t *testing.T, connect string, options ...client.Option) *client.Client {
	t.Helper()
	c := must.Do(client.Dial(within(t, time.Minute), connect, options...))(t)
	t.Cleanup(func() { _ = c.Close() })
	return c
}
