package client_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/server/embed"
)

// A program sees its session expire, as it would after a pause of the machine.
func Example_expiry() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	e, err := embed.New(embed.Options{})
	if err != nil {
		panic(err)
	}
	defer e.Close()
	c, err := client.Dial(ctx, e.ConnectString(), client.WithRenewal(nil))
	if err != nil {
		panic(err)
	}
	defer c.Close()
	if _, err := c.Create(ctx, "/mine", nil, client.Ephemeral); err != nil {
		panic(err)
	}
	first, _ := c.Session()
	if err := e.ExpireSession(ctx, first); err != nil {
		panic(err)
	}
	for s := range c.States(ctx) {
		if s.State == client.Connected && s.SessionID != first {
			break
		}
	}
	_, exists, err := c.Exists(ctx, "/mine")
	fmt.Println(exists, err)
	// Output: false <nil>
}

// A program is connected to a leader that the others cannot reach: its writes have no outcome until the network is
// whole.
func Example_partition() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	e, err := embed.New(embed.Options{Servers: 3})
	if err != nil {
		panic(err)
	}
	defer e.Close()
	if err := e.WaitServing(ctx); err != nil {
		panic(err)
	}
	leader, err := e.Leader(ctx)
	if err != nil {
		panic(err)
	}
	c, err := client.Dial(ctx, e.ConnectString(leader)) // no other server, so that it stays
	if err != nil {
		panic(err)
	}
	defer c.Close()
	e.Isolate(leader)
	short, end := context.WithTimeout(ctx, 200*time.Millisecond)
	defer end()
	_, err = c.Create(short, "/n", nil, client.Persistent)
	fmt.Println(errors.Is(err, context.DeadlineExceeded) || errors.Is(err, client.ErrConnectionLoss))
	e.Heal()
	err = client.Retry(ctx, func(ctx context.Context) error { return c.Sync(ctx, "/") })
	fmt.Println(err)
	// Output:
	// true
	// <nil>
}
