package recipes

import (
	"context"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/beside"
)

var (
	seedFlag = flag.Uint64("recipes.seed", 0, "seed of the nemesis and of the holders; 0 is a random one")
	duration = flag.Duration("recipes.duration", 3*time.Second, "how long the sessions compete, in each test")
)

var address string // of the single server

func TestMain(m *testing.M) {
	if run := os.Getenv(lockerVariable); run != "" {
		os.Exit(runLocker(run))
	}
	if run := os.Getenv(holderVariable); run != "" {
		os.Exit(runHolder(run))
	}
	flag.Parse()
	os.Exit(beside.Main(m, embed.Options{}, &address))
}

// alone is a single server, at which a goroutine ends sessions by taking them over and closing them.
func alone() *arena {
	return &arena{servers: []string{address}, timeout: time.Second,
		expire: func(ctx context.Context, session client.Resume) {
			if other, err := client.Dial(ctx, address, client.WithResume(session)); err == nil {
				_ = other.Close()
			}
		}}
}

// No client is granted a lock while another may trust its own, whatever the network does.
func TestHoldsExclude(t *testing.T) { contests(t, alone(), false, seedOf(t)) }

// Sessions are ended by force as well, of which their holders hear when it is over. Tokens are then what protects.
func TestTokensFenceOffWhoeverWasTooLate(t *testing.T) { contests(t, alone(), true, seedOf(t)) }
