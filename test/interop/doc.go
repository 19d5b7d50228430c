// Package interop holds the tests that compare Warren with Apache ZooKeeper and let other
// projects' clients use it. It has no code of its own outside the tests.
//
// Without a build tag: go-zookeeper drives every operation against a Warren process.
//
// With the tag interop, which needs Debian's packages of ZooKeeper 3.8, its clients and kazoo:
//
//   - TestDifferential sends the same random requests to two servers and compares every reply,
//     Stat, error, watch event and the tree that is left. Each run prints its seed;
//     -interop.seed=N replays it. What may differ is in the table of allowances, each entry with
//     its reason and the section of the specification.
//   - TestJavaClient, TestShell, TestKazoo and TestCClient run programs in testdata, which print
//     an OK line for every operation they have checked.
//   - TestKazooLearnsOutcomes kills servers under a kazoo client whose adapter was written from
//     docs/protocol/extensions.md alone: no call fails, and none is done twice.
//   - TestKazooSuite runs kazoo's own suite with its own harness, with -interop.kazoo and Debian's pytest. All of its
//     476 tests pass but one, which fails with ZooKeeper 3.8 as well.
//   - TestSurface and TestEnsembleSurface compare the four-letter words, the admin commands and the metrics,
//     TestWhitelist what is refused. What may differ is in a table too.
//   - TestPeersJoinJava and TestPeersLeadJava speak the quorum protocol with servers in Java, on both ports and both
//     sides.
//   - TestCurator lets package recipes and a Java program with Curator 5.4 use the same locks, queues
//     and other recipes in turns, against both servers.
//   - TestKazooRecipesAreDecoded and TestCuratorRecipesAreDecoded compare what the API says of locks, elections and
//     other recipes with what the programs know that hold them.
//   - TestDrainedServers counts what each client sees of a rolling restart of drained servers, and
//     TestUnaskedPingReplies asks clients to leave all the time.
//   - TestKilledLeaders counts what each client sees of leaders that are killed, against both servers.
//   - TestDataDirectory hands one data directory to and fro between the two servers.
//
// -interop.target=zookeeper runs the client programs against ZooKeeper, and
// -interop.right=zookeeper compares ZooKeeper with itself: both must pass, or the test is wrong.
package interop
