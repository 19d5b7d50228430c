// Command site writes the repository's pages to a folder, as a web site that any server of files can show:
//
//	go run ./test/site dist/site
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed94657493/warren"
	"github.com/seed94657493/warren/internal/site"
)

func main() {
	if err := write(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

// withViews has the pages, and the pictures that would make programs too large.
type withViews struct{ fs.FS }

// Open implements fs.FS.
func (w withViews) Open(name string) (fs.File, error) {
	if name == "docs/views" || strings.HasPrefix(name, "docs/views/") {
		return os.DirFS(".").Open(name)
	}
	return w.FS.Open(name)
}

func write(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("one argument is needed: the folder to write")
	}
	s, err := site.New(withViews{warren.Pages}, "")
	if err != nil {
		return err
	}
	var problems []error
	for _, name := range s.Files() {
		content, err := s.File(name)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		file := filepath.Join(args[0], filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o644); err != nil {
			return err
		}
	}
	return errors.Join(problems...)
}
