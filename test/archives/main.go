// Command archives builds the binary for each platform named and packs it with its documents:
// warren-VERSION-OS-ARCH.tar.gz, and .zip for Windows. It also lists the files of the folder in SHA256SUMS, and with
// -sums does that alone.
//
// The same commit and the same Go give the same bytes: nothing in an archive depends on the folder, the user or the
// clock. Pages and what is under deploy lie in an archive as in the repository, so that links lead on. It runs in the
// top folder:
//
//	go run ./test/archives -version v0.1.0 -date 2026-01-02T03:04:05Z -ldflags '-s -w' linux/amd64 windows/amd64
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

func main() {
	o := options{build: compile}
	flag.StringVar(&o.goCommand, "go", "go", "the Go command")
	flag.StringVar(&o.dist, "dist", "dist", "the folder to write to")
	flag.StringVar(&o.version, "version", "", "the version in the names of archives")
	flag.StringVar(&o.date, "date", "", "the time of every file in them, RFC 3339")
	flag.StringVar(&o.ldflags, "ldflags", "", "flags of the linker")
	sums := flag.Bool("sums", false, "write SHA256SUMS only")
	flag.Parse()
	err := o.run(flag.Args(), *sums)
	if err != nil {
		fmt.Fprintln(os.Stderr, "archives:", err)
		os.Exit(1)
	}
}

type options struct {
	goCommand, dist, version, date, ldflags string
	// build makes the binary of a platform; none is the machine that this runs on.
	build func(o options, to string, on platform) error
}

type platform struct{ os, arch string }

func (o options) run(names []string, sumsOnly bool) error {
	if sumsOnly {
		return writeSums(o.dist)
	}
	made, err := time.Parse(time.RFC3339, o.date)
	if err != nil {
		return fmt.Errorf("-date: %w", err)
	}
	if o.version == "" || len(names) == 0 {
		return errors.New("-version and at least one OS/ARCH are needed")
	}
	if err := errors.Join(os.RemoveAll(o.dist), os.MkdirAll(o.dist, 0o755)); err != nil {
		return err
	}
	stage, err := os.MkdirTemp("", "warren-archives-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(stage)
	manual, err := o.manual(stage)
	if err != nil {
		return err
	}
	for _, name := range names {
		system, arch, ok := strings.Cut(name, "/")
		if !ok {
			return fmt.Errorf("%q is no OS/ARCH", name)
		}
		if err := o.archive(stage, manual, platform{system, arch}, made.UTC()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return writeSums(o.dist)
}

// manual has the manual pages written, by a binary for this machine.
func (o options) manual(stage string) (dir string, err error) {
	binary := filepath.Join(stage, "host")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	if err := o.build(o, binary, platform{}); err != nil {
		return "", err
	}
	dir = filepath.Join(stage, "man")
	if out, err := exec.Command(binary, "man", dir).CombinedOutput(); err != nil {
		return "", fmt.Errorf("writing the manual: %w: %s", err, out)
	}
	return dir, nil
}

func (o options) archive(stage, manual string, on platform, made time.Time) error {
	top := strings.Join([]string{"warren", o.version, on.os, on.arch}, "-")
	program := "warren"
	if on.os == "windows" {
		program += ".exe"
	}
	binary := filepath.Join(stage, top)
	if err := o.build(o, binary, on); err != nil {
		return err
	}
	notices, err := noticesOf(o.goCommand, binary)
	if err != nil {
		return err
	}
	t := tree{top: top, made: made}
	t.add("bin/"+program, binary, 0o755)
	t.text("THIRD_PARTY_NOTICES", notices)
	t.glob("share/man/man1", filepath.Join(manual, "*.1"))
	t.glob("", "LICENSE")
	t.glob("", "*.md")
	t.folder("docs")
	t.folder("deploy")
	write, suffix := t.writeTar, ".tar.gz"
	if on.os == "windows" {
		write, suffix = t.writeZip, ".zip"
	}
	out, err := os.Create(filepath.Join(o.dist, top+suffix))
	if err != nil {
		return err
	}
	return errors.Join(write(out), out.Close())
}

// compile is options.build.
func compile(o options, to string, on platform) error {
	c := exec.Command(o.goCommand, "build", "-trimpath", "-buildvcs=false", "-ldflags", o.ldflags, "-o", to,
		"./cmd/warren")
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if on.os != "" {
		c.Env = append(c.Env, "GOOS="+on.os, "GOARCH="+on.arch)
	}
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("building: %w\n%s", err, out)
	}
	return nil
}
