package recipes_test

import (
	"context"
	"fmt"
	"log"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
)

func ExampleTwoPhaseCommit() {
	ctx := context.Background()
	c, err := client.Dial(ctx, address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	transfer := recipes.NewTwoPhaseCommit(c, "/example/transfers/17")
	fmt.Println(transfer.Begin(ctx, []byte("move 5 from a to b"), "bank-a", "bank-b"))
	for _, site := range []string{"bank-a", "bank-b"} { // each in its own process, once it is sure that it can
		fmt.Println(transfer.Vote(ctx, site, recipes.Commit))
	}
	fmt.Println(transfer.Outcome(ctx))
	fmt.Println(transfer.Remove(ctx))
	// Output:
	// <nil>
	// commit <nil>
	// commit <nil>
	// commit <nil>
	// <nil>
}
