package zk_test

import (
	"fmt"
	"time"

	"github.com/seed94657493/warren/client/zk" // was github.com/go-zookeeper/zk
)

func ExampleConnect() {
	conn, _, err := zk.Connect([]string{"zk1", "zk2", "zk3"}, 10*time.Second)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	data, stat, changed, err := conn.GetW("/settings")
	switch {
	case err == zk.ErrNoNode:
		fmt.Println("no settings yet")
	case err != nil:
		fmt.Println(err)
	default:
		fmt.Println(string(data), stat.Version)
		fmt.Println(<-changed)
	}
}
