package admin

import (
	"bytes"
	"encoding/json"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/facts"
)

// properties is a list of names and values that becomes an object with the keys in the order of the list.
type properties []config.Property

// MarshalJSON implements json.Marshaler.
func (p properties) MarshalJSON() ([]byte, error) {
	texts := make(numbers, 0, len(p))
	for _, entry := range p {
		texts = append(texts, facts.Number{Name: entry.Name, Value: entry.Value, Text: true})
	}
	return texts.MarshalJSON()
}

// numbers is the same for the lines of mntr.
type numbers []facts.Number

// MarshalJSON implements json.Marshaler. A value that claims to be a number and is none is printed as text.
func (n numbers) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, entry := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendKey(b, entry.Name)
		if entry.Text || !json.Valid([]byte(entry.Value)) {
			b = appendText(b, entry.Value)
		} else {
			b = append(b, entry.Value...)
		}
	}
	return append(b, '}'), nil
}

func appendKey(b []byte, name string) []byte { return append(appendText(b, name), ':') }

func appendText(b []byte, text string) []byte {
	quoted, err := compact(text)
	if err != nil {
		panic("admin: a string cannot be written as JSON: " + err.Error()) // every string can
	}
	return append(b, quoted...)
}

// compact is the JSON of v without blanks, and without HTML escapes.
func compact(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}

// lay appends compact JSON to b in ZooKeeper's layout: one key a line with an indent of two blanks for each
// object, a blank on both sides of a colon, arrays on one line, "[ ]" and "{ }" for empty ones. Scripts grep for
// it. Source: operations 3.2.
func lay(b, text []byte) []byte {
	var open []byte // the brackets that are open
	depth := 0      // how many of them are objects
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			end := endOfString(text, i)
			b = append(b, text[i:end]...)
			i = end - 1
		case '{', '[':
			b = append(b, c)
			if closing := c + 2; text[i+1] == closing {
				b = append(b, ' ', closing)
				i++
				break
			}
			open = append(open, c)
			if c == '{' {
				depth++
			}
			b = separate(b, c, depth)
		case '}', ']':
			if c == '}' {
				depth--
			}
			open = open[:len(open)-1]
			b = separate(b, c-2, depth)
			b = append(b, c)
		case ',':
			b = append(b, c)
			b = separate(b, open[len(open)-1], depth)
		case ':':
			b = append(b, " : "...)
		default:
			b = append(b, c)
		}
	}
	return b
}

// separate appends the separator of values in an object or an array.
func separate(b []byte, bracket byte, depth int) []byte {
	if bracket == '[' {
		return append(b, ' ')
	}
	b = append(b, '\n')
	for range depth {
		b = append(b, ' ', ' ')
	}
	return b
}

// endOfString is the offset behind the string that begins at text[start].
func endOfString(text []byte, start int) int {
	for i := start + 1; ; i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}
