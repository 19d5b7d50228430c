package site

import (
	"bytes"
	"strings"
)

// view is what the layout shows.
type view struct {
	Title, Root, Console string
	Body                 string // HTML
	Groups               []viewGroup
	OnPage               []*section
	Previous, Next       *viewLink
}

type viewGroup struct {
	Title string
	Pages []*viewLink
}

type viewLink struct {
	Label, Href string
	Current     bool
	Below       []*viewLink
}

// A page lists its sections if it has onPageLeast of them, and those of the third level if that makes no more than
// onPageMost.
const (
	onPageLeast = 3
	onPageMost  = 30
)

func (s *Site) render(p *page) ([]byte, error) {
	doc, sections, err := s.parse(p)
	if err != nil {
		return nil, err
	}
	var body bytes.Buffer
	if err := markdown.Renderer().Render(&body, p.text, doc); err != nil {
		return nil, err
	}
	root := strings.Repeat("../", strings.Count(p.out, "/"))
	v := &view{Title: p.title, Root: root, OnPage: onPage(sections), Groups: s.navigation(p),
		// Code is escaped, so what looks like a tag is one. A wide table scrolls in its box, with the keyboard, too.
		Body: strings.NewReplacer("<table>", `<div class="table" tabindex="0"><table>`,
			"</table>", "</table></div>").Replace(body.String())}
	if p.out == "index.html" {
		v.Title = "Documentation"
	}
	if s.console != "" {
		v.Console = root + s.console
	}
	for i, other := range s.pages {
		if other == p {
			v.Previous, v.Next = s.neighbour(p, i-1), s.neighbour(p, i+1)
		}
	}
	return v.write(), nil
}

// neighbour returns the link to the page before or after one; nil if there is none.
func (s *Site) neighbour(p *page, i int) *viewLink {
	if i < 0 || i >= len(s.pages) {
		return nil
	}
	return &viewLink{Label: s.pages[i].label, Href: relative(p.out, s.pages[i].out)}
}

// onPage returns the sections that a page lists.
func onPage(all []*section) (listed []*section) {
	for level := 3; level >= 2; level-- {
		listed = listed[:0]
		for _, one := range all {
			if one.Level >= 2 && one.Level <= level {
				listed = append(listed, one)
			}
		}
		if len(listed) <= onPageMost {
			break
		}
	}
	if len(listed) < onPageLeast {
		return nil
	}
	return listed
}

// navigation returns the groups of links as a page shows them.
func (s *Site) navigation(shown *page) (groups []viewGroup) {
	at := func(p *page) *viewLink {
		return &viewLink{Label: p.label, Href: relative(shown.out, p.out), Current: p == shown}
	}
	for _, p := range s.pages {
		if p.parent != nil {
			continue
		}
		if len(groups) == 0 || groups[len(groups)-1].Title != p.group {
			groups = append(groups, viewGroup{Title: p.group})
		}
		link := at(p)
		if p == shown || p == shown.parent {
			for _, b := range p.below {
				link.Below = append(link.Below, at(b))
			}
		}
		g := &groups[len(groups)-1]
		g.Pages = append(g.Pages, link)
	}
	return groups
}
