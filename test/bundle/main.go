package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// App is the folder of the sources, Static that of what is served, and Work the one in which packages are installed,
// below the root of the repository.
const (
	App    = "server/internal/console/app"
	Static = "server/internal/console/static/app"
	Work   = "bin/console"
)

func main() {
	log.SetFlags(0)
	if err := run("../.."); err != nil {
		log.Fatal(err)
	}
}

// run replaces what is checked in.
func run(root string) error {
	work, static := filepath.Join(root, Work), filepath.Join(root, Static)
	if err := prepare(filepath.Join(root, App), work); err != nil {
		return err
	}
	files, err := Bundle(work)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(static); err != nil {
		return err
	}
	if err := os.MkdirAll(static, 0o755); err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(static, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// prepare copies the sources to a folder, and installs the packages of their lock file there unless it has them.
func prepare(app, work string) error {
	if err := os.RemoveAll(filepath.Join(work, "src")); err != nil {
		return err
	}
	if err := os.CopyFS(filepath.Join(work, "src"), os.DirFS(filepath.Join(app, "src"))); err != nil {
		return err
	}
	for _, name := range []string{"package.json", "package-lock.json", "tsconfig.json", ".prettierrc.json"} {
		text, err := os.ReadFile(filepath.Join(app, name))
		if err != nil {
			return err
		}
		if old, err := os.ReadFile(filepath.Join(work, name)); err == nil && bytes.Equal(old, text) {
			continue // its time stays
		}
		if err := os.WriteFile(filepath.Join(work, name), text, 0o644); err != nil {
			return err
		}
	}
	if isInstalled(work) {
		return nil
	}
	return install(work)
}

// isInstalled reports whether the packages of a folder were installed after its lock file was written.
func isInstalled(folder string) bool {
	lock, err := os.Stat(filepath.Join(folder, "package-lock.json"))
	if err != nil {
		return false
	}
	done, err := os.Stat(filepath.Join(folder, "node_modules", ".package-lock.json"))
	return err == nil && done.ModTime().After(lock.ModTime())
}

// install puts the packages of the lock file into a folder that has it. No script of a package runs.
func install(folder string) error {
	npm := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")
	npm.Dir = folder
	if said, err := npm.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, said)
	}
	return nil
}

// Bundle returns the files that are served, by name. The packages are installed.
func Bundle(app string) (map[string][]byte, error) {
	app, err := filepath.Abs(app)
	if err != nil {
		return nil, err
	}
	result := api.Build(api.BuildOptions{
		AbsWorkingDir: app, EntryPoints: []string{"src/app.tsx", "src/boot.ts"}, Outdir: "out",
		Bundle: true, Format: api.FormatESModule, Splitting: true, Metafile: true,
		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true,
		Target: api.ES2022, Charset: api.CharsetUTF8, LegalComments: api.LegalCommentsNone,
		JSX: api.JSXAutomatic, JSXImportSource: "preact",
		EntryNames: "[name]", ChunkNames: "[name]-[hash]", AssetNames: "[name]-[hash]",
		Loader: map[string]api.Loader{".woff2": api.LoaderFile},
	})
	var wrong []error
	for _, m := range result.Errors {
		wrong = append(wrong, fmt.Errorf("%s: %s", m.Location.File, m.Text))
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, f := range result.OutputFiles {
		files[filepath.Base(f.Path)] = f.Contents
	}
	licences, err := licencesOf(app, result.Metafile)
	files["LICENSES.txt"] = licences
	return files, err
}

// licencesOf returns the licences of all packages of which a file is in the bundle.
func licencesOf(app, metafile string) ([]byte, error) {
	var meta struct {
		Outputs map[string]struct {
			Inputs map[string]struct{ BytesInOutput int }
		}
	}
	if err := json.Unmarshal([]byte(metafile), &meta); err != nil {
		return nil, err
	}
	used := map[string]bool{}
	for _, out := range meta.Outputs {
		for name := range out.Inputs {
			parts := strings.Split(name, "/")
			if parts[0] != "node_modules" {
				continue
			}
			n := 2
			if strings.HasPrefix(parts[1], "@") {
				n = 3
			}
			used[strings.Join(parts[:n], "/")] = true
		}
	}
	var text strings.Builder
	text.WriteString("The console's application contains these packages.\n")
	var folders []string
	for folder := range used {
		folders = append(folders, folder)
	}
	slices.SortFunc(folders, cmp.Compare[string])
	for _, folder := range folders {
		one, err := licenceOf(filepath.Join(app, folder))
		if err != nil {
			return nil, err
		}
		text.WriteString("\n" + strings.Repeat("-", 80) + "\n" + one)
	}
	return []byte(text.String()), nil
}

// licenceOf returns name, version and licence of the package in a folder.
func licenceOf(folder string) (string, error) {
	raw, err := os.ReadFile(filepath.Join(folder, "package.json"))
	if err != nil {
		return "", err
	}
	var p struct{ Name, Version, License string }
	if err := json.Unmarshal(raw, &p); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if strings.HasPrefix(strings.ToUpper(e.Name()), "LICEN") && !e.IsDir() {
			licence, err := os.ReadFile(filepath.Join(folder, e.Name()))
			return fmt.Sprintf("%s %s, %s\n\n%s\n", p.Name, p.Version, p.License,
				strings.TrimSpace(string(licence))), err
		}
	}
	return "", fmt.Errorf("%s has no file with its licence", p.Name)
}
