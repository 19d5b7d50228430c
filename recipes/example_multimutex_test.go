package recipes_test

import (
	"context"
	"fmt"
	"log"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
)

func ExampleMultiMutex() {
	ctx := context.Background()
	c, err := client.Dial(ctx, address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	accounts := recipes.NewMultiMutex(c, []string{"/example/accounts/7", "/example/accounts/3"})
	hold, err := accounts.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	_, err = recipes.NewMutex(c, "/example/accounts/7").TryLock(ctx)
	fmt.Println(err)
	fmt.Println(hold.Context().Err() == nil, hold.Token("/example/accounts/3") < hold.Token("/example/accounts/7"))
	fmt.Println(hold.Release(ctx))
	// Output:
	// recipes: held by another
	// true true
	// <nil>
}
