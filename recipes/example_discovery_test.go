package recipes_test

import (
	"context"
	"fmt"
	"log"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
)

func ExampleDiscovery() {
	ctx := context.Background()
	c, err := client.Dial(ctx, address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	services := recipes.NewDiscovery(c, "/example/services")
	uri, err := recipes.ParseURISpec("{scheme}://{address}:{port}/status")
	if err != nil {
		log.Fatal(err)
	}
	web, err := services.Register(ctx, recipes.Instance{Name: "web", Address: "10.0.0.1", Port: 8080, URI: uri})
	if err != nil {
		log.Fatal(err)
	}
	instances, err := services.Instances(ctx, "web")
	fmt.Println(len(instances), instances[0].BuildURI(nil), err)
	fmt.Println(web.Close(ctx))
	// Output:
	// 1 http://10.0.0.1:8080/status <nil>
	// <nil>
}

func ExampleProvider() {
	ctx := context.Background()
	c, err := client.Dial(ctx, address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	services := recipes.NewDiscovery(c, "/example/mail")
	for _, id := range []string{"a", "b"} {
		if _, err := services.Register(ctx, recipes.Instance{Name: "smtp", ID: id, Port: 25}); err != nil {
			log.Fatal(err)
		}
	}
	smtp, err := services.Provider(ctx, "smtp", recipes.RoundRobin())
	if err != nil {
		log.Fatal(err)
	}
	defer smtp.Close()
	for range 3 {
		instance, err := smtp.Pick()
		fmt.Println(instance.ID, err)
	}
	// Output:
	// a <nil>
	// b <nil>
	// a <nil>
}
