package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"

	"golang.org/x/mod/module"
)

// bundle has the application of the console, which contains packages of others.
const bundle = "server/internal/console/static/app"

// headline begins the line before each text in the notices: the name and version of the software, and the file that
// the text is. The packages read it again, to list the licences.
const headline = "=== "

// noticesOf returns the licences of all that others have written and that is in a binary, by the binary's own list of
// modules: Go's library, the modules, and what the console has for browsers. One without a licence is an error.
func noticesOf(goCommand, binary string) ([]byte, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	folders, err := exec.Command(goCommand, "env", "GOROOT", "GOMODCACHE").Output()
	if err != nil {
		return nil, fmt.Errorf("%s env: %w", goCommand, err)
	}
	root, cache, _ := strings.Cut(strings.TrimSpace(string(folders)), "\n")
	var n notices
	n.b.WriteString("Warren's own licence is in the file LICENSE. The binary also contains the following.\n")
	if err := n.add("Go "+info.GoVersion, root, licencesAtTop); err != nil {
		return nil, err
	}
	for _, m := range modulesOf(info) {
		dir, err := folderOf(cache, m)
		if err != nil {
			return nil, err
		}
		if err := n.add(m.Path+" "+m.Version, dir, licencesBelow); err != nil {
			return nil, err
		}
	}
	err = n.addBundle(bundle)
	return n.b.Bytes(), err
}

// modulesOf are the modules of others that are in a binary.
func modulesOf(info *debug.BuildInfo) (all []*debug.Module) {
	for _, m := range info.Deps {
		if m.Path != info.Main.Path && !strings.HasPrefix(m.Path, info.Main.Path+"/") {
			if m.Replace != nil {
				m = m.Replace
			}
			all = append(all, m)
		}
	}
	return all
}

// folderOf is where the Go command keeps a module.
func folderOf(cache string, m *debug.Module) (string, error) {
	path, err := module.EscapePath(m.Path)
	if err != nil {
		return "", err
	}
	version, err := module.EscapeVersion(m.Version)
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, filepath.FromSlash(path)+"@"+version), nil
}

type notices struct{ b bytes.Buffer }

// add adds the texts that find finds in the folder of some software.
func (n *notices) add(software, dir string, find func(dir string) ([]string, error)) error {
	names, err := find(dir)
	if err != nil {
		return fmt.Errorf("%s: %w", software, err)
	}
	if len(names) == 0 {
		return fmt.Errorf("%s has no licence in %s", software, dir)
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return fmt.Errorf("%s: %w", software, err)
		}
		if err := n.put(software, name, text); err != nil {
			return err
		}
	}
	return nil
}

// put adds one text.
func (n *notices) put(software, name string, text []byte) error {
	if bytes.Contains(append([]byte("\n"), text...), []byte("\n"+headline)) {
		return fmt.Errorf("%s: %s has a line that begins with %q", software, name, headline)
	}
	fmt.Fprintf(&n.b, "\n%s%s %s\n\n%s\n", headline, software, filepath.ToSlash(name), bytes.TrimSpace(text))
	return nil
}

// licenceFile matches the names of files that go with what they licence, whatever the case.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|copyright|notice|patents|unlicense)([.-].*)?$`)

func licencesAtTop(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if !e.IsDir() && licenceFile.MatchString(e.Name()) && filepath.Ext(e.Name()) != ".go" {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// licencesBelow also finds those of code that a module has taken from others. There must be one at the top.
func licencesBelow(dir string) (names []string, err error) {
	if names, err = licencesAtTop(dir); len(names) == 0 || err != nil {
		return nil, err
	}
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir() || name == dir:
			return err
		case strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata":
			return fs.SkipDir
		}
		below, err := licencesAtTop(name)
		for _, b := range below {
			names = append(names, strings.TrimPrefix(filepath.Join(name, b), dir+string(filepath.Separator)))
		}
		return err
	})
	return names, err
}

// bundleLicences has the licences of the packages that the bundle of the console's application contains. Each begins
// behind a line of dashes with the name and version of the package, and the name of the licence.
const bundleLicences = "LICENSES.txt"

var (
	dashes      = regexp.MustCompile(`(?m)^-{80}\n`)
	bundledName = regexp.MustCompile(`^(\S+ [0-9]\S*), \S+\n`)
)

// addBundle adds them.
func (n *notices) addBundle(dir string) error {
	file := filepath.Join(dir, bundleLicences)
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	all := dashes.Split(string(text), -1)[1:]
	if len(all) == 0 {
		return fmt.Errorf("%s names no package", file)
	}
	for _, one := range all {
		m := bundledName.FindStringSubmatch(one)
		if m == nil {
			return fmt.Errorf("%s: %.40q is no package with a licence", file, one)
		}
		if err := n.put(m[1], bundleLicences, []byte(one[len(m[0]):])); err != nil {
			return err
		}
	}
	return nil
}
