// Command plain uses go-zookeeper itself.
package main

import (
	"fmt"
	"log"
	"os"
	"time"

	"github.com/go-zookeeper/zk"
)

func main() {
	conn, events, err := zk.Connect(os.Args[1:], 10*time.Second, zk.WithLogInfo(false))
	check(err)
	defer conn.Close()
	for event := range events {
		if event.State == zk.StateHasSession {
			break
		}
	}
	lock := zk.NewLock(conn, "/plain/lock", zk.WorldACL(zk.PermAll))
	check(lock.Lock())
	_, _, changed, err := conn.ExistsW("/plain/n")
	check(err)
	_, err = conn.Create("/plain/n", []byte("one"), zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	check(err)
	fmt.Println((<-changed).Type)
	_, err = conn.Create("/plain/n", nil, 0, zk.WorldACL(zk.PermAll))
	fmt.Println(err == zk.ErrNodeExists)
	check(lock.Unlock())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
