// Package shell is the command line client of warren: zkCli.sh's commands, flags, texts and exit codes, and a few
// commands of its own.
//
// A Shell runs one command (Command), the lines of a file or pipe (Script), or a terminal (Terminal). It has one
// session, which `connect` replaces. What a command finds goes to Out, what went wrong to Err; `Created` and the path
// of a quota go to Err too, because zkCli.sh puts them there and scripts know it. With JSON every result is one
// object on a line of Out, every error one on Err.
//
// Exit codes are 0, 1 for a command that failed, 127 for an unknown command and 130 for an interrupted one; that of
// several commands is the last one's.
//
// # Order on the screen
//
// A watch event is queued by the goroutine that reads from the server and printed before the result of any command
// that was answered after it, because the server sends them in that order. While a command waits, and at the prompt,
// another goroutine prints what is queued.
//
// # Owners
//
// One goroutine calls the methods of a Shell. It owns everything but the output, which has a lock of its own and is
// shared with the printer of events, and the terminal's keys, which one goroutine reads, so that a signal can end the
// wait for them.
//
// Source: operations 5; texts captured from ZooKeeper 3.8.
package shell
