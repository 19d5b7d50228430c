package site

import (
	"errors"
	"fmt"
	"html"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdown reads CommonMark with GitHub's tables and checklists. Raw HTML is not let through; comments in it vanish.
var markdown = goldmark.New(goldmark.WithExtensions(extension.NewTable(
	extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)), extension.TaskList),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(code{}, 100))))

// section is a part of a page below one heading.
type section struct {
	Level  int
	Title  string
	Anchor string
	text   strings.Builder // what it says, without its heading and without marks
}

// parse reads a page, points its links to the site, and returns its sections. The first is that of the title.
func (s *Site) parse(p *page) (ast.Node, []*section, error) {
	doc := markdown.Parser().Parse(text.NewReader(p.text))
	var sections []*section
	var hidden []ast.Node // comments; the walk needs them in their place
	var away []*ast.Image // pictures that the site does not have
	taken := map[string]int{}
	var problems []error
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			if len(sections) > 0 && n.Type() == ast.TypeBlock {
				sections[len(sections)-1].text.WriteByte(' ')
			}
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			title := plain(n, p.text)
			one := &section{Level: n.Level, Title: title, Anchor: unique(taken, anchorOf(title))}
			sections = append(sections, one)
			n.SetAttributeString("id", []byte(one.Anchor))
			if n.Level > 1 {
				n.AppendChild(n, selfLink(one))
			}
			return ast.WalkContinue, nil
		case *ast.HTMLBlock:
			if markup := n.Lines().Value(p.text); !isComment(string(markup)) {
				problems = append(problems, fmt.Errorf("%s: HTML that is not a comment: %s", p.file, markup))
			}
			hidden = append(hidden, n)
		case *ast.RawHTML:
			problems = append(problems, fmt.Errorf("%s: HTML in a paragraph: %s", p.file, n.Segments.Value(p.text)))
		case *tables.Table:
			widen(n, p.text)
		case *ast.Link:
			n.Destination = []byte(s.link(p, string(n.Destination)))
		case *ast.Image:
			if !s.hasPicture(p, string(n.Destination)) {
				away = append(away, n)
			}
			n.Destination = []byte(s.link(p, string(n.Destination)))
		case *ast.Text:
			if len(sections) > 0 && !isIn(n, ast.KindHeading) {
				b := &sections[len(sections)-1].text
				b.Write(n.Segment.Value(p.text))
				if n.SoftLineBreak() || n.HardLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			if len(sections) > 0 {
				sections[len(sections)-1].text.Write(n.Lines().Value(p.text))
			}
		}
		return ast.WalkContinue, nil
	})
	for _, c := range hidden {
		c.Parent().RemoveChild(c.Parent(), c)
	}
	for _, n := range away {
		linkInstead(n)
	}
	return doc, sections, errors.Join(problems...)
}

func (s *Site) hasPicture(from *page, to string) bool {
	if strings.Contains(to, "://") {
		return true // it is not of the site
	}
	return s.has(path.Join(path.Dir(from.file), to))
}

func (s *Site) has(file string) bool {
	_, err := fs.Stat(s.files, file)
	return err == nil
}

func isPicture(file string) bool {
	return slices.Contains([]string{".svg", ".png", ".gif"}, path.Ext(file))
}

// linkInstead puts a link to a picture in its place.
func linkInstead(n *ast.Image) {
	link := ast.NewLink()
	link.Destination = n.Destination
	for c := n.FirstChild(); c != nil; {
		next := c.NextSibling()
		link.AppendChild(link, c)
		c = next
	}
	n.Parent().ReplaceChild(n.Parent(), n, link)
}

// columnsMany is from how many columns on a table needs help to leave room for its sentences.
const columnsMany = 5

// widen marks the column of a table that has most to say.
func widen(table *tables.Table, source []byte) {
	if len(table.Alignments) < columnsMany {
		return
	}
	says := make([]int, len(table.Alignments))
	each := func(do func(column int, cell ast.Node)) {
		for row := table.FirstChild(); row != nil; row = row.NextSibling() {
			column := 0
			for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
				do(column, cell)
				column++
			}
		}
	}
	each(func(column int, cell ast.Node) { says[column] += len(plain(cell, source)) })
	most := slices.Index(says, slices.Max(says))
	each(func(column int, cell ast.Node) {
		if column == most {
			cell.SetAttributeString("class", []byte("wide"))
		}
	})
}

