// Package cluster runs servers as processes: Warren, built from this module, or Apache ZooKeeper
// from Debian's packages, standalone or as an ensemble, on free loopback ports with data
// directories of their own. A Node can be started, stopped, killed, paused and started again; its
// address and directory stay.
//
// # Contract
//
// Everything hangs on a testing.TB: a failure to start is fatal to it, its end kills what still
// runs, and if it failed the directory (zoo.cfg, log of the process, data) is kept and named.
// Only processes that a Node started are ever signalled. The process dies with the test process.
//
// The packages that use it call Main from TestMain, which removes the binary that was built.
//
// The tests of this package are crash tests: load with acknowledged writes, SIGKILL at a random
// moment, restart, and a comparison of what was promised with what is there.
// They run -cluster.rounds rounds from -cluster.seed.
package cluster
