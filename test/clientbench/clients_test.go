package clientbench

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	gozk "github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/client/zk"
	"github.com/seed94657493/warren/test/must"
)

// The znodes that all clients use.
const (
	benchPath    = "/clientbench"
	nodePath     = benchPath + "/node"     // of get, set and multi; 128 bytes
	childrenPath = benchPath + "/children" // with 20 children
	multiOps     = 3                       // setData in a multi
)

// contender is one client with a session, and how it does each load.
type contender struct {
	name  string
	get   drive
	set   drive
	multi drive
	list  drive
	make  drive                          // create, then delete, each an operation
	watch func(path string) (any, error) // on the creation of path; the result is what the application keeps
	close func()
}

func (c *contender) drive(load string) drive {
	return map[string]drive{"get": c.get, "set": c.set, "multi": c.multi, "children": c.list,
		"create-delete": c.make}[load]
}

// connectors make the clients that are compared; the first is what the others are measured by.
var connectors = []func(t testing.TB, addr string) contender{dialTheirs, dialCompatible, dialOurs, dialAsync}

type silent struct{}

func (silent) Printf(string, ...any) {}

// ownPaths are the znodes that the slots of a client make and delete. No other client, of any run, has the same.
func ownPaths() []string {
	paths, own := make([]string, slotsMax), rand.Text()[:8]
	for slot := range paths {
		paths[slot] = fmt.Sprintf("%s/%s-%04d", benchPath, own, slot)
	}
	return paths
}

// inTurns calls the first function and the second in turns, each slot for itself.
func inTurns(create, remove func(path string) error) drive {
	paths, isMade := ownPaths(), make([]bool, slotsMax)
	return goroutines(func(slot int) (err error) {
		if isMade[slot] {
			err = remove(paths[slot])
		} else {
			err = create(paths[slot])
		}
		isMade[slot] = !isMade[slot]
		return err
	})
}

func dialTheirs(t testing.TB, addr string) contender {
	c, events := must.Do2(gozk.Connect([]string{addr}, 30*time.Second, gozk.WithLogger(silent{})))(t)
	for e := range events {
		if e.State == gozk.StateHasSession {
			break
		}
	}
	data, open := make([]byte, 128), gozk.WorldACL(gozk.PermAll)
	return contender{
		name: "go-zookeeper",
		get:  goroutines(func(int) error { _, _, err := c.Get(nodePath); return err }),
		set:  goroutines(func(int) error { _, err := c.Set(nodePath, data, -1); return err }),
		list: goroutines(func(int) error { _, _, err := c.Children(childrenPath); return err }),
		multi: goroutines(func(int) error {
			ops := make([]any, multiOps)
			for i := range ops {
				ops[i] = &gozk.SetDataRequest{Path: nodePath, Data: data, Version: -1}
			}
			_, err := c.Multi(ops...)
			return err
		}),
		make: inTurns(func(path string) error { _, err := c.Create(path, data, 0, open); return err },
			func(path string) error { return c.Delete(path, -1) }),
		watch: func(path string) (any, error) { _, _, w, err := c.ExistsW(path); return w, err },
		close: c.Close,
	}
}

func dialCompatible(t testing.TB, addr string) contender {
	c, events := must.Do2(zk.Connect([]string{addr}, 30*time.Second, zk.WithLogger(silent{})))(t)
	for e := range events {
		if e.State == zk.StateHasSession {
			break
		}
	}
	data, open := make([]byte, 128), zk.WorldACL(zk.PermAll)
	return contender{
		name: "client/zk",
		get:  goroutines(func(int) error { _, _, err := c.Get(nodePath); return err }),
		set:  goroutines(func(int) error { _, err := c.Set(nodePath, data, -1); return err }),
		list: goroutines(func(int) error { _, _, err := c.Children(childrenPath); return err }),
		multi: goroutines(func(int) error {
			ops := make([]any, multiOps)
			for i := range ops {
				ops[i] = &zk.SetDataRequest{Path: nodePath, Data: data, Version: -1}
			}
			_, err := c.Multi(ops...)
			return err
		}),
		make: inTurns(func(path string) error { _, err := c.Create(path, data, 0, open); return err },
			func(path string) error { return c.Delete(path, -1) }),
		watch: func(path string) (any, error) { _, _, w, err := c.ExistsW(path); return w, err },
		close: c.Close,
	}
}

