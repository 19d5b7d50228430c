// Package accidents shows that all surfaces of an ensemble tell one truth. It makes accidents for real, with servers
// as processes, and wants warren status, warren doctor, the API that the console shows, readyz, the log and the
// metrics to tell the same findings with the same severities, whichever server is asked; and nothing anywhere once
// the accident is over.
//
// What they tell is the table of docs/TROUBLESHOOTING.md. The test compares the page with what it has seen, and
// writes it anew with -accidents.update. The alerts are named by hand here, and must be in the rules; package
// test/deploy lets them fire.
package accidents
