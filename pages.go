// Package warren holds the repository's pages as they are built into programs: the web site and every server show
// them. It is in the top folder because a package can embed only what is below its own. It has no state.
package warren

import "embed"

// Pages are the Markdown pages and the pictures in them, by their names in the repository.
//
//go:embed *.md docs/*.md docs/*.svg docs/*/*.md deploy/helm/warren/README.md
//go:embed docs/pictures/*.svg docs/pictures/*.png docs/pictures/*.gif
var Pages embed.FS
