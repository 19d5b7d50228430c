package recipes_test

import (
	"context"
	"fmt"
	"log"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
)

func ExampleAtomicLong() {
	ctx := context.Background()
	c, err := client.Dial(ctx, address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	orders := recipes.NewAtomicLong(c, "/example/orders")
	fmt.Println(orders.Add(ctx, 5))
	fmt.Println(orders.Add(ctx, -2))
	fmt.Println(orders.CompareAndSet(ctx, 3, 10))
	fmt.Println(orders.CompareAndSet(ctx, 3, 11))
	fmt.Println(orders.Get(ctx))
	// Output:
	// 5 <nil>
	// 3 <nil>
	// true <nil>
	// false <nil>
	// 10 <nil>
}
