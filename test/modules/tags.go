package modules

import (
	"errors"
	"fmt"
	"os/exec"
	"path"
	"strings"
)

// Tags returns the tag of each module at a version.
func (w *Workspace) Tags(version string) (tags []string) {
	for _, m := range w.Modules {
		tags = append(tags, path.Join(m.Folder, version))
	}
	return tags
}

// SetTags sets the tag of each module on the last commit, or none: the commit must be that of a release, with the
// version in each go.mod and the checksums in each go.sum, and the tree must have no changes. It writes a proxy as
// WriteSums does.
func (w *Workspace) SetTags(dir, version string) error {
	if required, err := w.Version(); err != nil {
		return err
	} else if required != version {
		return fmt.Errorf("modules: the modules require %s of each other, not %s: prepare the release first",
			required, version)
	}
	if err := w.requireClean("commit these changes first"); err != nil {
		return err
	}
	if err := w.WriteSums(dir, version); err != nil {
		return err
	}
	if err := w.requireClean("the checksums were not those of the commit: commit the ones just written"); err != nil {
		return err
	}
	tags := w.Tags(version)
	if set, err := w.git(append([]string{"tag", "--list"}, tags...)...); err != nil {
		return err
	} else if set != "" {
		return fmt.Errorf("modules: tags of this version exist, and a tag is never moved:\n%s", set)
	}
	for _, tag := range tags {
		if _, err := w.git("tag", "-m", "Release "+strings.TrimPrefix(version, "v"), tag); err != nil {
			return err
		}
	}
	return nil
}

func (w *Workspace) requireClean(otherwise string) error {
	changed, err := w.git("status", "--porcelain")
	if err == nil && changed != "" {
		err = fmt.Errorf("modules: %s:\n%s", otherwise, changed)
	}
	return err
}

func (w *Workspace) git(args ...string) (string, error) {
	out, err := exec.Command("git", append([]string{"-C", w.Root}, args...)...).Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("modules: git %s: %w: %s", args[0], err, failed.Stderr)
	}
	return strings.TrimRight(string(out), "\n"), err
}
