package main

import (
	"bytes"
	"fmt"
	"strings"
)

// goName is the exported Go name of a definition's name.
func goName(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

func (f field) goTypeName() string {
	switch {
	case f.goType != "":
		return f.goType
	case f.kind == "int":
		return "int32"
	case f.kind == "long":
		return "int64"
	case f.kind == "bool":
		return "bool"
	case f.kind == "ustring":
		return "Text"
	case f.kind == "buffer":
		return "[]byte"
	case f.kind == "vector":
		return "[]" + f.elem.goTypeName()
	}
	return f.ref
}

// minSize is the smallest encoding of the field, in bytes.
func (f field) minSize(byName map[string]record) int {
	switch f.kind {
	case "bool":
		return 1
	case "long":
		return 8
	case "record":
		n := 0
		for _, g := range byName[f.ref].fields {
			n += g.minSize(byName)
		}
		return n
	}
	return 4
}

func emitRecords(b *bytes.Buffer, records []record) error {
	byName := map[string]record{}
	for _, r := range records {
		byName[r.name] = r
		emitStruct(b, r)
		fmt.Fprintf(b, "// AppendTo appends the encoding of v.\nfunc (v *%s) AppendTo(b []byte) []byte {\n", r.name)
		for _, f := range r.fields {
			emitAppend(b, f, "v."+goName(f.name))
		}
		b.WriteString("return b\n}\n\n")
		fmt.Fprintf(b, "// Decode decodes v from r, whose Err reports a failure.\nfunc (v *%s) Decode(r *Reader) {\n",
			r.name)
		for _, f := range r.fields {
			emitDecode(b, f, "v."+goName(f.name), byName)
		}
		b.WriteString("}\n\n")
		fmt.Fprintf(b, "// ReadFrom decodes v from the front of b, which v then aliases.\n"+
			"func (v *%s) ReadFrom(b []byte) error {\nr := NewReader(b)\nv.Decode(&r)\nreturn r.Err()\n}\n\n", r.name)
	}
	return nil
}

func emitStruct(b *bytes.Buffer, r record) {
	for _, line := range r.doc {
		fmt.Fprintf(b, "// %s\n", line)
	}
	fmt.Fprintf(b, "type %s struct {\n", r.name)
	for _, f := range r.fields {
		fmt.Fprintf(b, "%s %s // %s\n", goName(f.name), f.goTypeName(), f.doc)
	}
	b.WriteString("}\n\n")
}

func emitAppend(b *bytes.Buffer, f field, v string) {
	conv := func(t string) string {
		if f.goType != "" {
			return t + "(" + v + ")"
		}
		return v
	}
	switch f.kind {
	case "bool":
		fmt.Fprintf(b, "b = AppendBool(b, %s)\n", v)
	case "int":
		fmt.Fprintf(b, "b = AppendInt32(b, %s)\n", conv("int32"))
	case "long":
		fmt.Fprintf(b, "b = AppendInt64(b, %s)\n", conv("int64"))
	case "ustring", "buffer":
		fmt.Fprintf(b, "b = AppendBuffer(b, %s)\n", v)
	case "record":
		fmt.Fprintf(b, "b = %s.AppendTo(b)\n", v)
	case "vector":
		fmt.Fprintf(b, "b = appendCount(b, len(%s), %s == nil)\nfor i := range %s {\n", v, v, v)
		emitAppend(b, *f.elem, v+"[i]")
		b.WriteString("}\n")
	}
}

func emitDecode(b *bytes.Buffer, f field, v string, byName map[string]record) {
	conv := func(expr string) string {
		if f.goType != "" {
			return f.goType + "(" + expr + ")"
		}
		return expr
	}
	switch f.kind {
	case "bool":
		fmt.Fprintf(b, "%s = r.Bool()\n", v)
	case "int":
		fmt.Fprintf(b, "%s = %s\n", v, conv("r.Int32()"))
	case "long":
		fmt.Fprintf(b, "%s = %s\n", v, conv("r.Int64()"))
	case "ustring":
		fmt.Fprintf(b, "%s = r.Text()\n", v)
	case "buffer":
		fmt.Fprintf(b, "%s = r.Buffer()\n", v)
	case "record":
		fmt.Fprintf(b, "%s.Decode(r)\n", v)
	case "vector":
		fmt.Fprintf(b, "if n := r.Count(%d); n < 0 {\n%s = nil\n} else {\n%s = resize(%s, n)\nfor i := range %s {\n",
			f.elem.minSize(byName), v, v, v, v)
		emitDecode(b, *f.elem, v+"[i]", byName)
		b.WriteString("}\n}\n")
	}
}

func emitOps(b *bytes.Buffer, ops []row) error {
	b.WriteString("// The operations, and the types of txns. Source: client-protocol 5.1.\nconst (\n")
	for _, op := range ops {
		fmt.Fprintf(b, "Op%s OpCode = %d // %s\n", goName(op.name), op.code, op.meaning)
	}
	b.WriteString(")\n\nfunc opName(op OpCode) string {\nswitch op {\n")
	for _, op := range ops {
		fmt.Fprintf(b, "case Op%s:\nreturn %q\n", goName(op.name), op.name)
	}
	b.WriteString("}\nreturn \"\"\n}\n\n")
	kinds := []struct{ kind, name, doc string }{
		{"R", "IsRead", "reports whether op is answered from the local state."},
		{"W", "IsWrite", "reports whether a client's op becomes a txn."},
	}
	for _, k := range kinds {
		fmt.Fprintf(b, "// %s %s\nfunc (op OpCode) %s() bool {\nswitch op {\ncase ", k.name, k.doc, k.name)
		sep := ""
		for _, op := range ops {
			if op.kind == k.kind {
				fmt.Fprintf(b, "%sOp%s", sep, goName(op.name))
				sep = ", "
			}
		}
		b.WriteString(":\nreturn true\n}\nreturn false\n}\n\n")
	}
	b.WriteString("// AllOps lists every operation, by code.\nvar AllOps = []OpCode{")
	for _, op := range ops {
		fmt.Fprintf(b, "Op%s,\n", goName(op.name))
	}
	b.WriteString("}\n")
	return nil
}

func emitErrors(b *bytes.Buffer, errs []row) error {
	b.WriteString("// The error codes. Source: client-protocol 11.1.\nconst (\n")
	for _, e := range errs {
		fmt.Fprintf(b, "%s ErrCode = %d // %s\n", errName(e), e.code, e.meaning)
	}
	b.WriteString(")\n\nfunc errorInfo(e ErrCode) (errInfo, bool) {\nswitch e {\n")
	for _, e := range errs {
		fmt.Fprintf(b, "case %s:\nreturn errInfo{%q, %v, %q}, true\n", errName(e), e.name, e.kind == "yes", e.meaning)
	}
	b.WriteString("}\nreturn errInfo{}, false\n}\n\n// AllErrors lists every error code.\nvar AllErrors = []ErrCode{")
	for _, e := range errs {
		fmt.Fprintf(b, "%s,\n", errName(e))
	}
	b.WriteString("}\n")
	return nil
}

func errName(e row) string {
	if e.code == 0 {
		return "OK"
	}
	return "Err" + e.name
}

func emitFuzz(b *bytes.Buffer, records []record) error {
	b.WriteString("import \"testing\"\n\n")
	for _, r := range records {
		fmt.Fprintf(b, "func Fuzz%s(f *testing.F) {\nfuzzRecord(f, func() fuzzable { return new(%s) })\n}\n\n",
			r.name, r.name)
	}
	b.WriteString("// allRecords makes an empty value of every record, by name.\n" +
		"var allRecords = map[string]func() fuzzable{\n")
	for _, r := range records {
		fmt.Fprintf(b, "%q: func() fuzzable { return new(%s) },\n", r.name, r.name)
	}
	b.WriteString("}\n")
	return nil
}
