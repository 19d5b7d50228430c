package shell

import (
	"os"
	"path/filepath"
	"strings"
)

// Replaceable returns the file that a name stands for, at the end of its links, and whether a renamed one may take its
// place. A device or a pipe would be lost, and a file in its place be of no use; and standard output, or another open
// file that is named by its number, is one that others have begun.
func Replaceable(name string) (file string, ok bool) {
	for _, numbered := range []string{"/dev/std", "/dev/fd/", "/proc/"} {
		if strings.HasPrefix(name, numbered) {
			return name, false
		}
	}
	info, err := os.Stat(name)
	if err != nil {
		return name, true // there is none
	}
	if file, err = filepath.EvalSymlinks(name); err != nil {
		return name, false // a file that has no name
	}
	return file, info.Mode().IsRegular() || info.IsDir()
}
