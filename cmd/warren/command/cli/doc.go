// Package cli is how commands of warren are invoked and how they end: arguments, flags of more than one command,
// terminals, errors of an invocation, and exit codes. It knows no command, and is for the goroutine of the command.
//
// # Exit codes
//
//	0   done; or an orderly stop after SIGTERM or SIGINT
//	1   unexpected error; or a configuration that names what does not exist
//	2   invalid invocation or configuration
//	3   a data directory cannot be used
//	4   the admin server cannot be started on the port that was asked for
//	10  the log could not be written
//	14  a port cannot be bound
//
// They are ZooKeeper's. An error chooses its own by a method ExitCode. Source: operations 1.3.
//
// Results go to standard output; logs, warnings and errors to standard error.
package cli
