//go:build race

package cluster

// raceEnabled tells whether the tests, and so the server, run with the race detector.
const raceEnabled = true
