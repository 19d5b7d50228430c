package recipes_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
)

func ExampleBarrier() {
	ctx := context.Background()
	c, err := client.Dial(ctx, address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	barrier := recipes.NewBarrier(c, "/example/barrier")
	fmt.Println(barrier.Wait(ctx), "it is not set")
	fmt.Println(barrier.Set(ctx))
	go barrier.Remove(ctx)
	fmt.Println(barrier.Wait(ctx), "it was removed")
	// Output:
	// <nil> it is not set
	// <nil>
	// <nil> it was removed
}

func ExampleDoubleBarrier() {
	ctx := context.Background()
	c, err := client.Dial(ctx, address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	var workers sync.WaitGroup
	for range 3 {
		workers.Go(func() {
			barrier := recipes.NewDoubleBarrier(c, "/example/phase", 3)
			if err := barrier.Enter(ctx); err != nil { // all three are here
				log.Print(err)
			}
			if err := barrier.Leave(ctx); err != nil { // all three are done
				log.Print(err)
			}
		})
	}
	workers.Wait()
	fmt.Println("done")
	// Output: done
}
