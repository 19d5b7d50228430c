package recipes_test

import (
	"context"
	"fmt"
	"log"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
)

func ExampleIDs() {
	ctx := context.Background()
	c, err := client.Dial(ctx, address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	invoices := recipes.NewIDs(c, "/example/invoices", 100)
	fmt.Println(invoices.Next(ctx))
	fmt.Println(invoices.Next(ctx))
	fmt.Println(recipes.NewIDs(c, "/example/invoices", 100).Next(ctx)) // another process
	// Output:
	// 1 <nil>
	// 2 <nil>
	// 101 <nil>
}

func ExampleNames() {
	ctx := context.Background()
	c, err := client.Dial(ctx, address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	printers := recipes.NewNames(c, "/example/printers")
	fmt.Println(printers.Bind(ctx, "hall", []byte("10.0.0.9")))
	fmt.Println(printers.Bind(ctx, "hall", []byte("10.0.0.10")))
	at, err := printers.Lookup(ctx, "hall")
	fmt.Println(string(at), err)
	fmt.Println(printers.List(ctx))
	// Output:
	// <nil>
	// recipes: held by another
	// 10.0.0.9 <nil>
	// [hall] <nil>
}
