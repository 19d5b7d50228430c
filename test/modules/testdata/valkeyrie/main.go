// Command valkeyrie keeps values and takes a lock by Valkeyrie.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/kvtools/valkeyrie/store"
	"github.com/kvtools/zookeeper"
)

func main() {
	ctx := context.Background()
	kv, err := zookeeper.New(ctx, os.Args[1:], nil)
	check(err)
	defer kv.Close()
	check(kv.Put(ctx, "valkeyrie/a", []byte("one"), nil))
	pair, err := kv.Get(ctx, "valkeyrie/a", nil)
	check(err)
	fmt.Println(string(pair.Value))
	_, _, err = kv.AtomicPut(ctx, "valkeyrie/a", []byte("two"), pair, nil)
	check(err)
	_, _, err = kv.AtomicPut(ctx, "valkeyrie/a", []byte("three"), pair, nil)
	fmt.Println(err == store.ErrKeyModified)
	all, err := kv.List(ctx, "valkeyrie", nil)
	check(err)
	fmt.Println(len(all), string(all[0].Value))
	lock, err := kv.NewLock(ctx, "valkeyrie-lock", nil)
	check(err)
	_, err = lock.Lock(ctx)
	check(err)
	check(lock.Unlock(ctx))
	check(kv.DeleteTree(ctx, "valkeyrie"))
	fmt.Println("done")
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
