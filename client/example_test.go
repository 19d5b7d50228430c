package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/seed94657493/warren/client"
)

// connect returns a client of a server that lives as long as the example.
func connect(ctx context.Context) (c *client.Client, stop func()) {
	server, stopServer := client.StartFake() // in a program: "zk1:2181,zk2:2181,zk3:2181/app"
	c, err := client.Dial(ctx, server, client.WithSessionTimeout(15*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	return c, func() { _ = c.Close(); stopServer() }
}

func ExampleDial() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, stop := connect(ctx)
	defer stop()
	if _, _, err := c.Get(ctx, "/settings"); errors.Is(err, client.ErrNoNode) {
		fmt.Println("no settings yet")
	}
	path, err := c.Create(ctx, "/settings", []byte("debug=1"), client.Persistent)
	fmt.Println(path, err)
	data, stat, err := c.Get(ctx, "/settings")
	fmt.Println(string(data), stat.Version, err)
	// Output:
	// no settings yet
	// /settings <nil>
	// debug=1 0 <nil>
}

// An error says what failed, on what, and whether it may have happened all the same.
func ExampleError() {
	err := error(&client.Error{Op: "setData", Path: "/counter", MayHaveApplied: true, Err: client.ErrConnectionLoss})
	fmt.Println(errors.Is(err, client.ErrConnectionLoss), client.MayHaveApplied(err), client.SafeToRetry(err))
	// Output: true true false
}

func ExampleClient_Commit() {
	ctx := context.Background()
	c, stop := connect(ctx)
	defer stop()
	_, err := c.Commit(ctx, new(client.Txn).Create("/owner", nil, client.Persistent).
		Create("/task", nil, client.Persistent))
	fmt.Println(err)
	_, err = c.Commit(ctx, new(client.Txn).Check("/owner", 7).Delete("/task", client.AnyVersion))
	if refused, ok := errors.AsType[*client.TxnError](err); ok {
		fmt.Println(refused.Index, refused.Path, errors.Is(err, client.ErrBadVersion))
	}
	// Output:
	// <nil>
	// 0 /owner true
}

// Follow shows every state of a znode that is seen, whatever happens to the connection.
func ExampleClient_Follow() {
	ctx := context.Background()
	c, stop := connect(ctx)
	defer stop()
	for node, err := range c.Follow(ctx, "/settings") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%v %q\n", node.Exists, node.Data)
		if node.Exists {
			break
		}
		if _, err := c.Create(ctx, "/settings", []byte("debug=1"), client.Persistent); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// false ""
	// true "debug=1"
}

func ExampleClient_Watch() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c, stop := connect(ctx)
	defer stop()
	w, err := c.Watch(ctx, "/", client.WatchSubtree)
	if err != nil {
		log.Fatal(err)
	}
	if err := c.CreateAll(ctx, "/a/b"); err != nil {
		log.Fatal(err)
	}
	for e := range w.All(ctx) {
		fmt.Println(e.Type, e.Path)
		if e.Path == "/a/b" {
			break // closes the watch
		}
	}
	// Output:
	// NodeCreated /a
	// NodeCreated /a/b
}

func ExampleClient_Async() {
	ctx := context.Background()
	c, stop := connect(ctx)
	defer stop()
	var creates []client.Future[client.Created]
	for range 3 {
		creates = append(creates, c.Async().Create(ctx, "/n-", nil, client.PersistentSequential))
	}
	for _, f := range creates {
		created, err := f.Wait(ctx)
		fmt.Println(created.Path, err)
	}
	// Output:
	// /n-0000000000 <nil>
	// /n-0000000001 <nil>
	// /n-0000000002 <nil>
}

func ExampleClient_NewCache() {
	ctx := context.Background()
	c, stop := connect(ctx)
	defer stop()
	if err := c.CreateAll(ctx, "/services/web"); err != nil {
		log.Fatal(err)
	}
	cache, err := c.NewCache(ctx, "/services")
	if err != nil {
		log.Fatal(err)
	}
	defer cache.Close()
	fmt.Println(cache.Children("/services"))
	for change := range cache.Changes(ctx) {
		fmt.Println(change.Type, change.Node.Path)
		if change.Node.Path == "/services/web" {
			break
		}
	}
	// Output:
	// [web]
	// NodeCreated /services
	// NodeCreated /services/web
}
