// Command release makes the modules of this repository ready to be published: their zip files and, with -write, what
// stands in them.
//
//	go run ./test/modules/release -version v0.2.0 -to dist/modules -write
//	go run ./test/modules/release -version v0.2.0 -tag
//	go run ./test/modules/release -tidy
//
// It is run in the top folder. The first writes a module proxy made of files, so that others can use the version
// before it is tagged; with -write it also sets the version that the modules require of each other, and the checksums
// in every go.sum. The second sets the tags on the commit of that. The third runs `go mod tidy` for each module, which
// cannot see that go.work replaces them.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/seed94657493/warren/test/modules"
)

func main() {
	version := flag.String("version", "", "version of all modules, vX.Y.Z; by default what they require of each other")
	to := flag.String("to", filepath.Join("dist", "modules"), "folder of the module proxy that is written")
	write := flag.Bool("write", false, "set the version in each go.mod and the checksums in each go.sum")
	tag := flag.Bool("tag", false, "set the tags of all modules on the last commit, which must be that of the release")
	tidy := flag.Bool("tidy", false, "run go mod tidy for each module, and nothing else")
	flag.Parse()
	var err error
	if *tidy {
		err = tidyAll()
	} else {
		err = release(*version, *to, *write, *tag)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func release(version, to string, write, tag bool) error {
	w, err := modules.Read(".")
	if err != nil {
		return err
	}
	required, err := w.Version()
	if err != nil && !write {
		return err
	}
	if version == "" {
		version = required
	}
	if semver.Canonical(version) != version || version == "" {
		return fmt.Errorf("release: %q is not a version such as v0.1.0", version)
	}
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	switch {
	case tag:
		err = w.SetTags(to, version)
	case write:
		if err := w.SetVersion(version); err != nil {
			return err
		}
		err = w.WriteSums(to, version)
	case version != required:
		return fmt.Errorf("release: the modules require %s of each other, not %s; see -write", required, version)
	default:
		err = w.WriteProxy(to, version)
	}
	if err != nil {
		return err
	}
	for _, tag := range w.Tags(version) {
		fmt.Println("tag", tag)
	}
	return nil
}

// tidyAll runs go mod tidy for each module, in their order. It takes the other modules of the world from where the go
// command does.
func tidyAll() error {
	w, err := modules.Read(".")
	if err != nil {
		return err
	}
	version, err := w.Version()
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "warren-tidy-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	setting, err := exec.Command("go", "env", "GOMODCACHE", "GOPROXY").Output()
	if err != nil {
		return fmt.Errorf("release: go env: %w", err)
	}
	values := strings.Fields(string(setting))
	if len(values) != 2 {
		return errors.New("release: GOMODCACHE and GOPROXY must be set")
	}
	proxy := filepath.Join(work, "proxy")
	if err := w.WriteProxy(proxy, version); err != nil {
		return err
	}
	for _, m := range w.Modules {
		cmd := exec.Command("go", "mod", "tidy")
		cmd.Dir = filepath.FromSlash(m.Folder)
		cmd.Env = modules.Environment(proxy, filepath.Join(work, "cache"), modules.CacheProxy(values[0]), values[1])
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("release: go mod tidy in %s: %w", m.Folder, err)
		}
	}
	return w.DropSums()
}
