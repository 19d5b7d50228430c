package arch

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/modules"
	"github.com/seed94657493/warren/test/must"
)

// plain are the modules that require no module from outside of this repository.
var plain = []string{"proto", "client", "client/zk", "recipes"}

// aside are modules that the workspace leaves out: tests that need libraries which take minutes to build. No program
// has them, they are not published, and they replace the modules of this repository by the folders beside them.
var aside = []string{"test/helm", "test/s3", "test/bundle", "test/console", "test/packaging"}

func workspace(t *testing.T) *modules.Workspace {
	t.Helper()
	return must.Do(modules.Read(filepath.Join("..", "..")))(t)
}

func isOurs(path string) bool { return path == module || strings.HasPrefix(path, module+"/") }

// A program that uses a plain module gets no module of others by it, not even one that only tests would need.
func TestPlainModulesRequireNothing(t *testing.T) {
	for _, m := range workspace(t).Modules {
		if !slices.Contains(plain, m.Folder) {
			continue
		}
		for _, r := range m.File.Require {
			if !isOurs(r.Mod.Path) {
				t.Errorf("%s requires %s: so does each program that uses it", m.Path, r.Mod.Path)
			}
		}
	}
}

// A module is published as its go.mod says: with its folder in its path, without directives that work here only, and
// with one version of each module that several require.
func TestGoModsCanBePublished(t *testing.T) {
	w := workspace(t)
	must.Do(w.Version())(t)
	version, goVersion := map[string]string{}, w.Modules[0].File.Go.Version
	for _, m := range w.Modules {
		require.Equal(t, module+strings.TrimPrefix("/"+m.Folder, "/."), m.Path)
		require.Equal(t, goVersion, m.File.Go.Version, m.Path)
		require.Nil(t, m.File.Toolchain, m.Path)
		require.Empty(t, m.File.Replace, m.Path)
		require.Empty(t, m.File.Exclude, m.Path)
		for _, r := range m.File.Require {
			if v := version[r.Mod.Path]; v != "" && v != r.Mod.Version {
				t.Errorf("%s requires %s, and another module requires %s", m.Path, r.Mod, v)
			}
			version[r.Mod.Path] = r.Mod.Version
		}
	}
}

// The workspace has every module, so that what is built and tested here is all there is.
func TestWorkspaceHasEveryModule(t *testing.T) {
	var used []string
	for _, m := range workspace(t).Modules {
		used = append(used, m.Folder)
	}
	var found []string
	root := filepath.Join("..", "..")
	require.NoError(t, filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || name != root && strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case d.Name() == "go.mod":
			folder, err := filepath.Rel(root, filepath.Dir(name))
			found = append(found, filepath.ToSlash(folder))
			return err
		}
		return nil
	}))
	require.ElementsMatch(t, found, append(used, aside...))
}

// In the workspace a file can import what any of its modules requires. Alone, a module has what its own go.mod
// requires. It requires nothing that it does not import.
func TestImportsAreRequired(t *testing.T) {
	all := workspace(t).Modules
	isUsed := map[string]bool{} // module path, space, required path
	for _, f := range files(t) {
		if f.in(aside...) {
			continue
		}
		home := all[moduleOf(all, f.folder)]
		for imported := range f.imports() {
			if !strings.Contains(strings.SplitN(imported, "/", 2)[0], ".") || home.Path == providerOf(all, imported) {
				continue // the standard library, and the module itself
			}
			required := ""
			for _, r := range home.File.Require {
				if !r.Indirect && under(imported, []string{r.Mod.Path}) && len(r.Mod.Path) > len(required) {
					required = r.Mod.Path
				}
			}
			if required == "" {
				t.Errorf("%s imports %s, which no module has that %s requires", f.name, imported, home.Path)
			}
			isUsed[home.Path+" "+required] = true
		}
	}
	for _, m := range all {
		for _, r := range m.File.Require {
			if !r.Indirect && !isUsed[m.Path+" "+r.Mod.Path] {
				t.Errorf("%s requires %s, and imports nothing of it", m.Path, r.Mod.Path)
			}
		}
	}
}

// moduleOf returns the index of the module that a folder belongs to.
func moduleOf(all []modules.Module, folder string) int {
	best := -1
	for i, m := range all {
		isIn := m.Folder == "." || folder == m.Folder || strings.HasPrefix(folder, m.Folder+"/")
		if isIn && (best < 0 || len(m.Path) > len(all[best].Path)) {
			best = i
		}
	}
	return best
}

// providerOf returns the path of the own module that has a package, or "".
func providerOf(all []modules.Module, imported string) (best string) {
	for _, m := range all {
		if under(imported, []string{m.Path}) && len(m.Path) > len(best) {
			best = m.Path
		}
	}
	return best
}

// Each module that a go.mod requires directly has a row, with its reason, in the decision about modules.
func TestRequirementsHaveReasons(t *testing.T) {
	const page = "docs/adr/0013-modules.md"
	text := must.ReadFile(t, filepath.Join("..", "..", page))
	reasons := map[string]map[string]bool{} // required path, modules that require it
	_, table, found := strings.Cut(string(text), "| requirement | of | why |\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		require.Len(t, cells, 3, line)
		if strings.HasPrefix(cells[0], " ---") {
			continue
		}
		by := map[string]bool{}
		for folder := range strings.SplitSeq(cells[1], ",") {
			by[strings.Trim(strings.TrimSpace(folder), "`")] = true
		}
		require.NotEmpty(t, strings.TrimSpace(cells[2]), "%s: no reason in %q", page, line)
		reasons[strings.Trim(strings.TrimSpace(cells[0]), "`")] = by
	}
	for _, m := range workspace(t).Modules {
		name := strings.Replace(m.Folder, ".", "the top", 1)
		for _, r := range m.File.Require {
			required := strings.TrimPrefix(r.Mod.Path, module+"/")
			if r.Indirect {
				continue
			}
			if !reasons[required][name] {
				t.Errorf("%s does not say why %s requires %s", page, name, required)
			}
			delete(reasons[required], name)
		}
		for _, tool := range m.File.Tool {
			path := toolModule(m, tool.Path)
			if !reasons[path][name] {
				t.Errorf("%s does not say why %s has the tool %s", page, name, path)
			}
			delete(reasons[path], name)
		}
	}
	for required, by := range reasons {
		for folder := range by {
			t.Errorf("%s says why %s requires %s, which it does not", page, folder, required)
		}
	}
}

// toolModule returns the path of the module that has a tool.
func toolModule(m modules.Module, tool string) (best string) {
	for _, r := range m.File.Require {
		if under(tool, []string{r.Mod.Path}) && len(r.Mod.Path) > len(best) {
			best = r.Mod.Path
		}
	}
	return best
}
