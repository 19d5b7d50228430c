package modules

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/mod/modfile"
)

// Module is a Go module of this repository.
type Module struct {
	Path   string
	Folder string        // from the top folder, "." for the module there
	File   *modfile.File // its go.mod
}

// Workspace is the modules that go.work names.
type Workspace struct {
	Root    string   // the top folder
	Modules []Module // each after those that it requires
	work    *modfile.WorkFile
}

// Read reads go.work in the top folder, and the go.mod of each module.
func Read(root string) (*Workspace, error) {
	name := filepath.Join(root, "go.work")
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	w := &Workspace{Root: root}
	if w.work, err = modfile.ParseWork(name, text, nil); err != nil {
		return nil, err
	}
	for _, use := range w.work.Use {
		name := filepath.Join(root, filepath.FromSlash(use.Path), "go.mod")
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		file, err := modfile.Parse(name, text, nil)
		if err != nil {
			return nil, err
		}
		folder := filepath.ToSlash(filepath.Clean(use.Path))
		w.Modules = append(w.Modules, Module{Path: file.Module.Mod.Path, Folder: folder, File: file})
	}
	return w, w.sort()
}

// sort puts each module after those that it requires.
func (w *Workspace) sort() error {
	var sorted []Module
	for rest := w.Modules; len(rest) > 0; {
		isReady := func(m Module) bool {
			return !slices.ContainsFunc(rest, func(other Module) bool { return m.requires(other.Path) != "" })
		}
		i := slices.IndexFunc(rest, isReady)
		if i < 0 {
			return fmt.Errorf("modules: %s and others require each other", rest[0].Path)
		}
		sorted, rest = append(sorted, rest[i]), slices.Delete(slices.Clone(rest), i, i+1)
	}
	w.Modules = sorted
	return nil
}

// requires returns the version that a module requires of another one, or "".
func (m Module) requires(path string) string {
	for _, r := range m.File.Require {
		if r.Mod.Path == path {
			return r.Mod.Version
		}
	}
	return ""
}

// Version returns the version that the modules require of each other, which must be one for all.
func (w *Workspace) Version() (string, error) {
	version := ""
	for _, m := range w.Modules {
		for _, other := range w.Modules {
			required := m.requires(other.Path)
			if version == "" {
				version = required
			}
			if required != "" && required != version {
				return "", fmt.Errorf("modules: %s requires %s at %s, and others require %s",
					m.Path, other.Path, required, version)
			}
		}
	}
	return version, nil
}

// SetVersion changes the version that the modules require of each other, in each go.mod and in go.work.
func (w *Workspace) SetVersion(version string) error {
	for _, m := range w.Modules {
		for _, other := range w.Modules {
			if m.requires(other.Path) == "" {
				continue
			}
			if err := m.File.AddRequire(other.Path, version); err != nil {
				return err
			}
		}
		text, err := m.File.Format()
		if err != nil {
			return err
		}
		if err := os.WriteFile(w.path(m, "go.mod"), text, 0o644); err != nil {
			return err
		}
	}
	for _, m := range w.Modules {
		for _, r := range slices.Clone(w.work.Replace) {
			if r.Old.Path != m.Path || r.Old.Version == version {
				continue
			}
			folder := r.New.Path
			if err := w.work.DropReplace(m.Path, r.Old.Version); err != nil {
				return err
			}
			if err := w.work.AddReplace(m.Path, version, folder, ""); err != nil {
				return err
			}
		}
	}
	w.work.Cleanup()
	return os.WriteFile(filepath.Join(w.Root, "go.work"), modfile.Format(w.work.Syntax), 0o644)
}

// path is that of a file in the folder of a module.
func (w *Workspace) path(m Module, name string) string {
	return filepath.Join(w.Root, filepath.FromSlash(m.Folder), name)
}
