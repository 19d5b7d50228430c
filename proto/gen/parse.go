package main

import (
	"fmt"
	"strconv"
	"strings"
)

// record is one record of zookeeper.def.
type record struct {
	name   string
	doc    []string
	fields []field
}

// field is one field of a record.
type field struct {
	kind   string // bool, int, long, ustring, buffer, vector or record
	elem   *field // element of a vector; only kind and ref are set
	ref    string // name of the record, if kind is record
	name   string
	goType string // distinct Go type of an int or long, or ""
	doc    string
}

// row is one line of ops.def or errors.def.
type row struct {
	code    int
	name    string
	kind    string
	meaning string
}

func parseRecords(text string) ([]record, error) {
	var (
		records []record
		known   = map[string]bool{}
		doc     []string
		cur     *record
	)
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		where := func(format string, args ...any) error {
			return fmt.Errorf("line %d: %s", i+1, fmt.Sprintf(format, args...))
		}
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case cur == nil && strings.HasPrefix(line, "//"):
			doc = append(doc, strings.TrimSpace(line[2:]))
		case cur == nil:
			words := strings.Fields(line)
			if len(words) != 3 || words[0] != "record" || words[2] != "{" {
				return nil, where("want record Name {")
			}
			if known[words[1]] {
				return nil, where("record %s is defined twice", words[1])
			}
			if len(doc) == 0 {
				return nil, where("record %s has no doc", words[1])
			}
			cur = &record{name: words[1], doc: doc}
			doc = nil
		case line == "}":
			known[cur.name] = true
			records = append(records, *cur)
			cur = nil
		default:
			decl, comment, ok := strings.Cut(line, "//")
			if !ok {
				return nil, where("field has no doc")
			}
			words := strings.Fields(decl)
			if len(words) != 2 && len(words) != 3 {
				return nil, where("want type name [GoType]")
			}
			f, err := parseType(words[0], known)
			if err != nil {
				return nil, where("%v", err)
			}
			f.name, f.doc = words[1], strings.TrimSpace(comment)
			if len(words) == 3 {
				f.goType = words[2]
			}
			cur.fields = append(cur.fields, f)
		}
	}
	if cur != nil {
		return nil, fmt.Errorf("record %s does not end", cur.name)
	}
	return records, nil
}

func parseType(s string, known map[string]bool) (field, error) {
	switch s {
	case "bool", "int", "long", "ustring", "buffer":
		return field{kind: s}, nil
	}
	if inner, ok := strings.CutPrefix(s, "vector<"); ok {
		elem, err := parseType(strings.TrimSuffix(inner, ">"), known)
		if err != nil {
			return field{}, err
		}
		return field{kind: "vector", elem: &elem}, nil
	}
	if !known[s] {
		return field{}, fmt.Errorf("type %s is not defined above", s)
	}
	return field{kind: "record", ref: s}, nil
}

func parseRows(text string) ([]row, error) {
	var rows []row
	codes, names := map[int]bool{}, map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		decl, meaning, ok := strings.Cut(line, "//")
		words := strings.Fields(decl)
		if !ok || len(words) != 3 {
			return nil, fmt.Errorf("line %d: want code name kind // meaning", i+1)
		}
		code, err := strconv.Atoi(words[0])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		if codes[code] || names[words[1]] {
			return nil, fmt.Errorf("line %d: %s or its code is defined twice", i+1, words[1])
		}
		codes[code], names[words[1]] = true, true
		rows = append(rows, row{code, words[1], words[2], strings.TrimSpace(meaning)})
	}
	return rows, nil
}
