package shell

import (
	"context"
	"path"
	"regexp"
	"slices"

	"github.com/seed94657493/warren/internal/znodetext"
	"github.com/seed94657493/warren/proto/paths"
)

// runFind prints the znodes of a subtree that all given conditions hold for.
func runFind(ctx context.Context, s *Shell, a *arguments) error {
	root := a.word(0)
	if err := checkPath(root, false); err != nil {
		return err
	}
	glob, hasGlob := a.flags["n"]
	if _, err := path.Match(glob, ""); err != nil {
		return wrong("-n is not a glob: "+err.Error(), "globs are as in file names: lock-*, n-000000000[0-9]")
	}
	var data *regexp.Regexp
	if text, ok := a.flags["g"]; ok {
		var err error
		if data, err = regexp.Compile(text); err != nil {
			return wrong("-g is not a regular expression: "+err.Error(), "the syntax is that of RE2")
		}
	}
	kind, hasKind := a.flags["k"]
	if kinds := []string{znodetext.Persistent, znodetext.Ephemeral}; hasKind && !slices.Contains(kinds, kind) {
		return wrong("-k "+kind+" is not a kind of znodes",
			"kinds are persistent and ephemeral; servers do not tell containers and TTL znodes from persistent ones")
	}
	return s.walk(ctx, root, func(n walked) error {
		if hasGlob {
			if ok, _ := path.Match(glob, paths.NameOf(n.path)); !ok {
				return nil
			}
		}
		if hasKind && kindOf(&n.stat) != kind {
			return nil
		}
		if data != nil {
			content, _, err := s.link.client.Get(ctx, n.path)
			if isGone(err) {
				return nil
			}
			if err != nil {
				return err
			}
			if !data.Match(content) {
				return nil
			}
		}
		return s.out.emit(pathResult{n.path})
	})
}
