package clientbench

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
	"github.com/seed94657493/warren/test/must"
)

var (
	barriers = flag.String("client.barriers", "20",
		"numbers of barriers in Barriers; the paper had 200,400,800,1600")
	barrierClients = flag.String("client.barrier-clients", "50,100,200", "numbers of clients in Barriers")
)

// The benchmark of table 3 of the ZooKeeper paper, which took 9.4 s for 200 barriers and 50 clients, and 234.4 s for
// 1,600 barriers and 200 clients: every client enters all barriers one after the other, then leaves them one after
// the other. No client goes on before all clients have entered, or left, the barrier. One operation is all of that.
func BenchmarkBarriers(b *testing.B) {
	addr := startServers(b, 3)
	for _, count := range numbers(b, *barriers) {
		for _, n := range numbers(b, *barrierClients) {
			b.Run(fmt.Sprintf("barriers-%d/clients-%d", count, n), func(b *testing.B) {
				clients := make([]*client.Client, n)
				for i := range clients {
					clients[i] = dial(b, addr)
				}
				run := 0
				for b.Loop() {
					run++
					passBarriers(b, clients, "/barriers/"+rand.Text()[:8], count)
				}
				// An operation of a barrier is to enter it or to leave it, by one client.
				b.ReportMetric(float64(2*count*n*run)/b.Elapsed().Seconds(), "barrier-ops/s")
				b.ReportMetric(b.Elapsed().Seconds()/float64(run), "s")
			})
		}
	}
}

// numbers are the values of a flag, with commas between them.
func numbers(t testing.TB, text string) (all []int) {
	t.Helper()
	for _, field := range strings.Split(text, ",") {
		n := must.Atoi(t, field)
		require.Positive(t, n)
		all = append(all, n)
	}
	return all
}

// passBarriers has all clients enter a number of double barriers below a path, and then leave them.
func passBarriers(t testing.TB, clients []*client.Client, path string, count int) {
	ctx := context.Background()
	errs := make([]error, len(clients))
	var all sync.WaitGroup
	for i, c := range clients {
		all.Go(func() {
			own := make([]*recipes.DoubleBarrier, count)
			for k := range own {
				own[k] = recipes.NewDoubleBarrier(c, fmt.Sprintf("%s/%d", path, k), len(clients))
				if errs[i] = own[k].Enter(ctx); errs[i] != nil {
					return
				}
			}
			for _, d := range own {
				if errs[i] = d.Leave(ctx); errs[i] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
}

// Many clients pass many barriers together, and leave nothing behind but the barriers.
func TestBarriersOfManyClients(t *testing.T) {
	addr := startServers(t, 3)
	clients := make([]*client.Client, 10)
	for i := range clients {
		clients[i] = dial(t, addr)
	}
	passBarriers(t, clients, "/barriers", 5)
	ctx := context.Background()
	require.NoError(t, clients[0].Sync(ctx, "/"))
	require.Equal(t, 5, must.Do(clients[0].CountDescendants(ctx, "/barriers"))(t))
}
