package recipes_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/recipes"
)

func ExamplePriorityQueue() {
	ctx := context.Background()
	c, err := client.Dial(ctx, address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	queue := recipes.NewPriorityQueue(c, "/example/alarms", "/example/alarms-locks")
	fmt.Println(queue.Put(ctx, 5, []byte("lamp is broken")), queue.Put(ctx, -1, []byte("fire")))
	for range 2 {
		alarm, err := queue.Take(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s %v\n", alarm.Items[0], alarm.Done(ctx))
	}
	// Output:
	// <nil> <nil>
	// fire <nil>
	// lamp is broken <nil>
}

func ExampleDelayQueue() {
	ctx := context.Background()
	c, err := client.Dial(ctx, address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	queue := recipes.NewDelayQueue(c, "/example/reminders", "/example/reminders-locks")
	soon := time.Now().Add(50 * time.Millisecond)
	fmt.Println(queue.Put(ctx, soon, []byte("tea")))
	reminder, err := queue.Take(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s %v %v\n", reminder.Items[0], !time.Now().Before(soon), reminder.Done(ctx))
	// Output:
	// <nil>
	// tea true <nil>
}
