package modules

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/dirhash"
)

// WriteSums writes a proxy as WriteProxy does, and into the go.sum of each module the checksums of the modules that
// it requires. A go.sum is part of a module, so the modules are hashed in their order.
func (w *Workspace) WriteSums(dir, version string) error {
	sums := map[string][]string{} // by module path
	for _, m := range w.Modules {
		var required []string
		for _, other := range w.Modules {
			if m.requires(other.Path) != "" {
				required = append(required, sums[other.Path]...)
			}
		}
		if err := w.setSums(m, required); err != nil {
			return err
		}
		zipped, err := w.pack(m, dir, version)
		if err != nil {
			return fmt.Errorf("modules: %s %s: %w", m.Path, version, err)
		}
		if sums[m.Path], err = w.sumsOf(m, version, zipped); err != nil {
			return err
		}
	}
	return nil
}

// sumsOf returns the lines of a go.sum that are about a module.
func (w *Workspace) sumsOf(m Module, version, zipped string) ([]string, error) {
	whole, err := dirhash.HashZip(zipped, dirhash.Hash1)
	if err != nil {
		return nil, err
	}
	mod, err := dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) {
		return os.Open(w.path(m, "go.mod"))
	})
	return []string{
		fmt.Sprintf("%s %s %s", m.Path, version, whole),
		fmt.Sprintf("%s %s/go.mod %s", m.Path, version, mod),
	}, err
}

// DropSums removes the checksums of the own modules from every go.sum: between releases they are those of no version.
func (w *Workspace) DropSums() error {
	for _, m := range w.Modules {
		if err := w.setSums(m, nil); err != nil {
			return err
		}
	}
	return nil
}

// setSums replaces the lines of a module's go.sum that are about own modules.
func (w *Workspace) setSums(m Module, lines []string) error {
	name := w.path(m, "go.sum")
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	pathOf := func(line string) string { path, _, _ := strings.Cut(line, " "); return path }
	for line := range strings.Lines(string(text)) {
		if !slices.ContainsFunc(w.Modules, func(own Module) bool { return own.Path == pathOf(line) }) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	if len(lines) == 0 {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	slices.SortStableFunc(lines, func(a, b string) int { return strings.Compare(pathOf(a), pathOf(b)) })
	return os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}
