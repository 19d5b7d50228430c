package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const sumsName = "SHA256SUMS"

// writeSums lists all files of a folder in the form of sha256sum, and prints the list.
func writeSums(dist string) error {
	entries, err := os.ReadDir(dist)
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, e := range entries {
		if e.IsDir() || e.Name() == sumsName {
			continue
		}
		f, err := os.Open(filepath.Join(dist, e.Name()))
		if err != nil {
			return err
		}
		h := sha256.New()
		_, err = io.Copy(h, f)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", h.Sum(nil), e.Name())
	}
	fmt.Print(sums.String())
	return os.WriteFile(filepath.Join(dist, sumsName), []byte(sums.String()), 0o644)
}
