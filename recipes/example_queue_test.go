package recipes_test

import (
	"context"
	"fmt"
	"log"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
)

func ExampleQueue() {
	ctx := context.Background()
	c, err := client.Dial(ctx, address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	queue := recipes.NewQueue(c, "/example/jobs", "/example/jobs-locks")
	fmt.Println(queue.Put(ctx, []byte("print")), queue.Put(ctx, []byte("fold")))
	for range 2 {
		job, err := queue.Take(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s %v\n", job.Items[0], job.Done(ctx))
	}
	// Output:
	// <nil> <nil>
	// print <nil>
	// fold <nil>
}
