package recipes_test

import (
	"context"
	"fmt"
	"log"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
)

func ExampleSimpleMutex() {
	ctx := context.Background()
	c, err := client.Dial(ctx, address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	lock := recipes.NewSimpleMutex(c, "/example/simple-lock", recipes.WithData([]byte("node-1")))
	hold, err := lock.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	holder, isHeld, err := lock.Holder(ctx)
	fmt.Println(string(holder.Data), isHeld, holder.Token == hold.Token(), err)
	_, err = lock.TryLock(ctx)
	fmt.Println(err)
	fmt.Println(hold.Release(ctx))
	// Output:
	// node-1 true true <nil>
	// recipes: held by another
	// <nil>
}
