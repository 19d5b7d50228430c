package recipes_test

import (
	"context"
	"fmt"
	"log"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
)

func ExampleBundle() {
	ctx := context.Background()
	c, err := client.Dial(ctx, address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	settings := recipes.NewBundle(c, "/example/settings")
	err = settings.Publish(ctx, map[string][]byte{"host": []byte("db1"), "port": []byte("5432")})
	fmt.Println(err)
	published, err := settings.Read(ctx)
	fmt.Printf("%s:%s %v\n", published.Parts["host"], published.Parts["port"], err)
	// Output:
	// <nil>
	// db1:5432 <nil>
}
