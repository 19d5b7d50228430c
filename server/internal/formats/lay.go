package formats

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Format is how data is laid out.
type Format string

// The formats.
const (
	Text Format = "text"
	JSON Format = "json"
	YAML Format = "yaml"
	XML  Format = "xml"
	Hex  Format = "hex"
)

// All lists the formats in the order in which they are offered.
var All = []Format{Text, JSON, YAML, XML, Hex}

// Bounds.
const (
	// layMax is how many bytes a layout has at most, and readMax how many bytes of data are read for one: the reader
	// of YAML takes much memory for each.
	layMax, readMax = 256 << 10, 1 << 20
	yamlMax         = 64 << 10
	depthMax        = 100 // of elements of XML, for the indent
)

// Detect returns the format that fits data best. YAML is found by its mark only: nearly every text is YAML, too.
func Detect(data []byte) Format {
	text := bytes.TrimSpace(data)
	switch {
	case !isText(data):
		return Hex
	case len(text) == 0 || len(data) > readMax:
		return Text
	case (text[0] == '{' || text[0] == '[') && json.Valid(text):
		return JSON
	case bytes.HasPrefix(text, []byte("---\n")), bytes.HasPrefix(text, []byte("---\r\n")),
		bytes.HasPrefix(text, []byte("%YAML")):
		return YAML
	case text[0] == '<':
		if _, err := layXML(text); err == nil {
			return XML
		}
	}
	return Text
}

// Why a layout is not made.
var (
	errLong  = errors.New("it is too long to be laid out")
	errNoXML = errors.New("it is not XML")
)

// Lay writes data in a format. The error says why that is not possible; then the text is that of Text.
func Lay(data []byte, f Format) (text string, err error) {
	switch f {
	case Hex:
		return hexDump(data), nil
	case JSON:
		text, err = layJSON(data)
	case YAML:
		text, err = layYAML(data)
	case XML:
		text, err = layXML(data)
	default:
		text = string(data)
	}
	if err != nil {
		text = string(data)
	}
	return strings.ToValidUTF8(text, "\uFFFD"), err
}

// layJSON indents JSON. What that takes is known before: deep lists would become gigabytes.
func layJSON(data []byte) (string, error) {
	switch {
	case !json.Valid(data):
		return "", errors.New("it is not JSON")
	case indented(data) > layMax:
		return "", errLong
	}
	var b bytes.Buffer
	if err := json.Indent(&b, data, "", "  "); err != nil {
		return "", err
	}
	return b.String(), nil
}

// indented is at least how many bytes valid JSON has when it is indented by two.
func indented(data []byte) (n int) {
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		n++
		switch c := data[i]; {
		case quoted:
			if c == '\\' {
				i, n = i+1, n+1
			}
			quoted = c != '"'
		case c == '"':
			quoted = true
		case c == '{', c == '[':
			depth++
			n += 1 + 2*depth
		case c == '}', c == ']':
			depth--
			n += 1 + 2*depth
		case c == ',':
			n += 1 + 2*depth
		}
	}
	return n
}

// limited is a writer that takes so many bytes.
type limited struct {
	b    bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, errLong
	}
	return l.b.Write(p)
}

// layYAML writes YAML with an indent of two, comments included. Aliases stay aliases, so that none of them grows.
func layYAML(data []byte) (text string, err error) {
	if len(data) > yamlMax {
		return "", errLong
	}
	defer func() {
		if recover() != nil { // the library gives some mistakes as panics
			text, err = "", errors.New("it is not YAML that can be laid out")
		}
	}()
	w := &limited{left: layMax}
	d, e := yaml.NewDecoder(bytes.NewReader(data)), yaml.NewEncoder(w)
	e.SetIndent(2)
	for {
		var n yaml.Node
		switch err := d.Decode(&n); {
		case err == io.EOF:
			return w.b.String(), e.Close()
		case err != nil:
			return "", fmt.Errorf("it is not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
		}
		if err := e.Encode(&n); err != nil {
			return "", err
		}
	}
}

// layXML puts each element on a line of its own, and keeps its letters as they are.
func layXML(data []byte) (string, error) {
	if len(data) > readMax {
		return "", errLong
	}
	w, d := &limited{left: layMax}, xml.NewDecoder(bytes.NewReader(data))
	var open []xml.Name
	isLeaf, elements := false, 0
	for {
		from := d.InputOffset()
		token, err := d.RawToken()
		if err == io.EOF {
			break
		}
		if err != nil {
			return "", errNoXML
		}
		raw := bytes.TrimSpace(data[from:d.InputOffset()])
		depth, sameLine := len(open), false
		switch t := token.(type) {
		case xml.StartElement:
			open = append(open, t.Name)
			elements++
		case xml.EndElement:
			if depth == 0 || open[depth-1] != t.Name {
				return "", errNoXML
			}
			open, depth, sameLine = open[:depth-1], depth-1, isLeaf
		case xml.CharData:
			if sameLine = isLeaf; depth == 0 && len(raw) > 0 {
				return "", errNoXML
			}
		}
		_, isStart := token.(xml.StartElement)
		_, isChars := token.(xml.CharData)
		isLeaf = isStart || isLeaf && isChars
		if len(raw) == 0 {
			continue
		}
		if !sameLine && w.b.Len() > 0 {
			if _, err := w.Write([]byte("\n" + strings.Repeat("  ", min(depth, depthMax)))); err != nil {
				return "", err
			}
		}
		if _, err := w.Write(raw); err != nil {
			return "", err
		}
	}
	if elements == 0 || len(open) > 0 {
		return "", errNoXML
	}
	return w.b.String() + "\n", nil
}

// hexDump writes bytes, 16 a line, with their place and their letters.
func hexDump(b []byte) string {
	var text strings.Builder
	for at := 0; at < len(b); at += 16 {
		line := b[at:min(at+16, len(b))]
		fmt.Fprintf(&text, "%06x  % -48x ", at, line)
		for _, c := range line {
			if c < 0x20 || c > 0x7e {
				c = '.'
			}
			text.WriteByte(c)
		}
		text.WriteByte('\n')
	}
	return text.String()
}
