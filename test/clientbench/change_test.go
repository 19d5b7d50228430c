package clientbench

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
)

// parts is how many znodes a new leader changes in the example of the ZooKeeper paper, section 2.3: one after the
// other at 2 ms each they took it ten seconds, asynchronously less than one.
const parts = 5000

func partOf(root string, i int) string { return fmt.Sprintf("%s/part-%04d", root, i) }

// makeParts makes the znodes of a configuration.
func makeParts(b *testing.B, c *client.Client, root string) {
	ctx := context.Background()
	require.NoError(b, c.CreateAll(ctx, root))
	futures := make([]client.Future[client.Created], parts)
	for i := range futures {
		futures[i] = c.Async().Create(ctx, partOf(root, i), nil, client.Persistent)
	}
	for _, f := range futures {
		_, err := f.Wait(ctx)
		require.NoError(b, err)
	}
}

// One operation is a change of a configuration of 5,000 znodes.
func BenchmarkConfigurationChange(b *testing.B) {
	addr := startServers(b, 3)
	c := dial(b, addr)
	ctx := context.Background()
	data := make([]byte, 128)
	for _, way := range []struct {
		name   string
		change func(root string) error
	}{
		{"one-by-one", func(root string) error {
			for i := range parts {
				if _, err := c.Set(ctx, partOf(root, i), data, client.AnyVersion); err != nil {
					return err
				}
			}
			return nil
		}},
		{"async", func(root string) error {
			futures := make([]client.Future[client.Stat], parts)
			for i := range futures {
				futures[i] = c.Async().Set(ctx, partOf(root, i), data, client.AnyVersion)
			}
			for _, f := range futures {
				if _, err := f.Wait(ctx); err != nil {
					return err
				}
			}
			return nil
		}},
		{"transactions", func(root string) error {
			const each = 500
			for first := 0; first < parts; first += each {
				var t client.Txn
				for i := range each {
					t.Set(partOf(root, first+i), data, client.AnyVersion)
				}
				if _, err := c.Commit(ctx, &t); err != nil {
					return err
				}
			}
			return nil
		}},
	} {
		b.Run(way.name, func(b *testing.B) {
			root := "/change/" + rand.Text()[:8]
			makeParts(b, c, root)
			for b.Loop() {
				require.NoError(b, way.change(root))
			}
			b.ReportMetric(float64(parts*b.N)/b.Elapsed().Seconds(), "znodes/s")
		})
	}
	// As the recipe does it: readers never see a mixture.
	b.Run("bundle", func(b *testing.B) {
		bundle := recipes.NewBundle(c, "/change/bundle")
		values := make(map[string][]byte, parts)
		for i := range parts {
			values[fmt.Sprintf("part-%04d", i)] = data
		}
		for b.Loop() {
			require.NoError(b, bundle.Publish(ctx, values))
		}
		b.ReportMetric(float64(parts*b.N)/b.Elapsed().Seconds(), "znodes/s")
	})
}
