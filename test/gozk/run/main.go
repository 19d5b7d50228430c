// Command run runs the scenarios of test/gozk against a server, and writes what each of them has seen to its standard
// output: a JSON object of lines by the name of a scenario.
//
//	run SERVER PREFIX
//
// A scenario works below a znode of its own, whose name begins with the prefix.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/test/gozk"
	"github.com/seed94657493/warren/test/relay"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: run SERVER PREFIX")
		os.Exit(2)
	}
	seen, err := run(os.Args[1], os.Args[2])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(seen)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run runs all scenarios at once, because they wait more than they work.
func run(addr, prefix string) (map[string][]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := client.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	worlds := map[string]*gozk.World{}
	for _, s := range scenarios {
		w := &gozk.World{Addr: addr, Root: "/" + prefix + "-" + s.name}
		if _, err := c.Create(ctx, w.Root, nil, client.Persistent); err != nil {
			return nil, err
		}
		if w.Proxy, err = relay.New(addr); err != nil {
			return nil, err
		}
		defer w.Proxy.Close()
		worlds[s.name] = w
	}
	var running sync.WaitGroup
	for _, s := range scenarios {
		running.Go(func() { s.run(worlds[s.name]) })
	}
	running.Wait()
	seen := map[string][]string{}
	for name, w := range worlds {
		seen[name] = w.Seen()
	}
	return seen, nil
}
