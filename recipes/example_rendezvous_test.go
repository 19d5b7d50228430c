package recipes_test

import (
	"context"
	"fmt"
	"log"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
)

func ExampleRendezvous() {
	ctx := context.Background()
	c, err := client.Dial(ctx, address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	job := recipes.NewRendezvous(c, "/example/job-17") // the path is handed to master and workers when they start
	go func() {
		if _, err := job.Announce(ctx, []byte("10.0.0.1:7000")); err != nil {
			log.Print(err)
		}
	}()
	master, err := job.Await(ctx)
	fmt.Printf("%s %v\n", master.Data, err)
	// Output:
	// 10.0.0.1:7000 <nil>
}
