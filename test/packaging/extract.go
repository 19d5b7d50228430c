package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
)

func untarFolder(file, to string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return extract(f, to)
}

// extract writes what is in a tar below a folder: its folders, files and links, with their modes and, for root, with
// their owners.
func extract(from io.Reader, to string) error {
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	var owned []*tar.Header
	for r := tar.NewReader(from); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		at := path.Clean(h.Name)
		switch h.Typeflag {
		case tar.TypeDir:
			err = root.MkdirAll(at, 0o755)
		case tar.TypeSymlink:
			err = root.Symlink(h.Linkname, at)
		case tar.TypeReg:
			err = writeBelow(root, at, r)
		default:
			err = fmt.Errorf("%s is of kind %q", h.Name, h.Typeflag)
		}
		if err != nil {
			return err
		}
		owned = append(owned, h)
	}
	for _, h := range slices.Backward(owned) {
		at := path.Clean(h.Name)
		if os.Getuid() == 0 {
			if err := root.Lchown(at, h.Uid, h.Gid); err != nil {
				return err
			}
		}
		if h.Typeflag != tar.TypeSymlink {
			if err := root.Chmod(at, h.FileInfo().Mode()&(fs.ModePerm|fs.ModeSticky)); err != nil {
				return err
			}
		}
	}
	return nil
}

func writeBelow(root *os.Root, at string, from io.Reader) error {
	out, err := root.Create(at)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, from)
	return errors.Join(err, out.Close())
}
