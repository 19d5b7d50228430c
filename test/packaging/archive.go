package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"time"
)

// archive is one that test/archives has written, unpacked.
type archive struct {
	file              string // of the archive
	version, os, arch string
	root              string // the folder in it, on disk
	made              time.Time
	info              *debug.BuildInfo // of the binary
}

// binary is where the binary is.
func (a *archive) binary() string {
	if a.os == "windows" {
		return filepath.Join(a.root, "bin", "warren.exe")
	}
	return filepath.Join(a.root, "bin", "warren")
}

var archiveName = regexp.MustCompile(`^warren-(.+)-([a-z]+)-([a-z0-9]+)\.(tar\.gz|zip)$`)

// openArchives unpacks all archives in dist, each below a folder of scratch.
func openArchives(dist, scratch string) (all []*archive, err error) {
	entries, err := os.ReadDir(dist)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		m := archiveName.FindStringSubmatch(e.Name())
		if m == nil {
			continue
		}
		a := &archive{file: filepath.Join(dist, e.Name()), version: m[1], os: m[2], arch: m[3],
			root: filepath.Join(scratch, e.Name())}
		if err := a.open(); err != nil {
			return nil, fmt.Errorf("%s: %w", a.file, err)
		}
		all = append(all, a)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no archive in %s: make release writes them", dist)
	}
	return all, nil
}

func (a *archive) open() (err error) {
	if strings.HasSuffix(a.file, ".zip") {
		err = a.unzip()
	} else {
		err = a.untar()
	}
	if err != nil {
		return err
	}
	a.info, err = buildinfo.ReadFile(a.binary())
	return err
}

func (a *archive) untar() error {
	f, err := os.Open(a.file)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag == tar.TypeReg {
			if err := a.write(h.Name, h.ModTime, r); err != nil {
				return err
			}
		}
	}
}

func (a *archive) unzip() error {
	z, err := zip.OpenReader(a.file)
	if err != nil {
		return err
	}
	defer z.Close()
	for _, f := range z.File {
		if f.Mode().IsDir() {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return err
		}
		if err := errors.Join(a.write(f.Name, f.Modified, r), r.Close()); err != nil {
			return err
		}
	}
	return nil
}

// write writes a file below root, without the folder that all files lie in.
func (a *archive) write(name string, made time.Time, from io.Reader) error {
	_, name, _ = strings.Cut(path.Clean(name), "/")
	if !filepath.IsLocal(name) {
		return fmt.Errorf("%q is not below one folder", name)
	}
	a.made = made.UTC()
	to := filepath.Join(a.root, name)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, from)
	return errors.Join(err, out.Close())
}
