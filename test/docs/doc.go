// Package docs runs what the documents tell operators to type.
//
// A fenced block of sh is run. The blocks of one page, in their order, are one script under `sh -eu`, in an empty
// folder, in which `warren` is this program. Background processes live until the page ends. A command that must say
// something pipes into grep. Comments that readers do not see, on the line before a block, are for the test:
//
//   - <!-- not run: REASON -->: it cannot run here
//   - <!-- interop: REASON -->: it runs with the build tag interop
//   - <!-- runs on: zk1, zk2, zk3 -->: it runs after the others of all pages, on servers that stand for these hosts
//   - <!-- file: NAME -->: a block of another kind is a file in the folder
//
// <!-- first: PAGE.md --> anywhere names a page beside this one whose blocks under "You do" are run before. No command
// stands in a block of another kind or in an indented one, in any page of the repository. The commands of warren in
// blocks that are not run, and in the text, must exist, and so must their flags.
//
// So that pages can name the usual ports and tests can run beside each other, these ports are moved, all by the same
// distance, to a range that is free. TROUBLESHOOTING.md quotes messages; each must be one of the program's.
//
// What comments, test data and pages cite must exist: "storage 6.4" and "guarantee 5" in docs/protocol, "adr 0009" in
// docs/adr.
package docs
