// Command kratos registers and finds a service by Kratos.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/go-kratos/kratos/contrib/registry/zookeeper/v2"
	"github.com/go-kratos/kratos/v2/registry"
	"github.com/go-zookeeper/zk"
)

func main() {
	ctx := context.Background()
	conn, _, err := zk.Connect(os.Args[1:], 10*time.Second, zk.WithLogInfo(false))
	check(err)
	defer conn.Close()
	r := zookeeper.New(conn)
	service := &registry.ServiceInstance{ID: "1", Name: "web", Endpoints: []string{"http://10.0.0.1:80"}}
	check(r.Register(ctx, service))
	found, err := r.GetService(ctx, "web")
	check(err)
	fmt.Println(len(found), found[0].Endpoints)
	watcher, err := r.Watch(ctx, "web")
	check(err)
	found, err = watcher.Next()
	check(err)
	fmt.Println(len(found))
	check(r.Deregister(ctx, service))
	found, err = watcher.Next()
	check(err)
	fmt.Println(len(found))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
