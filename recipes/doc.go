// Package recipes builds what programs need from a coordination service on top of package client: locks,
// elections, groups, barriers, counters and more. It uses nothing but the client's operations, so it works with
// Apache ZooKeeper too.
//
//	lock := recipes.NewMutex(c, "/app/locks/report")
//	hold, err := lock.Lock(ctx)
//	if err != nil {
//		return err
//	}
//	defer hold.Release(context.Background())
//	return write(hold.Context(), hold.Token(), report)
//
// # Rules
//
// A recipe that grants exclusive access returns a Hold. The Context of a Hold ends when the possession is no
// longer certain. Its Token is the zxid of the grant. The context of a call bounds waiting. When a call fails,
// none of its znodes stays behind as long as the client lives; a znode that the client cannot delete ends with
// its session.
//
// The connection may be lost between a create and its answer. Znodes of a line are marked with a fresh id and
// searched for, so that none is created twice. A znode whose name several participants want is recognised by
// owner and data; before its owner deletes it, the owner reads it to make sure that it is still its own. The
// other writes of the package may be applied twice without harm. Where that is not possible the error is
// returned, and client.MayHaveApplied tells whether the write may have been applied.
//
// # Layout
//
// Where Curator has the same recipe the znodes and their data are the same, so that Go and Java programs may
// share a path. Missing parents are created as containers. The root of a chroot must exist.
//
// Goroutines: there is one for each Hold, PersistentNode, LiveConfig and Provider, which ends with it. If the
// context ends first, there is one for each release of a claimed znode, and for each claim with an unknown
// outcome; it ends with the client at the latest. No other goroutine runs in the background.
package recipes
