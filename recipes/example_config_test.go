package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strconv"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
)

func ExampleConfig() {
	ctx := context.Background()
	c, err := client.Dial(ctx, address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	workers := recipes.NewConfig(c, "/example/workers", func(data []byte) (int, error) {
		n, err := strconv.Atoi(string(data))
		if err == nil && n < 1 {
			err = errors.New("there must be a worker")
		}
		return n, err
	})
	fmt.Println(workers.Publish(ctx, []byte("4")))
	fmt.Println(workers.Publish(ctx, []byte("0")))
	live, err := workers.Open(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer live.Close()
	now, changed := live.Current()
	fmt.Println(now.Value)
	fmt.Println(workers.Publish(ctx, []byte("8")))
	<-changed
	now, _ = live.Current()
	fmt.Println(now.Value)
	// Output:
	// <nil>
	// recipes: invalid configuration at /example/workers: there must be a worker
	// 4
	// <nil>
	// 8
}
