package site_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/seed94657493/warren"
	"github.com/seed94657493/warren/internal/site"
	"github.com/seed94657493/warren/test/must"
)

// repository is where links lead whose target is not on the site.
const repository = "https://github.com/seed94657493/warren/blob/main/"

// read returns every file of the site of the repository's pages.
func read(t *testing.T) map[string][]byte {
	t.Helper()
	s := must.Do(site.New(warren.Pages, ""))(t)
	files := map[string][]byte{}
	for _, name := range s.Files() {
		content := must.Do(s.File(name))(t)
		require.NotEmpty(t, content, name)
		require.NotContains(t, files, name, "two files have this name")
		files[name] = content
	}
	return files
}

// element is an element of a page with what a test asks of it.
type element struct {
	name  string
	attrs map[string]string
	text  string // before its first element
}

func elements(t *testing.T, page []byte) (all []element) {
	t.Helper()
	root := must.Do(html.Parse(bytes.NewReader(page)))(t)
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		e := element{name: n.Data, attrs: map[string]string{}}
		for _, a := range n.Attr {
			e.attrs[a.Key] = a.Val
		}
		if n.FirstChild != nil && n.FirstChild.Type == html.TextNode {
			e.text = n.FirstChild.Data
		}
		all = append(all, e)
	}
	return all
}

// Every link leads to a file of the site, and to a heading of it, or to a file of the repository. No page needs what
// the content security policy forbids, and every page can be reached.
func TestPages(t *testing.T) {
	files := read(t)
	pages, ids := map[string][]element{}, map[string]map[string]bool{}
	for name, content := range files {
		if path.Ext(name) != ".html" {
			continue
		}
		pages[name], ids[name] = elements(t, content), map[string]bool{}
		for _, e := range pages[name] {
			if id := e.attrs["id"]; id != "" {
				require.False(t, ids[name][id], "%s: two elements have the id %s", name, id)
				ids[name][id] = true
			}
		}
	}
	require.Greater(t, len(pages), 100)
	linked := map[string]bool{}
	links := 0
	for name, all := range pages {
		titles := 0
		for _, e := range all {
			for key, value := range e.attrs {
				if strings.HasPrefix(key, "on") || key == "style" {
					t.Errorf("%s: %s=%s", name, key, value)
				}
				if key != "href" && key != "src" {
					continue
				}
				u, err := url.Parse(value)
				require.NoError(t, err, name)
				if u.IsAbs() {
					require.Equal(t, "a", e.name, "%s: %s is fetched from elsewhere", name, value)
					if file, ours := strings.CutPrefix(value, repository); ours {
						require.NoError(t, must.Err(os.Stat(filepath.Join("../..", filepath.FromSlash(file)))), name)
					}
					continue
				}
				to := path.Join(path.Dir(name), u.Path) // an address that begins with a slash leads nowhere
				if u.Path == "" {
					to = name
				} else if u.Path[0] == '/' {
					to = u.Path
				}
				require.NotNil(t, files[to], "%s: %s", name, value)
				if u.Fragment != "" {
					require.True(t, ids[to][u.Fragment], "%s: %s leads to no heading", name, value)
				}
				links++
				linked[to] = linked[to] || to != name
			}
			switch e.name {
			case "script":
				require.NotEmpty(t, e.attrs["src"], name)
				require.Empty(t, e.text, name)
			case "style", "iframe", "object", "base", "form":
				t.Errorf("%s: an element %s", name, e.name)
			case "img":
				_, has := e.attrs["alt"]
				require.True(t, has, "%s: %s has no text for who cannot see it", name, e.attrs["src"])
			case "h1":
				titles++
			}
		}
		require.Equal(t, 1, titles, "%s: titles", name)
	}
	for name := range pages {
		require.True(t, linked[name], "no page leads to %s", name)
	}
	require.Greater(t, links, 5000)
}

// Comments vanish, code is escaped and its comments are marked, and headings have GitHub's anchors.
func TestMarkdown(t *testing.T) {
	text := strings.Join([]string{"# A `title`", "<!-- not run: why -->", "```sh", "a <b> # it's", "```",
		"## A, b & c", "", "| <x@example.org> | b |", "| --- | --- |", "| `a\\|b` | [c](docs/INSTALL.md#x) |",
		"| `wide_name.of<it>` | `isSo` |", "",
		"| a | b | c | d | e |", "| - | - | - | - | - |", "| 1 | 2 | 3 | a sentence | 5 |", "",
		"`not_wide`", "", "- [ ] to do", "- [x] done", "",
		"## A, b & c"}, "\n")
	content := fakePages()
	content["README.md"].Data = []byte(text)
	s := must.Do(site.New(content, "../console/"))(t)
	page := must.Do(s.File("index.html"))(t)
	for _, want := range []string{
		"<h1 id=\"a-title\">A <code>title</code></h1>", "a &lt;b&gt;<span class=\"comment\"> # it&#39;s</span>",
		"<h2 id=\"a-b--c\">A, b &amp; c", "<h2 id=\"a-b--c-1\">", "<code>a|b</code>",
		"<code>wide_<wbr>name.<wbr>of&lt;it&gt;</code>", "<code>is<wbr>So</code>",
		"<code>not_wide</code>", "<td>3</td>\n<td class=\"wide\">a sentence</td>\n<td>5</td>",
		"<li><input disabled=\"\" type=\"checkbox\"> to do</li>", "type=\"checkbox\"> done</li>",
		"<a href=\"install.html#x\">c</a>", "href=\"../console/\"",
	} {
		require.Contains(t, string(page), want)
	}
	require.NotContains(t, string(page), "not run")
}

