package command

import "github.com/seed94657493/warren/test/cmdline"

// run runs one command line of warren.
func run(args ...string) (code int, stdout, stderr string) {
	return cmdline.Run(commands(), args...)
}
