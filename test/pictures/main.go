// Command pictures draws the pictures of the documents: each text in a folder becomes an SVG of the same name. Texts
// named .txt are drawings of characters, in the notation of goat. Those named .ansi are what a terminal has shown,
// with the escape sequences of its colours:
//
//	go run ./test/pictures docs/pictures
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bep/goat"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("one argument: the folder with the texts")
	}
	texts, err := textsOf(args[0])
	if err != nil {
		return err
	}
	for _, name := range texts {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(pictureOf(name), draw(name, text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// textsOf returns the files in a folder that are drawn.
func textsOf(folder string) ([]string, error) {
	drawings, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		return nil, err
	}
	screens, err := filepath.Glob(filepath.Join(folder, "*.ansi"))
	return append(drawings, screens...), err
}

// pictureOf returns the file of the picture of a text.
func pictureOf(name string) string { return strings.TrimSuffix(name, filepath.Ext(name)) + ".svg" }

// head begins a picture with its size twice. The colours are those of a page that is light or dark.
const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" font-family="Menlo,Consolas,monospace" font-size="13">
<style>
svg { color: #1f2328; background: #ffffff }
path, polygon { stroke: currentColor }
text, polygon { fill: currentColor }
@media (prefers-color-scheme: dark) { svg { color: #e6edf3; background: #0d1117 } }
</style>
`

func draw(name string, text []byte) []byte {
	if filepath.Ext(name) == ".ansi" {
		return drawScreen(text)
	}
	picture := goat.BuildSVG(bytes.NewReader(text))
	var b bytes.Buffer
	fmt.Fprintf(&b, head, picture.Width, picture.Height, picture.Width)
	b.WriteString(picture.Body)
	b.WriteString("</svg>\n")
	return b.Bytes()
}
