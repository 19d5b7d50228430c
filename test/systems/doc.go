// Package systems runs systems that use ZooKeeper, as released, on ensembles of three whose leader is killed again and
// again: on Warren and, beside it, on Apache ZooKeeper. It has no code of its own outside the tests, and they need the
// tag systems, Java, Maven, Python and the network: see the target systems of the Makefile.
//
// Each system has a folder with a README, with the program that gives it work, and with the row of versions.json that
// says what is fetched. The program checks the data of the system at the end, and prints
//
//	ready                    when it begins to work
//	check NAME: ok DETAIL    or: check NAME: failed DETAIL
//	felt NAME: VALUE         what a user of the system felt
//
// and everything else that it prints is for people who look for the cause of a failure. It reads lines: "mark" says
// that the second half of a run begins, in which the system itself has faults; "stop" asks it to check its data and to
// end.
//
// What is fetched is kept in the folder WARREN_SYSTEMS_CACHE, or warren-systems in the user's cache. A system that
// cannot be fetched is skipped, and the record says so: skipped is not passed.
//
// The record of the last run is record.json. docs/SYSTEMS.md has tables of it, which a test without the tag compares.
package systems
