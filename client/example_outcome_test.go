package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/seed94657493/warren/client"
)

// A read that was cut off is repeated until it has an answer.
func ExampleRetry() {
	ctx := context.Background()
	c, stop := connect(ctx)
	defer stop()
	var exists bool
	err := client.Retry(ctx, func(ctx context.Context) (err error) {
		_, exists, err = c.Exists(ctx, "/")
		return err
	})
	fmt.Println(exists, err)
	// Output: true <nil>
}

// A write that depends on the version that was read can be looked for if its answer was lost.
func ExampleMayHaveApplied() {
	ctx := context.Background()
	c, stop := connect(ctx)
	defer stop()
	if _, err := c.Create(ctx, "/owner", []byte("nobody"), client.Persistent); err != nil {
		log.Fatal(err)
	}
	_, stat, err := c.Get(ctx, "/owner")
	if err != nil {
		log.Fatal(err)
	}
	_, err = c.Set(ctx, "/owner", []byte("node-7"), stat.Version)
	if client.MayHaveApplied(err) {
		var data []byte
		err = client.Retry(ctx, func(ctx context.Context) (err error) {
			if err = c.Sync(ctx, "/owner"); err == nil { // the server may be behind
				data, _, err = c.Get(ctx, "/owner")
			}
			return err
		})
		if err == nil && string(data) != "node-7" {
			err = errors.New("it has not happened, or another was faster")
		}
	}
	fmt.Println(err)
	// Output: <nil>
}

// A program that is to outlive its sessions asks for new ones, and creates again what they held.
func ExampleWithRenewal() {
	ctx := context.Background()
	server, stopServer := client.StartFake() // in a program: "zk1:2181,zk2:2181,zk3:2181/app"
	defer stopServer()
	announce := func(ctx context.Context, c *client.Client) error {
		_, err := c.Create(ctx, "/here", nil, client.Ephemeral)
		return err
	}
	c, err := client.Dial(ctx, server, client.WithRenewal(announce))
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	fmt.Println(announce(ctx, c)) // for the first session
	// Output: <nil>
}
