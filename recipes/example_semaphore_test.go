package recipes_test

import (
	"context"
	"fmt"
	"log"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
)

func ExampleSemaphore() {
	ctx := context.Background()
	c, err := client.Dial(ctx, address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	permits := recipes.NewSemaphore(c, "/example/semaphore", 2)
	one, err1 := permits.Acquire(ctx)
	two, err2 := permits.Acquire(ctx)
	_, err3 := permits.TryAcquire(ctx)
	fmt.Println(err1, err2, err3)
	fmt.Println(one.Token() < two.Token(), one.Release(ctx), two.Release(ctx))
	// Output:
	// <nil> <nil> recipes: held by another
	// true <nil> <nil>
}
