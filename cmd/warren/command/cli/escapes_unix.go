//go:build unix

package cli

import "os"

// takesEscapes is true: terminals of Unix take escape sequences.
func takesEscapes(*os.File) bool { return true }
