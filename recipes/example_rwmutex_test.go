package recipes_test

import (
	"context"
	"fmt"
	"log"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
)

func ExampleRWMutex() {
	ctx := context.Background()
	c, err := client.Dial(ctx, address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	lock := recipes.NewRWMutex(c, "/example/rwlock")
	one, err1 := lock.RLock(ctx)
	two, err2 := lock.RLock(ctx)
	_, err3 := lock.TryLock(ctx)
	fmt.Println(err1, err2, err3)
	fmt.Println(one.Release(ctx), two.Release(ctx))
	writer, err := lock.Lock(ctx)
	fmt.Println(err, writer.Release(ctx))
	// Output:
	// <nil> <nil> recipes: held by another
	// <nil> <nil>
	// <nil> <nil>
}
