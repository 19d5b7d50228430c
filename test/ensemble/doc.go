// Package ensemble puts ensembles of real processes through what happens to servers: kills, pauses, cut networks,
// full and lost disks, while clients that move between the servers write, read and watch. What the clients saw is
// recorded and judged by package history; at the end all servers must have the same tree.
//
// Each server runs in a network namespace of its own, which takes root; without it the tests that cut networks are
// skipped, and the others run on loopback.
package ensemble