// fakePages has a page for each one of the repository, with a title alone.
func fakePages() fstest.MapFS {
	pages := fstest.MapFS{}
	_ = fs.WalkDir(warren.Pages, ".", func(name string, _ fs.DirEntry, err error) error { // files in memory
		if path.Ext(name) == ".md" {
			pages[name] = &fstest.MapFile{Data: []byte("# Title\n")}
		}
		return err
	})
	return pages
}

func TestProblems(t *testing.T) {
	for name, test := range map[string]struct {
		change func(fstest.MapFS)
		want   string
	}{
		"a page too many": {func(p fstest.MapFS) { p["docs/MORE.md"] = p["README.md"] },
			"docs/MORE.md: the navigation does not have this page"},
		"a page too few": {func(p fstest.MapFS) { delete(p, "docs/SHELL.md") }, "docs/SHELL.md"},
		"no title": {func(p fstest.MapFS) { p["docs/SHELL.md"] = &fstest.MapFile{Data: []byte("text")} },
			"docs/SHELL.md: the page does not begin with a title"},
	} {
		pages := fakePages()
		test.change(pages)
		require.ErrorContains(t, must.Err(site.New(pages, "")), test.want, name)
	}
	pages := fakePages()
	pages["README.md"].Data = []byte("# T\n\n<div>x</div>\n\na <c> d\n")
	s, err := site.New(pages, "")
	require.NoError(t, err)
	for _, name := range []string{"index.html", "search-index.js"} {
		_, err = s.File(name)
		require.ErrorContains(t, err, "README.md: HTML that is not a comment: <div>x</div>")
		require.ErrorContains(t, err, "README.md: HTML in a paragraph: <c>")
	}
	require.ErrorIs(t, must.Err(s.File("none.html")), fs.ErrNotExist)
}

// The index leads from a word to the sections that have it.
func TestSearchIndex(t *testing.T) {
	text := strings.TrimSpace(string(read(t)["search-index.js"]))
	text, ok := strings.CutPrefix(text, "warrenSearch(")
	require.True(t, ok)
	var x struct {
		Pages    [][2]string
		Sections [][]any
		Words    string
		Places   []string
	}
	require.NoError(t, json.Unmarshal([]byte(strings.TrimSuffix(text, ")")), &x))
	words := strings.Split(x.Words, " ")
	require.True(t, slices.IsSorted(words))
	require.Len(t, x.Places, len(words))
	sections := func(word string) (found []string) {
		i, ok := slices.BinarySearch(words, word)
		require.True(t, ok, word)
		at := int64(0)
		for difference := range strings.SplitSeq(x.Places[i], " ") {
			n := must.Do(strconv.ParseInt(difference, 36, 64))(t)
			at += n
			one := x.Sections[at]
			found = append(found, x.Pages[int(one[0].(float64))][0]+"#"+one[1].(string))
		}
		return found
	}
	require.Contains(t, sections("diskwatermarkbytes"), "runbooks/full-disk.html#")
	require.Contains(t, sections("purgeinterval"), "index.html#what-is-compatible")
	require.Contains(t, sections("drain"), "runbooks/drain.html#")
}

// embeddedMost is how many bytes the pages may add to a binary.
const embeddedMost = 9 << 18 // 2.25 MiB

func TestPagesAreSmall(t *testing.T) {
	total := int64(0)
	require.NoError(t, fs.WalkDir(warren.Pages, ".", func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		total += info.Size()
		return err
	}))
	t.Logf("the pages and pictures have %d bytes", total)
	require.Less(t, total, int64(embeddedMost))
}

// withPicture has a picture that programs do not.
type withPicture struct{ fs.FS }

func (w withPicture) Open(name string) (fs.File, error) {
	if name == "docs/views/tree.png" {
		return fstest.MapFS{name: {Data: []byte("a picture")}}.Open(name)
	}
	return w.FS.Open(name)
}

// Of a picture that is not among the files, a page has a link to the repository.
func TestPicturesThatAreElsewhere(t *testing.T) {
	page := func(files fs.FS) string {
		s := must.Do(site.New(files, ""))(t)
		text := must.Do(s.File("console.html"))(t)
		return string(text)
	}
	require.Contains(t, page(warren.Pages), `<a href="`+repository+`docs/views/tree.png">A znode in the tree</a>`)
	there := page(withPicture{warren.Pages})
	require.Contains(t, there, `<img src="pictures/tree.png" alt="A znode in the tree">`)
	s := must.Do(site.New(withPicture{warren.Pages}, ""))(t)
	require.Equal(t, "a picture", string(must.Do(s.File("pictures/tree.png"))(t)))
}