func dialOurs(t testing.TB, addr string) contender {
	c := dial(t, addr)
	ctx, data := context.Background(), make([]byte, 128)
	return contender{
		name: "client",
		get:  goroutines(func(int) error { _, _, err := c.Get(ctx, nodePath); return err }),
		set:  goroutines(func(int) error { _, err := c.Set(ctx, nodePath, data, client.AnyVersion); return err }),
		list: goroutines(func(int) error { _, _, err := c.Children(ctx, childrenPath); return err }),
		multi: goroutines(func(int) error {
			var txn client.Txn
			for range multiOps {
				txn.Set(nodePath, data, client.AnyVersion)
			}
			_, err := c.Commit(ctx, &txn)
			return err
		}),
		make: inTurns(func(path string) error { _, err := c.Create(ctx, path, data, client.Persistent); return err },
			func(path string) error { return c.Delete(ctx, path, client.AnyVersion) }),
		watch: func(path string) (any, error) {
			_, _, w, err := c.ExistsW(ctx, path)
			if err != nil {
				return nil, err
			}
			w.C() // as the others: each has a channel of its own
			return w, nil
		},
		close: func() { _ = c.Close() },
	}
}

// dialAsync is dialOurs with one goroutine that keeps all requests outstanding, and with watches whose channels were
// not asked for.
func dialAsync(t testing.TB, addr string) contender {
	c := dial(t, addr)
	ctx, data, a := context.Background(), make([]byte, 128), c.Async()
	return contender{
		name: "client, async",
		get:  futures(func(int) client.Future[client.NodeData] { return a.Get(ctx, nodePath) }),
		set:  futures(func(int) client.Future[client.Stat] { return a.Set(ctx, nodePath, data, client.AnyVersion) }),
		list: futures(func(int) client.Future[client.NodeChildren] { return a.Children(ctx, childrenPath) }),
		multi: futures(func(int) client.Future[[]client.TxnResult] {
			txn := new(client.Txn)
			for range multiOps {
				txn.Set(nodePath, data, client.AnyVersion)
			}
			return a.Commit(ctx, txn)
		}),
		make:  makeAsync(ctx, a, data),
		watch: func(path string) (any, error) { _, _, w, err := c.ExistsW(ctx, path); return w, err },
		close: func() { _ = c.Close() },
	}
}

// makeAsync creates a znode in each slot and deletes it when its turn comes again.
func makeAsync(ctx context.Context, a client.Async, data []byte) drive {
	paths, isMade := ownPaths(), make([]bool, slotsMax)
	created := make([]client.Future[client.Created], slotsMax)
	deleted := make([]client.Future[struct{}], slotsMax)
	return window(func(slot int) {
		if isMade[slot] {
			deleted[slot] = a.Delete(ctx, paths[slot], client.AnyVersion)
		} else {
			created[slot] = a.Create(ctx, paths[slot], data, client.Persistent)
		}
		isMade[slot] = !isMade[slot]
	}, func(slot int) (err error) {
		if isMade[slot] {
			_, err = created[slot].Wait(ctx)
		} else {
			_, err = deleted[slot].Wait(ctx)
		}
		return err
	})
}

func dial(t testing.TB, addr string) *client.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c := must.Do(client.Dial(ctx, addr, client.WithSessionTimeout(30*time.Second)))(t)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// makeNodes makes the znodes that all clients use.
func makeNodes(t testing.TB, addr string) {
	t.Helper()
	c := dial(t, addr)
	ctx := context.Background()
	data := make([]byte, 128)
	require.NoError(t, c.CreateAll(ctx, nodePath))
	must.Do(c.Set(ctx, nodePath, data, client.AnyVersion))(t)
	for i := range 20 {
		require.NoError(t, c.CreateAll(ctx, fmt.Sprintf("%s/member-%010d", childrenPath, i)))
	}
}
