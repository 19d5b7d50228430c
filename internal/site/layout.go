package site

import (
	"fmt"
	"html"
	"strings"
)

// The layout is written by plain functions: a program that executes a template keeps every exported method of every
// type, which made the binary larger than the pages do.

const head = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'self'; style-src 'self'; ` +
	`img-src 'self'; base-uri 'none'; form-action 'none'">
<title>%[1]s &middot; Warren</title>
<link rel="icon" href="%[2]sicon.svg">
<link rel="stylesheet" href="%[2]ssite.css">
<script src="%[2]ssite.js" data-root="%[2]s"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="brand" href="%[2]sindex.html"><img src="%[2]sicon.svg" alt="" width="22" height="22">
Warren <span>docs</span></a>
<div class="search" role="search" hidden>
<input id="search" type="search" placeholder="Search" aria-label="Search the documentation" autocomplete="off"
 role="combobox" aria-expanded="false" aria-controls="search-results" aria-autocomplete="list">
<kbd>/</kbd>
<ul id="search-results" role="listbox" aria-label="Results" hidden></ul>
</div>
`

const menu = `<button id="theme" type="button" aria-label="Switch between light and dark" hidden>&#9680;</button>
</header>
<div class="columns">
<details class="menu" id="menu" open>
<summary>Contents</summary>
<nav aria-label="Pages">
`

// write returns the page that a view shows. Body is HTML; everything else is escaped.
func (v *view) write() []byte {
	var b strings.Builder
	put := func(format string, texts ...string) {
		escaped := make([]any, len(texts))
		for i, text := range texts {
			escaped[i] = html.EscapeString(text)
		}
		fmt.Fprintf(&b, format, escaped...)
	}
	put(head, v.Title, v.Root)
	if v.Console != "" {
		put("<a class=\"to-console\" href=\"%s\">Console</a>\n", v.Console)
	}
	b.WriteString(menu)
	for _, g := range v.Groups {
		put("<h2>%s</h2>\n", g.Title)
		b.WriteString(list(g.Pages))
	}
	b.WriteString("</nav>\n</details>\n<main id=\"content\">\n<article>\n" + v.Body + "</article>\n<footer>\n")
	if v.Previous != nil {
		put("<a rel=\"prev\" href=\"%s\"><span>Previous</span>%s</a>\n", v.Previous.Href, v.Previous.Label)
	}
	if v.Next != nil {
		put("<a rel=\"next\" href=\"%s\"><span>Next</span>%s</a>\n", v.Next.Href, v.Next.Label)
	}
	b.WriteString("</footer>\n</main>\n")
	if len(v.OnPage) > 0 {
		b.WriteString("<aside>\n<nav aria-label=\"On this page\">\n<h2>On this page</h2>\n<ul>\n")
		for _, one := range v.OnPage {
			put("<li class=\"level%s\"><a href=\"#%s\">%s</a></li>\n", fmt.Sprint(one.Level), one.Anchor, one.Title)
		}
		b.WriteString("</ul>\n</nav>\n</aside>\n")
	}
	b.WriteString("</div>\n</body>\n</html>\n")
	return []byte(b.String())
}

// list returns links, each with those below it.
func list(links []*viewLink) string {
	var b strings.Builder
	b.WriteString("<ul>\n")
	for _, l := range links {
		current := ""
		if l.Current {
			current = ` aria-current="page"`
		}
		fmt.Fprintf(&b, "<li><a href=\"%s\"%s>%s</a>", html.EscapeString(l.Href), current, html.EscapeString(l.Label))
		if len(l.Below) > 0 {
			b.WriteString(list(l.Below))
		}
		b.WriteString("</li>\n")
	}
	b.WriteString("</ul>\n")
	return b.String()
}
