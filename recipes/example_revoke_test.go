package recipes_test

import (
	"context"
	"fmt"
	"log"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
)

func ExampleRevoke() {
	ctx := context.Background()
	c, err := client.Dial(ctx, address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	lock := recipes.NewMutex(c, "/example/revocable")
	hold, err := lock.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	go func() { // another process with a more urgent need
		contenders, err := lock.Contenders(ctx)
		if err == nil {
			err = recipes.Revoke(ctx, c, contenders[0].Path)
		}
		if err != nil {
			log.Print(err)
		}
	}()
	select {
	case <-hold.Revoked(): // finish what cannot be left half done, then let go
		fmt.Println("asked to release:", hold.Release(ctx))
	case <-hold.Context().Done():
		fmt.Println("lost:", context.Cause(hold.Context()))
	}
	// Output:
	// asked to release: <nil>
}
