package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// The size of a character of a screen, in pixels, and the margin around all.
const (
	cellWidth  = 8
	cellHeight = 18
	margin     = 12
)

// screenHead begins the picture of a screen, which is dark as most terminals are.
const screenHead = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" font-family="Menlo,Consolas,monospace" font-size="13">
<style>
text { fill: #e6edf3; white-space: pre }
.c2 { fill: #8b949e }
.c31 { fill: #ff7b72 }
.c32 { fill: #3fb950 }
.c33 { fill: #d29922 }
.c34 { fill: #58a6ff }
.c36 { fill: #39c5cf }
</style>
<rect width="100%%" height="100%%" rx="8" fill="#0d1117"/>
`

// colour is an escape sequence that sets one attribute of the text behind it; 0 is none.
var colour = regexp.MustCompile("\x1b\\[([0-9]+)m")

// drawScreen draws what a terminal has shown: lines with colours as terminals have them. Each piece of one colour has
// a place and a length of its own, so that columns are straight in any font.
func drawScreen(text []byte) []byte {
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	var b bytes.Buffer
	widest := 0
	code := "0"
	for row, line := range lines {
		column := 0
		piece := func(text string) {
			n := utf8.RuneCountInString(text)
			if strings.TrimSpace(text) != "" {
				class := ""
				if code != "0" {
					class = fmt.Sprintf(` class="c%s"`, code)
				}
				fmt.Fprintf(&b, `<text x="%d" y="%d" textLength="%d"%s>`, margin+column*cellWidth,
					margin+row*cellHeight+14, n*cellWidth, class)
				_ = xml.EscapeText(&b, []byte(text)) // a Buffer takes everything
				b.WriteString("</text>\n")
			}
			column += n
		}
		for line != "" {
			at := colour.FindStringSubmatchIndex(line)
			if at == nil {
				piece(line)
				break
			}
			piece(line[:at[0]])
			code, line = line[at[2]:at[3]], line[at[1]:]
		}
		widest = max(widest, column)
	}
	width, height := 2*margin+widest*cellWidth, 2*margin+len(lines)*cellHeight
	return append(append(fmt.Appendf(nil, screenHead, width, height, width), b.Bytes()...), "</svg>\n"...)
}
