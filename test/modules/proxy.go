package modules

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// WriteProxy writes a module proxy made of files, which has each module at one version: GOPROXY=file://dir.
func (w *Workspace) WriteProxy(dir, version string) error {
	for _, m := range w.Modules {
		if _, err := w.pack(m, dir, version); err != nil {
			return fmt.Errorf("modules: %s %s: %w", m.Path, version, err)
		}
	}
	return nil
}

// pack writes the files of a module into a proxy and returns the name of its zip file.
func (w *Workspace) pack(m Module, dir, version string) (zipped string, err error) {
	escaped, err := module.EscapePath(m.Path)
	if err != nil {
		return "", err
	}
	into := filepath.Join(dir, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(into, 0o755); err != nil {
		return "", err
	}
	info, err := json.Marshal(struct{ Version string }{version})
	if err != nil {
		return "", err
	}
	mod, err := os.ReadFile(w.path(m, "go.mod"))
	if err != nil {
		return "", err
	}
	files := map[string][]byte{"list": []byte(version + "\n"), version + ".info": info, version + ".mod": mod}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(into, name), text, 0o644); err != nil {
			return "", err
		}
	}
	zipped = filepath.Join(into, version+".zip")
	out, err := os.Create(zipped)
	if err != nil {
		return "", err
	}
	defer out.Close()
	if err := w.zip(out, module.Version{Path: m.Path, Version: version}, m); err != nil {
		return "", err
	}
	return zipped, out.Close()
}

// zip writes the zip file of a module. It has what git has and does not ignore, also what is not committed yet; and
// the licence at the top, as the go command adds it to modules in other folders.
func (w *Workspace) zip(out io.Writer, v module.Version, m Module) error {
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = w.path(m, "")
	listed, err := list.Output()
	if err != nil {
		return zip.CreateFromDir(out, v, list.Dir) // not a repository, but an archive of it
	}
	names := strings.FieldsFunc(string(listed), func(r rune) bool { return r == 0 })
	slices.Sort(names)
	var files []zip.File
	for _, name := range slices.Compact(names) {
		if _, err := os.Lstat(w.path(m, name)); err == nil { // else it is deleted, and not committed yet
			files = append(files, diskFile{name, w.path(m, name)})
		}
	}
	if !slices.Contains(names, "LICENSE") {
		files = append(files, diskFile{"LICENSE", filepath.Join(w.Root, "LICENSE")})
	}
	return zip.Create(out, v, files)
}

// diskFile is a file of a module.
type diskFile struct{ inZip, onDisk string }

func (f diskFile) Path() string                 { return path.Clean(f.inZip) }
func (f diskFile) Lstat() (fs.FileInfo, error)  { return os.Lstat(f.onDisk) }
func (f diskFile) Open() (io.ReadCloser, error) { return os.Open(f.onDisk) }
