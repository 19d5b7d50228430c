//go:build unix

package servers

import (
	"os"
	"syscall"
)

// resized are the signals that say that the terminal has another size.
var resized = []os.Signal{syscall.SIGWINCH}
