package recipes_test

import (
	"context"
	"fmt"
	"log"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
)

func ExampleMutex() {
	ctx := context.Background()
	c, err := client.Dial(ctx, address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	lock := recipes.NewMutex(c, "/example/lock")
	hold, err := lock.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("may work:", hold.Context().Err() == nil, hold.Token() > 0)
	_, err = lock.TryLock(ctx)
	fmt.Println(err)
	fmt.Println(hold.Release(ctx), context.Cause(hold.Context()))
	// Output:
	// may work: true true
	// recipes: held by another
	// <nil> recipes: released
}
