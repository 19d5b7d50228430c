// Package docs runs what the documents tell operators to type.
//
// A fenced block whose info string is "sh run" is run; the blocks of one page, in their order, are one script under `sh -eu`, in an empty
// folder, in which `warren` is this program. Background processes live until the page ends. A command that must say something pipes
// into grep. Blocks marked "sh" alone, indented blocks and commands in the text are not run, because they need root, another
// machine or a cluster; but the commands of warren in them must exist, and so must their flags.
//
// So that pages can name the ports that everybody knows and tests can run beside each other, these ports are moved, all by the same
// distance, to a range that is free. TROUBLESHOOTING.md quotes messages; each must be one of the program's.
package docs
