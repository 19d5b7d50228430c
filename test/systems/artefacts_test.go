//go:build systems

package systems

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// release is what versions.json says of one system.
type release struct {
	Version string `json:"version"`
	// Maven has group:artefact:version, then :type where that is not jar, then :classifier if there is one.
	Maven   []string `json:"maven"`
	Without []string `json:"without"` // group:artefact of what an artefact wants and no user of it needs
	Pip     []string `json:"pip"`     // name==version
	// Client is the client of ZooKeeper inside, where it is a part of another file.
	Client string `json:"client"`
}

func releases(t *testing.T) (all map[string]release) {
	t.Helper()
	text := must.ReadFile(t, "versions.json")
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&all))
	return all
}

// fetching is held while files are fetched: runs at the same time want the same.
var fetching sync.Mutex

// fetch returns the folder with the files of a release, and fetches them if they are not there. If they cannot be
// had the test is skipped.
func fetch(t *testing.T, name string) (lib string, r release) {
	t.Helper()
	fetching.Lock()
	defer fetching.Unlock()
	r, known := releases(t)[name]
	require.True(t, known, "versions.json has no %s", name)
	key := sha256.Sum256([]byte(strings.Join(slices.Concat(r.Maven, r.Without, r.Pip), "\n")))
	folder := filepath.Join(cache(t), fmt.Sprintf("%s-%s-%x", name, r.Version, key[:4]))
	if _, err := os.Stat(folder); err == nil {
		return folder, r
	}
	// A folder is there with all files or not at all.
	partial := must.Do(os.MkdirTemp(cache(t), name+"-partial-"))(t)
	defer os.RemoveAll(partial)
	if err := download(t, partial, r); err != nil {
		t.Skipf("%s %s cannot be fetched: %v", name, r.Version, err)
	}
	require.NoError(t, os.Rename(partial, folder))
	return folder, r
}

// cache is where what was fetched is kept between runs.
func cache(t *testing.T) string {
	t.Helper()
	folder := os.Getenv("WARREN_SYSTEMS_CACHE")
	if folder == "" {
		parent := must.Do(os.UserCacheDir())(t)
		folder = filepath.Join(parent, "warren-systems")
	}
	require.NoError(t, os.MkdirAll(folder, 0o755))
	return folder
}

func download(t *testing.T, folder string, r release) error {
	if len(r.Maven) > 0 {
		if err := os.WriteFile(filepath.Join(folder, "pom.xml"), pom(t, r.Maven, r.Without), 0o644); err != nil {
			return err
		}
		if err := tool(t, folder, "mvn", "-q", "-B", "-Dmaven.repo.local="+repository(t),
			"dependency:copy-dependencies", "-DoutputDirectory=."); err != nil {
			return err
		}
	}
	if len(r.Pip) > 0 {
		return tool(t, folder, "python3", append([]string{"-m", "pip", "install", "--quiet", "--target", "."},
			r.Pip...)...)
	}
	return nil
}

// pom is a project that does nothing but depend on artefacts, without some of those that they depend on.
func pom(t *testing.T, artefacts, without []string) []byte {
	type excluded struct {
		Group    string `xml:"groupId"`
		Artefact string `xml:"artifactId"`
	}
	type dependency struct {
		Group    string     `xml:"groupId"`
		Artefact string     `xml:"artifactId"`
		Version  string     `xml:"version"`
		Type     string     `xml:"type,omitempty"`
		Kind     string     `xml:"classifier,omitempty"`
		Without  []excluded `xml:"exclusions>exclusion"`
	}
	var all []excluded
	for _, w := range without {
		group, artefact, found := strings.Cut(w, ":")
		require.True(t, found, w)
		all = append(all, excluded{group, artefact})
	}
	project := struct {
		XMLName      xml.Name     `xml:"http://maven.apache.org/POM/4.0.0 project"`
		Model        string       `xml:"modelVersion"`
		Group        string       `xml:"groupId"`
		Artefact     string       `xml:"artifactId"`
		Version      string       `xml:"version"`
		Packaging    string       `xml:"packaging"`
		Dependencies []dependency `xml:"dependencies>dependency"`
	}{Model: "4.0.0", Group: "systems", Artefact: "systems", Version: "1", Packaging: "pom"}
	for _, a := range artefacts {
		parts := strings.Split(a, ":")
		require.GreaterOrEqual(t, len(parts), 3, a)
		d := dependency{Group: parts[0], Artefact: parts[1], Version: parts[2], Without: all}
		if len(parts) > 3 {
			d.Type = parts[3]
		}
		if len(parts) > 4 {
			d.Kind = parts[4]
		}
		project.Dependencies = append(project.Dependencies, d)
	}
	return must.Do(xml.MarshalIndent(project, "", "  "))(t)
}

func tool(t *testing.T, folder, name string, args ...string) error {
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(out))
	}
	return nil
}

// clientInside is the version of ZooKeeper's client among the files of a system.
func clientInside(t *testing.T, lib string) string {
	t.Helper()
	for _, jar := range []string{"zookeeper-[0-9]*[0-9].jar", "kazoo-*.dist-info"} {
		found := must.Glob(t, filepath.Join(lib, jar))
		if len(found) == 1 {
			name := filepath.Base(found[0])
			return strings.Replace(strings.TrimSuffix(strings.TrimSuffix(name, ".jar"), ".dist-info"), "-", " ", 1)
		}
	}
	t.Fatalf("no client of ZooKeeper in %s", lib)
	return ""
}
