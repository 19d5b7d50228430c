// Command pictures draws the pictures of the documents: each text in a folder becomes an SVG of the same name. The
// texts are drawings of characters, in the notation of goat:
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
	texts, err := filepath.Glob(filepath.Join(args[0], "*.txt"))
	if err != nil {
		return err
	}
	for _, name := range texts {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(strings.TrimSuffix(name, ".txt")+".svg", draw(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// head begins a picture with its size twice. The colours are those of a page that is light or dark.
const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" font-family="Menlo,Consolas,monospace" font-size="13">
<style>
svg { color: #1f2328; background: #ffffff }
path, polygon { stroke: currentColor }
text, polygon { fill: currentColor }
@media (prefers-color-scheme: dark) { svg { color: #e6edf3; background: #0d1117 } }
</style>
`

func draw(text []byte) []byte {
	picture := goat.BuildSVG(bytes.NewReader(text))
	var b bytes.Buffer
	fmt.Fprintf(&b, head, picture.Width, picture.Height, picture.Width)
	b.WriteString(picture.Body)
	b.WriteString("</svg>\n")
	return b.Bytes()
}
