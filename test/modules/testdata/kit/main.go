// Command kit registers and finds a service by Go kit.
package main

import (
	stdlog "log"
	"os"

	"github.com/go-kit/kit/sd"
	"github.com/go-kit/kit/sd/zk"
	"github.com/go-kit/log"
)

func main() {
	client, err := zk.NewClient(os.Args[1:], log.NewNopLogger())
	check(err)
	defer client.Stop()
	instancer, err := zk.NewInstancer(client, "/kit/web", log.NewNopLogger())
	check(err)
	defer instancer.Stop()
	changes := make(chan sd.Event, 10)
	instancer.Register(changes)
	show(<-changes)
	service := zk.Service{Path: "/kit", Name: "web", Data: []byte("10.0.0.1:80")}
	zk.NewRegistrar(client, service, log.NewNopLogger()).Register()
	show(<-changes)
}

func show(e sd.Event) {
	check(e.Err)
	stdlog.SetFlags(0)
	stdlog.SetOutput(os.Stdout)
	stdlog.Println(e.Instances)
}

func check(err error) {
	if err != nil {
		stdlog.Fatal(err)
	}
}
