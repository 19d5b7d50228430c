package site

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

//go:embed static
var static embed.FS

// repository is where links lead whose target is in the repository and not on the site.
const repository = "https://github.com/seed94657493/warren/blob/main/"

// contents is the navigation: groups of pages in the order in which a newcomer needs them. A page whose name ends in a
// slash is the list of a folder that has no README.md. The other pages of a page's folders follow it.
var contents = []struct {
	Title string
	Pages []entry
}{
	{"Start", []entry{
		{file: "README.md", label: "Overview"},
		{file: "docs/INSTALL.md", label: "Install"},
		{file: "docs/MIGRATION.md", label: "Move from ZooKeeper"},
		{file: "docs/COMPATIBILITY.md"},
		{file: "docs/SYSTEMS.md", label: "Systems that run on it", folder: "docs/systems"},
		{file: "docs/QUESTIONS.md", label: "Twenty questions"},
	}},
	{"Operate", []entry{
		{file: "docs/OPERATIONS.md", label: "Operations and runbooks", folder: "docs/runbooks"},
		{file: "docs/CONFIGURATION.md"},
		{file: "docs/SECURITY.md"},
		{file: "docs/METRICS.md"},
		{file: "docs/CONSOLE.md", label: "Console and API"},
		{file: "docs/TROUBLESHOOTING.md"},
		{file: "deploy/helm/warren/README.md", label: "Helm chart"},
	}},
	{"Build", []entry{
		{file: "docs/tutorial/README.md", folder: "docs/tutorial"},
		{file: "docs/SHELL.md"},
		{file: "docs/CLIENT.md"},
		{file: "docs/recipes/README.md", folder: "docs/recipes"},
		{file: "docs/EMBED.md"},
		{file: "docs/TEST-SERVER.md", label: "Tests in Java"},
		{file: "docs/FROM-CURATOR.md"},
		{file: "docs/FROM-GO-ZOOKEEPER.md", label: "From go-zookeeper"},
	}},
	{"Understand", []entry{
		{file: "docs/BENCHMARKS.md"},
		{file: "docs/BENCHMARKING.md"},
		{file: "docs/EXPERIMENTS.md"},
		{file: "docs/PROOF.md", label: "Proof"},
		{file: "docs/SIMULATION.md", label: "Simulation"},
		{file: "docs/DESIGN.md", label: "Design"},
		{file: "docs/adr/", label: "Decisions", folder: "docs/adr"},
		{file: "docs/OPERATING-SURFACE.md", label: "Operating surface"},
		{file: "docs/console-design.md", label: "Design of the console"},
		{file: "docs/protocol/README.md", label: "ZooKeeper's protocols", folder: "docs/protocol"},
	}},
	{"Project", []entry{
		{file: "docs/VERSIONS.md"},
		{file: "CHANGELOG.md"},
		{file: "ROADMAP.md"},
		{file: "CONTRIBUTING.md", label: "Contributing"},
		{file: "docs/HACKING.md", label: "Hacking"},
		{file: "SECURITY.md", label: "Report a vulnerability"},
		{file: "GOVERNANCE.md"},
		{file: "CODE_OF_CONDUCT.md"},
	}},
}

// entry is a page in the navigation.
type entry struct {
	file   string // in the repository
	label  string // if it is not the page's title
	folder string // whose pages are listed below this one while it or one of them is shown
}

// page is a Markdown page.
type page struct {
	file   string // in the repository, as docs/INSTALL.md
	out    string // on the site, as install.html
	title  string
	label  string // in the navigation
	group  string // of the navigation
	parent *page  // nil if it is an entry of a group
	below  []*page
	text   []byte // Markdown
}

// Site is a web site made of Markdown pages.
type Site struct {
	files   fs.FS
	console string           // where the header's link to the console leads, "" for no link
	pages   []*page          // in the order of the navigation
	byFile  map[string]*page // by name in the repository; folders, too
	byOut   map[string]*page
}

// New reads the pages below files. Console is the address of the server's console relative to the top of the site; ""
// if there is none. It fails if a page is missing in the navigation, or if the navigation names a page that does not
// exist.
func New(files fs.FS, console string) (*Site, error) {
	s := &Site{files: files, console: console, byFile: map[string]*page{}, byOut: map[string]*page{}}
	for _, group := range contents {
		for _, e := range group.Pages {
			p, err := s.add(e.file, e.label, group.Title, nil)
			if err != nil {
				return nil, err
			}
			if err := s.addFolder(e.folder, p); err != nil {
				return nil, err
			}
		}
	}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && path.Ext(name) == ".md" && s.byFile[name] == nil {
			return fmt.Errorf("%s: the navigation does not have this page", name)
		}
		return err
	})
	return s, err
}

