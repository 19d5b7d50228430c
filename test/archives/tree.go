package main

import (
	"archive/tar"
	"archive/zip"
	"cmp"
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"
)

// tree is what an archive holds, below one folder named top. Its methods keep the first error for the writer.
type tree struct {
	top     string
	made    time.Time
	entries []entry
	err     error
}

type entry struct {
	name string // below top, with slashes
	mode fs.FileMode
	file string // where its content is; empty: it is text
	text []byte
}

func (t *tree) add(name, file string, mode fs.FileMode) {
	t.entries = append(t.entries, entry{name: name, file: file, mode: mode})
}

func (t *tree) text(name string, text []byte) {
	t.entries = append(t.entries, entry{name: name, text: text, mode: 0o644})
}

// glob adds the files that match a pattern, of which there must be one, to a folder of the archive.
func (t *tree) glob(folder, pattern string) {
	files, err := filepath.Glob(pattern)
	if err == nil && len(files) == 0 {
		err = errors.New("no file is " + pattern)
	}
	t.err = cmp.Or(t.err, err)
	for _, file := range files {
		t.add(path.Join(folder, filepath.Base(file)), file, 0o644)
	}
}

// folder adds the files of a folder under their own names. What its owner may execute, everyone may.
func (t *tree) folder(root string) {
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := os.Stat(name) // the chart has links to files of other folders
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		t.add(filepath.ToSlash(name), name, mode)
		return nil
	})
	t.err = cmp.Or(t.err, err)
}

// each calls do for every folder and file in the order of their names. A folder has no content.
func (t *tree) each(do func(name string, mode fs.FileMode, content []byte) error) error {
	if t.err != nil {
		return t.err
	}
	all := []entry{{name: "", mode: fs.ModeDir | 0o755}}
	seen := map[string]bool{".": true}
	for _, e := range t.entries {
		for dir := path.Dir(e.name); !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			all = append(all, entry{name: dir, mode: fs.ModeDir | 0o755})
		}
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	for _, e := range all {
		content := e.text
		if e.file != "" {
			var err error
			if content, err = os.ReadFile(e.file); err != nil {
				return err
			}
		}
		if err := do(path.Join(t.top, e.name), e.mode, content); err != nil {
			return err
		}
	}
	return nil
}

func (t *tree) writeTar(out io.Writer) error {
	z, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(z)
	err = t.each(func(name string, mode fs.FileMode, content []byte) error {
		h := &tar.Header{Format: tar.FormatUSTAR, Typeflag: tar.TypeReg, Name: name, ModTime: t.made,
			Mode: int64(mode.Perm()), Size: int64(len(content))}
		if mode.IsDir() {
			h.Typeflag, h.Name = tar.TypeDir, name+"/"
		}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		_, err := w.Write(content)
		return err
	})
	return errors.Join(err, w.Close(), z.Close())
}

func (t *tree) writeZip(out io.Writer) error {
	w := zip.NewWriter(out)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(out, flate.BestCompression)
	})
	err := t.each(func(name string, mode fs.FileMode, content []byte) error {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: t.made}
		if mode.IsDir() {
			h.Name, h.Method = name+"/", zip.Store
		}
		h.SetMode(mode)
		f, err := w.CreateHeader(h)
		if err != nil {
			return err
		}
		_, err = f.Write(content)
		return err
	})
	return errors.Join(err, w.Close())
}
