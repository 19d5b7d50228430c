package embed_test

import (
	"context"
	"fmt"
	"time"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/server/embed"
)

// A session and what it has written outlive the leader.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	e, err := embed.New(embed.Options{Servers: 3})
	if err != nil {
		panic(err)
	}
	defer e.Close()
	c, err := client.Dial(ctx, e.ConnectString())
	if err != nil {
		panic(err)
	}
	defer c.Close()
	_, err = c.Create(ctx, "/settings", []byte("blue"), client.Persistent)
	if err != nil {
		panic(err)
	}
	leader, err := e.Leader(ctx)
	if err != nil {
		panic(err)
	}
	e.Kill(leader)
	var data []byte
	err = client.Retry(ctx, func(ctx context.Context) (err error) { // a read may be repeated
		data, _, err = c.Get(ctx, "/settings")
		return err
	})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", data)
	// Output: blue
}
