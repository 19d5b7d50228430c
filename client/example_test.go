package client_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/seed94657493/warren/client"
)

func ExampleDial() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := client.Dial(ctx, "zk1:2181,zk2:2181,zk3:2181/app", client.WithSessionTimeout(15*time.Second), client.WithLogger(slog.Default()))
	if err != nil {
		slog.Error("no ensemble", "error", err)
		return
	}
	defer c.Close()
	data, stat, err := c.Get(ctx, "/settings")
	switch {
	case errors.Is(err, client.ErrNoNode):
		fmt.Println("no settings yet")
	case err == nil:
		fmt.Println(string(data), stat.Version)
	}
}

// An operation says whether it may have happened.
func ExampleError() {
	err := error(&client.Error{Op: "setData", Path: "/counter", MayHaveApplied: true, Err: client.ErrConnectionLoss})
	fmt.Println(errors.Is(err, client.ErrConnectionLoss), client.MayHaveApplied(err), client.SafeToRetry(err))
	// Output: true true false
}

func ExampleClient_Commit() {
	move := func(ctx context.Context, c *client.Client, version int32) error {
		txn := new(client.Txn).Check("/owner", version).Create("/tasks/done/7", nil, client.Persistent).Delete("/tasks/open/7", client.AnyVersion)
		_, err := c.Commit(ctx, txn)
		var refused *client.TxnError
		if errors.As(err, &refused) {
			fmt.Println("refused by", refused.Path)
		}
		return err
	}
	_ = move
}

// Follow shows every state of a znode that is seen, whatever happens to the connection.
func ExampleClient_Follow() {
	follow := func(ctx context.Context, c *client.Client) error {
		for node, err := range c.Follow(ctx, "/settings") {
			if err != nil {
				return err
			}
			fmt.Println(node.Exists, string(node.Data))
		}
		return nil
	}
	_ = follow
}

func ExampleClient_Async() {
	load := func(ctx context.Context, c *client.Client, paths []string) error {
		var reads []client.Future[client.NodeData]
		for _, path := range paths {
			reads = append(reads, c.Async().Get(ctx, path))
		}
		for _, read := range reads {
			if _, err := read.Wait(ctx); err != nil {
				return err
			}
		}
		return nil
	}
	_ = load
}

func ExampleClient_NewCache() {
	serve := func(ctx context.Context, c *client.Client) error {
		cache, err := c.NewCache(ctx, "/services")
		if err != nil {
			return err
		}
		defer cache.Close()
		for change := range cache.Changes(ctx) {
			fmt.Println(change.Type, change.Node.Path)
		}
		return cache.Err()
	}
	_ = serve
}
