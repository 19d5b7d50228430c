package recipes_test

import (
	"context"
	"fmt"
	"log"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
)

func ExampleElection_Run() {
	ctx := context.Background()
	c, err := client.Dial(ctx, address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	election := recipes.NewLatch(c, "/example/election", "node-1")
	err = election.Run(ctx, func(ctx context.Context, token client.Zxid) error {
		leader, err := election.Leader(ctx)
		fmt.Println(leader.ID, leader.Token == token)
		return err
	})
	leader, _ := election.Leader(ctx)
	fmt.Println(err, leader.Exists())
	// Output:
	// node-1 true
	// <nil> false
}

func ExampleElection_Observe() {
	ctx := context.Background()
	c, err := client.Dial(ctx, address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	hold, err := recipes.NewLatch(c, "/example/observed", "node-7").Campaign(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for leader, err := range recipes.NewLatch(c, "/example/observed", "").Observe(ctx) { // an observer needs no id
		if err != nil {
			log.Fatal(err)
		}
		if !leader.Exists() {
			fmt.Println("no node leads")
			break
		}
		fmt.Println(leader.ID, "leads")
		if err := hold.Release(ctx); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// node-7 leads
	// no node leads
}
