package cli

import (
	"os"

	"golang.org/x/sys/windows"
)

// takesEscapes makes a console take escape sequences, and reports whether it does.
func takesEscapes(f *os.File) bool {
	if f != os.Stdout && f != os.Stderr {
		return true // nothing is written to it
	}
	var mode uint32
	if windows.GetConsoleMode(windows.Handle(f.Fd()), &mode) != nil {
		return false
	}
	return windows.SetConsoleMode(windows.Handle(f.Fd()), mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