// selfLink returns the link that a reader copies to point others to a section.
func selfLink(to *section) ast.Node {
	link := ast.NewLink()
	link.Destination = []byte("#" + to.Anchor)
	link.SetAttributeString("class", []byte("anchor"))
	link.SetAttributeString("aria-label", []byte("Link to this section"))
	link.AppendChild(link, ast.NewString([]byte("#")))
	return link
}

var comment = regexp.MustCompile(`(?s)\A\s*<!--.*-->\s*\z`)

func isComment(text string) bool { return comment.MatchString(text) }

func isIn(n ast.Node, kind ast.NodeKind) bool {
	for ; n != nil; n = n.Parent() {
		if n.Kind() == kind {
			return true
		}
	}
	return false
}

// plain returns the text of a node without marks.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return html.UnescapeString(b.String())
}

// anchorOf returns the name by which a heading is linked to, as GitHub forms it.
func anchorOf(title string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(title) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		}
	}
	return b.String()
}

// unique numbers the second anchor of a name, and those after it, as GitHub does.
func unique(taken map[string]int, name string) string {
	n, found := taken[name]
	taken[name] = n + 1
	if !found {
		return name
	}
	return name + "-" + strconv.Itoa(n)
}

// link returns where a link of a page leads on the site.
func (s *Site) link(from *page, to string) string {
	target, fragment, hasFragment := strings.Cut(to, "#")
	if target == "" || strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
		return to
	}
	file := path.Join(path.Dir(from.file), target)
	out := ""
	switch p := s.byFile[file]; {
	case p != nil:
		out = relative(from.out, p.out)
	case isPicture(file) && s.has(file):
		out = relative(from.out, pictureOf(file))
	default:
		out = repository + file
	}
	if hasFragment {
		out += "#" + fragment
	}
	return out
}

// relative returns how a file of the site names another.
func relative(from, to string) string { return strings.Repeat("../", strings.Count(from, "/")) + to }

// code renders code: blocks with their comments marked, and names in tables so that a narrow column can break them.
type code struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (code) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindFencedCodeBlock, renderBlock)
	r.Register(ast.KindCodeBlock, renderBlock)
	r.Register(ast.KindCodeSpan, renderSpan)
}

// A name may be broken behind a sign and before a capital letter.
var (
	behindSigns = regexp.MustCompile(`([._/,])(\w)`)
	atCapitals  = regexp.MustCompile(`([a-z])([A-Z])`)
)

func renderSpan(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		b.Write(c.(*ast.Text).Segment.Value(source))
	}
	text := html.EscapeString(strings.ReplaceAll(b.String(), "\n", " "))
	if isIn(n, tables.KindTableCell) {
		text = behindSigns.ReplaceAllString(atCapitals.ReplaceAllString(text, "$1<wbr>$2"), "$1<wbr>$2")
	}
	_, err := fmt.Fprintf(w, "<code>%s</code>", text)
	return ast.WalkSkipChildren, err
}

// comments finds comments in code by its language.
var comments = map[string]*regexp.Regexp{
	"sh": regexp.MustCompile(`(?m)(^|[ \t])#.*$`), "ini": regexp.MustCompile(`(?m)^[ \t]*[#;].*$`),
	"yaml": regexp.MustCompile(`(?m)(^|[ \t])#.*$`), "python": regexp.MustCompile(`(?m)(^|[ \t])#.*$`),
	"go": regexp.MustCompile(`(?m)(^|[ \t])//.*$`), "java": regexp.MustCompile(`(?m)(^|[ \t])//.*$`),
	"js": regexp.MustCompile(`(?m)(^|[ \t])//.*$`),
}

func renderBlock(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	language := ""
	if fenced, ok := n.(*ast.FencedCodeBlock); ok {
		language = string(fenced.Language(source))
	}
	text := html.EscapeString(string(n.Lines().Value(source)))
	if find := comments[language]; find != nil {
		text = find.ReplaceAllString(text, `<span class="comment">$0</span>`)
	}
	// A reader may scroll it with the keyboard.
	_, err := fmt.Fprintf(w, "<pre tabindex=\"0\"><code>%s</code></pre>\n", text)
	return ast.WalkSkipChildren, err
}
