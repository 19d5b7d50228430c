package site

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// index is what the browser searches.
type index struct {
	Pages    [][2]string `json:"pages"`    // address and title
	Sections [][]any     `json:"sections"` // number of the page, anchor, title, beginning of the text
	Words    string      `json:"words"`    // in order, separated by blanks
	// Places has for each word the numbers of the sections that have it, each as the difference to the one before, to
	// base 36.
	Places []string `json:"places"`
}

const (
	excerptMost = 150 // bytes of a section's text that a result shows
	wordLeast   = 2   // bytes of a word that can be found
	wordMost    = 40
)

// index returns the index of all pages as a script. It is a script, not JSON, because a page that was opened from a
// disk may not fetch.
func (s *Site) index() ([]byte, error) {
	var x index
	places := map[string][]int{}
	for i, p := range s.pages {
		_, sections, err := s.parse(p)
		if err != nil {
			return nil, err
		}
		x.Pages = append(x.Pages, [2]string{p.out, p.title})
		for j, one := range sections {
			anchor := one.Anchor
			if j == 0 {
				anchor = "" // the top of the page
			}
			text := strings.Join(strings.Fields(one.text.String()), " ")
			for word := range wordsOf(one.Title + " " + text) {
				places[word] = append(places[word], len(x.Sections))
			}
			x.Sections = append(x.Sections, []any{i, anchor, one.Title, excerpt(text)})
		}
	}
	words := slices.Sorted(maps.Keys(places))
	x.Words = strings.Join(words, " ")
	for _, word := range words {
		var b strings.Builder
		before := 0
		for i, at := range places[word] {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(strconv.FormatInt(int64(at-before), 36))
			before = at
		}
		x.Places = append(x.Places, b.String())
	}
	var out bytes.Buffer
	out.WriteString("warrenSearch(")
	encoder := json.NewEncoder(&out)
	if err := encoder.Encode(x); err != nil {
		return nil, err
	}
	out.WriteString(")\n")
	return out.Bytes(), nil
}

// wordsOf returns the words of a text. A setting such as autopurge.purgeInterval has two.
func wordsOf(text string) map[string]bool {
	words := map[string]bool{}
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}) {
		if len(word) >= wordLeast && len(word) <= wordMost {
			words[word] = true
		}
	}
	return words
}

// excerpt returns the beginning of a text, cut between words.
func excerpt(text string) string {
	if len(text) <= excerptMost {
		return text
	}
	cut := excerptMost
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	text = text[:cut]
	if i := strings.LastIndexByte(text, ' '); i > 0 {
		text = text[:i]
	}
	return text + " ..."
}
