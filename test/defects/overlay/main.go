// Command overlay writes the product's source with every defect of test/defects into a folder, and prints the path of
// a file for the flag -overlay of go build, go vet and go test:
//
//	go test -overlay "$(go run ./test/defects/overlay bin/defects)" ./test/system -run Defect
//
// A patch begins with a line "== NAME, NAME: FILE" with the defects that it is for, or "switch" if it brings the
// switch of all of them. The lines that follow are those of a diff: a space, "-" or "+" before each. Without those
// that are added they must occur exactly once in the file. An added line asks whether a server has the defect; the
// import of package defects adds itself.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const defects = "github.com/seed94657493/warren/test/defects"

func main() {
	flag.Usage = func() { fmt.Fprintln(os.Stderr, "usage: go run ./test/defects/overlay FOLDER") }
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	overlay, err := write(".", flag.Arg(0))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(overlay)
}

// patch is a change of one place of one file.
type patch struct {
	at    string // where it is written
	names []string
	file  string
	lines []string
	// The change replaces the lines [first, last) of the file.
	first, last int
	added       []string
}

// write writes the patched files below folder, and the overlay that puts them in place. It returns the path of the
// latter.
func write(root, folder string) (string, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return "", err
	}
	patches, err := read(root)
	if err != nil {
		return "", err
	}
	patched, err := apply(root, patches)
	if err != nil {
		return "", err
	}
	var overlay struct{ Replace map[string]string }
	overlay.Replace = map[string]string{}
	for file, text := range patched {
		to := filepath.Join(folder, filepath.FromSlash(file)+".txt") // not Go files for go vet and gofmt of the tree
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(to, text, 0o600); err != nil {
			return "", err
		}
		overlay.Replace[filepath.Join(root, filepath.FromSlash(file))] = to
	}
	text, err := json.MarshalIndent(overlay, "", "\t")
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "overlay.json")
	return path, os.WriteFile(path, text, 0o600)
}

// read returns the patches of all files of test/defects/patches.
func read(root string) (all []*patch, err error) {
	files, err := filepath.Glob(filepath.Join(root, "test/defects/patches/*.txt"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(err, fmt.Errorf("no patches below %s: run it in the folder of the repository", root))
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		name, err := filepath.Rel(root, f)
		if err != nil {
			return nil, err
		}
		patches, err := parse(filepath.ToSlash(name), string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, patches...)
	}
	return all, nil
}

// parse reads the patches of one file.
func parse(name, text string) (all []*patch, err error) {
	for i, line := range strings.Split(text, "\n") {
		at := fmt.Sprintf("%s:%d", name, i+1)
		if header, ok := strings.CutPrefix(line, "== "); ok {
			names, file, ok := strings.Cut(header, ": ")
			if !ok {
				return nil, fmt.Errorf("%s: not NAME: FILE", at)
			}
			all = append(all, &patch{at: at, names: strings.Split(names, ", "), file: file})
			continue
		}
		if len(all) == 0 {
			if line != "" && line[0] != '#' {
				return nil, fmt.Errorf("%s: not a comment, and no patch has begun", at)
			}
			continue
		}
		if line == "" {
			line = " "
		}
		if !strings.Contains(" -+", line[:1]) {
			return nil, fmt.Errorf("%s: a line of a patch begins with a space, - or +", at)
		}
		p := all[len(all)-1]
		p.lines = append(p.lines, line)
	}
	for _, p := range all {
		for len(p.lines) > 0 && p.lines[len(p.lines)-1] == " " {
			p.lines = p.lines[:len(p.lines)-1]
		}
	}
	return all, nil
}

// apply returns the files that patches change, as they are then.
func apply(root string, patches []*patch) (map[string][]byte, error) {
	byFile := map[string][]*patch{}
	for _, p := range patches {
		byFile[p.file] = append(byFile[p.file], p)
	}
	patched := map[string][]byte{}
	var errs []error
	for file, patches := range byFile {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", patches[0].at, err))
			continue
		}
		if patched[file], err = change(text, patches); err != nil {
			errs = append(errs, err)
		}
	}
	return patched, errors.Join(errs...)
}

// change applies all patches of one file.
func change(text []byte, patches []*patch) ([]byte, error) {
	lines := strings.Split(string(text), "\n")
	var errs []error
	for _, p := range patches {
		errs = append(errs, p.find(lines))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	slices.SortFunc(patches, func(a, b *patch) int { return a.first - b.first })
	for i := 1; i < len(patches); i++ {
		if a, b := patches[i-1], patches[i]; a.last > b.first || a.first == b.first {
			return nil, fmt.Errorf("%s and %s change the same lines of %s: make one patch of them", a.at, b.at, b.file)
		}
	}
	asks := false
	for _, p := range slices.Backward(patches) {
		lines = slices.Replace(lines, p.first, p.last, p.added...)
		asks = asks || strings.Contains(strings.Join(p.added, "\n"), "defects.")
	}
	if asks && !bytes.Contains(text, []byte(`"`+defects+`"`)) {
		i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "package ") })
		lines[i] += fmt.Sprintf("; import %q", defects)
	}
	return []byte(strings.Join(lines, "\n")), nil
}

// find looks for the place of a patch.
func (p *patch) find(lines []string) error {
	var before []string
	first, last := -1, -1 // of what changes, in before
	added := 0            // up to this one of p.lines, the last that changes
	for i, l := range p.lines {
		if l[0] != ' ' {
			if first < 0 {
				first = len(before)
				added = i
			}
			last = len(before)
		}
		if l[0] != '+' {
			before = append(before, l[1:])
		}
		if l[0] == '-' {
			last = len(before)
		}
	}
	if first < 0 || len(before) == 0 {
		return fmt.Errorf("%s: %s changes nothing, or has no line to find its place by", p.at, p.names)
	}
	var places []int
	for i := range len(lines) - len(before) + 1 {
		if slices.Equal(lines[i:i+len(before)], before) {
			places = append(places, i)
		}
	}
	if len(places) != 1 {
		return fmt.Errorf("%s: the patch of %s does not apply: its lines occur %d times in %s, and not once. "+
			"Write it anew for the code as it is; see \"A known defect\" in docs/HACKING.md", p.at,
			strings.Join(p.names, ", "), len(places), p.file)
	}
	p.first, p.last = places[0]+first, places[0]+last
	p.added = nil
	for i, at := added, first; i < len(p.lines); i++ {
		l := p.lines[i]
		if l[0] == ' ' && at >= last {
			break
		}
		if l[0] != '+' {
			at++
		}
		if l[0] != '-' {
			p.added = append(p.added, l[1:])
		}
	}
	return nil
}