// add reads a page and appends it to the navigation.
func (s *Site) add(file, label, group string, parent *page) (*page, error) {
	p := &page{file: file, out: outOf(file), group: group, parent: parent}
	if folder, isList := strings.CutSuffix(file, "/"); isList {
		p.text = s.list(label, folder)
		s.byFile[folder] = p
	} else {
		text, err := fs.ReadFile(s.files, file)
		if err != nil {
			return nil, err
		}
		p.text = text
	}
	p.title = titleOf(p.text)
	if p.title == "" {
		return nil, fmt.Errorf("%s: the page does not begin with a title", file)
	}
	p.label = cmp.Or(label, p.title)
	if s.byOut[p.out] != nil {
		return nil, fmt.Errorf("%s and %s would both become %s", file, s.byOut[p.out].file, p.out)
	}
	if path.Base(file) == "README.md" {
		s.byFile[path.Dir(file)] = p
	}
	s.byFile[file], s.byOut[p.out] = p, p
	s.pages = append(s.pages, p)
	return p, nil
}

// addFolder adds the pages of a folder below a page: in the order in which its text links to them.
func (s *Site) addFolder(folder string, parent *page) error {
	if folder == "" {
		return nil
	}
	names, err := fs.Glob(s.files, folder+"/*.md")
	if err != nil {
		return err
	}
	place := func(name string) int {
		relative := strings.TrimPrefix(name, path.Dir(parent.file)+"/")
		if i := bytes.Index(parent.text, []byte("]("+relative)); i >= 0 {
			return i
		}
		return len(parent.text)
	}
	slices.SortStableFunc(names, func(a, b string) int { return place(a) - place(b) })
	for _, name := range names {
		if name == parent.file {
			continue
		}
		p, err := s.add(name, "", parent.group, parent)
		if err != nil {
			return err
		}
		parent.below = append(parent.below, p)
	}
	if s.byFile[folder] == nil {
		s.byFile[folder] = parent
	}
	return nil
}

// list is the text of a page that lists a folder.
func (s *Site) list(title, folder string) []byte {
	names, _ := fs.Glob(s.files, folder+"/*.md") // the pattern is well formed
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n", title)
	for _, name := range names {
		text, _ := fs.ReadFile(s.files, name) // add reports an error
		fmt.Fprintf(&b, "\n- [%s](%s)", titleOf(text), path.Base(name))
	}
	return b.Bytes()
}

var firstTitle = regexp.MustCompile(`(?m)\A# (.*)$`)

func titleOf(text []byte) string {
	m := firstTitle.FindSubmatch(text)
	if m == nil {
		return ""
	}
	return strings.ReplaceAll(string(m[1]), "`", "")
}

func outOf(file string) string {
	name, inDocs := strings.CutPrefix(file, "docs/")
	folder, base := path.Split(strings.ToLower(name))
	switch {
	case base == "" || base == "readme.md":
		base = "index.html"
	default:
		base = strings.TrimSuffix(base, ".md") + ".html"
	}
	if !inDocs && file != "README.md" {
		folder = "project/" + folder
	}
	return folder + base
}

func pictureOf(file string) string { return "pictures/" + path.Base(file) }

// searchIndex is the file that the search loads when a reader begins to type.
const searchIndex = "search-index.js"

// Files returns the names of all files of the site.
func (s *Site) Files() []string {
	names := []string{searchIndex, "site.css", "site.js", "icon.svg"}
	for _, p := range s.pages {
		names = append(names, p.out)
	}
	for _, pattern := range []string{"docs/pictures/*", "docs/views/*", "docs/*.svg"} {
		pictures, _ := fs.Glob(s.files, pattern) // the pattern is well formed
		for _, name := range pictures {
			if isPicture(name) {
				names = append(names, pictureOf(name))
			}
		}
	}
	return names
}

// File returns the content of a file. It is fs.ErrNotExist if the site has no such file.
func (s *Site) File(name string) ([]byte, error) {
	if p := s.byOut[name]; p != nil {
		return s.render(p)
	}
	switch {
	case name == searchIndex:
		return s.index()
	case name == "site.css" || name == "site.js" || name == "icon.svg":
		return static.ReadFile("static/" + name)
	case path.Dir(name) == "pictures" && isPicture(name):
		for _, folder := range []string{"docs/pictures/", "docs/views/", "docs/"} {
			if content, err := fs.ReadFile(s.files, folder+path.Base(name)); err == nil {
				return content, nil
			}
		}
	}
	return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
}
