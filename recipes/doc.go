// Package recipes builds what programs need from a coordination service on top of package client: locks, elections, groups, barriers,
// counters and more. It uses nothing but the client's operations, so it works with Apache ZooKeeper too.
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
// Whatever grants something exclusive returns a Hold. Its Context ends when the possession is in doubt, its Token is the zxid of the
// grant. Waiting is bounded by the context of the call. When a call fails, no znode of it stays behind as long as
// the client lives; what the client cannot delete goes with its session.
//
// The connection may be lost between a create and its answer. Znodes of a line are marked with a fresh id and looked for, so that none is
// created twice; those whose name others want too are recognised by owner and data, and deleted by who has looked that they are still
// its own; the other writes of the package are such that doing them twice does no harm. Where that is not possible the error is handed
// out and client.MayHaveApplied tells.
//
// # Layout
//
// Where Curator has the same recipe the znodes and their data are the same, so that Go and Java programs may share a path. Missing
// parents are created as containers. The root of a chroot must exist.
//
// Goroutines: one for each Hold, PersistentNode, LiveConfig and Provider, which end with them, and one for each release of a claimed znode,
// or claim of one with an unknown outcome, whose context ended first, which ends with the client at the latest. Nothing else runs in the background.
package recipes
