package servers

import (
	"os"
	"syscall"
)

// resized is a signal that never comes: the terminal keeps the size that it had when the shell was started.
var resized = []os.Signal{syscall.Signal(-1)}
