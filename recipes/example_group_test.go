package recipes_test

import (
	"context"
	"fmt"
	"log"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
)

func ExampleGroup() {
	ctx := context.Background()
	c, err := client.Dial(ctx, address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	group := recipes.NewGroup(c, "/example/group")
	member, err := group.Join(ctx, "node-1", []byte("10.0.0.1:80"))
	if err != nil {
		log.Fatal(err)
	}
	members, err := group.Members(ctx)
	fmt.Printf("%s %s %v\n", members[0].Name, members[0].Data, err)
	fmt.Println(member.Close(ctx))
	members, err = group.Members(ctx)
	fmt.Println(len(members), err)
	// Output:
	// node-1 10.0.0.1:80 <nil>
	// <nil>
	// 0 <nil>
}

func ExamplePersistentNode() {
	ctx := context.Background()
	c, err := client.Dial(ctx, address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	node := recipes.NewPersistentNode(c, "/example/alive", []byte("since today"))
	fmt.Println(node.AwaitCreated(ctx))
	data, _, err := c.Get(ctx, node.Path())
	fmt.Println(string(data), err)
	fmt.Println(node.Close(ctx))
	// Output:
	// <nil>
	// since today <nil>
	// <nil>
}
