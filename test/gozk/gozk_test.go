package gozk_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/gozk"
	"github.com/seed94657493/warren/test/gozk/ours"
	"github.com/seed94657493/warren/test/gozk/theirs"
)

var (
	rewrite    = flag.Bool("rewrite", false, "copy the scenarios of theirs to ours")
	serverFlag = flag.String("gozk.server", "",
		"fresh server to use instead of one of our own, such as an Apache ZooKeeper with extended types "+
			"and all four-letter words")
)

// startServer returns the address of a server that ends with the test.
func startServer(t *testing.T) string {
	t.Helper()
	if *serverFlag != "" {
		return *serverFlag
	}
	e := embed.Start(t, embed.Options{Version: "3.9.1-warren, built on 01/02/2026 10:00 UTC",
		Configure: func(_ int, cfg *config.Config) {
			cfg.ExtendedTypes = true
			cfg.Container.CheckInterval, cfg.Container.MaxPerMinute = 20*time.Millisecond, 100_000
		}})
	return e.Addr(1)
}

// Both clients see the same in every scenario.
func TestScenarios(t *testing.T) {
	addr := startServer(t)
	c, err := client.Dial(t.Context(), addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.Equal(t, len(theirs.Scenarios), len(ours.Scenarios))
	// Scenarios wait more than they work, so all run at once.
	wants, gots := make([]*gozk.World, len(theirs.Scenarios)), make([]*gozk.World, len(ours.Scenarios))
	var running sync.WaitGroup
	for i := range wants {
		wants[i] = newWorld(t, c, addr, "theirs", theirs.Scenarios[i].Name)
		gots[i] = newWorld(t, c, addr, "ours", ours.Scenarios[i].Name)
		running.Go(func() { theirs.Scenarios[i].Run(wants[i]) })
		running.Go(func() { ours.Scenarios[i].Run(gots[i]) })
	}
	running.Wait()
	for i, s := range theirs.Scenarios {
		t.Run(s.Name, func(t *testing.T) {
			want, got := strings.Join(wants[i].Seen(), "\n"), strings.Join(gots[i].Seen(), "\n")
			require.NotEmpty(t, want)
			require.NotContains(t, want, "in time false")
			require.Equal(t, want, got)
			if testing.Verbose() {
				t.Log(want)
			}
		})
	}
}

func newWorld(t *testing.T, c *client.Client, addr, side, name string) *gozk.World {
	t.Helper()
	root := fmt.Sprintf("/%s-%s", side, name)
	_, err := c.Create(t.Context(), root, nil, client.Persistent)
	require.NoError(t, err)
	p, err := gozk.NewProxy(addr)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return &gozk.World{Addr: addr, Proxy: p, Root: root}
}

// The files in ours are those in theirs but for the import and the name of the package.
func TestScenariosAreCopies(t *testing.T) {
	files, err := filepath.Glob("theirs/*.go")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		want := string(text)
		for _, change := range [][2]string{
			{"package theirs", "package ours"},
			{"// Package theirs", "// Package ours"},
			{`"github.com/go-zookeeper/zk"`, `"github.com/seed94657493/warren/client/zk"`},
		} {
			want = strings.ReplaceAll(want, change[0], change[1])
		}
		copied := filepath.Join("ours", filepath.Base(name))
		if *rewrite {
			require.NoError(t, os.WriteFile(copied, []byte(want), 0o644))
		}
		got, err := os.ReadFile(copied)
		require.NoError(t, err)
		require.Equal(t, want, string(got), "run with -run Copies -rewrite")
	}
}
