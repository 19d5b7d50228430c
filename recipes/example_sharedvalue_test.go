package recipes_test

import (
	"context"
	"fmt"
	"log"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
)

func ExampleSharedValue() {
	ctx := context.Background()
	c, err := client.Dial(ctx, address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	motd := recipes.NewSharedValue(c, "/example/motd")
	seen, err := motd.Seed(ctx, []byte("hello"))
	fmt.Println(string(seen.Data), seen.Version, err)
	now, isSet, err := motd.TrySet(ctx, seen, []byte("good day"))
	fmt.Println(string(now.Data), now.Version, isSet, err)
	now, isSet, err = motd.TrySet(ctx, seen, []byte("too late"))
	fmt.Println(string(now.Data), now.Version, isSet, err)
	// Output:
	// hello 0 <nil>
	// good day 1 true <nil>
	// good day 1 false <nil>
}
