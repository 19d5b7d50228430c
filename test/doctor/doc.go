// Package doctor shows warren doctor to servers that are really ill: processes that are killed or stopped, disks that
// are full, files that are damaged or belong to another user, certificates that have expired. Each test wants the
// illness as a finding, with a remedy, and the more urgent findings before the less urgent ones.
//
// What a machine is ill of by itself does not count: a limit of open files or a slow disk. Package cmd/warren/doctor
// shows what cannot be had here to the checks, as answers that are made up.
//
// TestAccidents makes accidents in an ensemble and compares what all surfaces tell of them: status, doctor, and the
// API, readyz, log and metrics of every server. Slow and failing disks and wrong clocks are built into the servers
// (faults_test.go). Which alerts fire is found by promtool.
package doctor
