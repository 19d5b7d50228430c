// Package doctor shows warren doctor to servers that are really ill: processes that are killed or stopped, disks that
// are full, files that are damaged or belong to another user, certificates that have expired. Each test wants the
// illness as a finding, with a remedy, and the more urgent findings before the less urgent ones.
//
// What a machine is ill of by itself does not count: a limit of open files or a slow disk. Package cmd/warren/doctor
// shows what cannot be had here to the checks, as answers that are made up.
//
// TestAccidents makes accidents in an ensemble and compares what all surfaces tell of them: status, doctor, and the
// API, readyz, log, metrics and console of every server. Chromium draws the console, and obeys a pipe
// (browser_test.go). Clients of four kinds say what they are told (refused_test.go), and promtool says which alerts
// fire. What is not installed has the cells in the tables that the page has (tables_test.go). Slow and failing disks
// and wrong clocks are built into the servers (faults_test.go); networks are cut with namespaces.
package doctor
