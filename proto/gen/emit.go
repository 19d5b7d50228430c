package main

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
)

// goName is the exported Go name of a definition's name.
func goName(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// primitives are the kinds of fields that consist of no others, and the count of a vector.
var primitives = map[string]struct {
	goType  string // of a field that has none of its own
	minSize int    // of the encoding, in bytes
	append  string // the function that encodes, and the method of Reader that decodes
	decode  string
}{
	"bool":    {"bool", 1, "AppendBool", "Bool"},
	"int":     {"int32", 4, "AppendInt32", "Int32"},
	"long":    {"int64", 8, "AppendInt64", "Int64"},
	"ustring": {"Text", 4, "AppendBuffer", "Text"},
	"buffer":  {"[]byte", 4, "AppendBuffer", "Buffer"},
	"vector":  {minSize: 4},
}

func (f field) goTypeName() string {
	if f.kind == "vector" {
		return "[]" + f.elem.goTypeName()
	}
	return cmp.Or(f.goType, primitives[f.kind].goType, f.ref)
}

// minSize is the smallest encoding of the field, in bytes.
func (f field) minSize(byName map[string]record) int {
	n := primitives[f.kind].minSize
	for _, g := range byName[f.ref].fields {
		n += g.minSize(byName)
	}
	return n
}

func emitRecords(b *bytes.Buffer, records []record) {
	byName := map[string]record{}
	for _, r := range records {
		byName[r.name] = r
		emitStruct(b, r)
		fmt.Fprintf(b, "func (v *%s) AppendTo(b []byte) []byte {\n", r.name)
		for i, f := range r.fields {
			to := "b ="
			if i == len(r.fields)-1 {
				to = "return"
			}
			emitAppend(b, to, f, "v."+goName(f.name))
		}
		b.WriteString("}\n\n")
		fmt.Fprintf(b, "func (v *%s) Decode(r *Reader) {\n", r.name)
		for _, f := range r.fields {
			emitDecode(b, f, "v."+goName(f.name))
		}
		b.WriteString("}\n\n")
		fmt.Fprintf(b, "func (v *%s) ReadFrom(b []byte) error { return readFrom(b, v) }\n\n", r.name)
	}
	emitVectors(b, records, byName)
}

// vectorName is the part of the names of the functions below that stands for a vector's elements.
func (f field) vectorName() string {
	if f.elem.kind == "buffer" {
		return "Buffers"
	}
	return goName(f.elem.goTypeName()) + "s"
}

// emitVectors emits two functions for each type of elements.
func emitVectors(b *bytes.Buffer, records []record, byName map[string]record) {
	done := map[string]bool{}
	for _, r := range records {
		for _, f := range r.fields {
			if f.kind != "vector" || done[f.vectorName()] {
				continue
			}
			done[f.vectorName()] = true
			fmt.Fprintf(b, "func append%s(b []byte, v %s) []byte {\nb = appendCount(b, len(v), v == nil)\n"+
				"for i := range v {\n", f.vectorName(), f.goTypeName())
			emitAppend(b, "b =", *f.elem, "v[i]")
			fmt.Fprintf(b, "}\nreturn b\n}\n\n// decode%[1]s reuses the capacity of v.\n"+
				"func decode%[1]s(r *Reader, v %[2]s) %[2]s {\nn := r.Count(%[3]d)\nif n < 0 {\nreturn nil\n}\n"+
				"v = resize(v, n)\nfor i := range v {\n", f.vectorName(), f.goTypeName(), f.elem.minSize(byName))
			emitDecode(b, *f.elem, "v[i]")
			b.WriteString("}\nreturn v\n}\n\n")
		}
	}
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

// emitAppend appends the value v of a field to b, in a statement that begins with to.
func emitAppend(b *bytes.Buffer, to string, f field, v string) {
	p := primitives[f.kind]
	call := p.append + "(b, " + v + ")"
	switch {
	case f.kind == "record":
		call = v + ".AppendTo(b)"
	case f.kind == "vector":
		call = "append" + f.vectorName() + "(b, " + v + ")"
	case f.goType != "":
		call = p.append + "(b, " + p.goType + "(" + v + "))"
	}
	fmt.Fprintln(b, to, call)
}

func emitDecode(b *bytes.Buffer, f field, v string) {
	p := primitives[f.kind]
	switch {
	case f.kind == "record":
		fmt.Fprintf(b, "%s.Decode(r)\n", v)
	case f.kind == "vector":
		fmt.Fprintf(b, "%s = decode%s(r, %s)\n", v, f.vectorName(), v)
	case f.goType != "":
		fmt.Fprintf(b, "%s = %s(r.%s())\n", v, f.goType, p.decode)
	default:
		fmt.Fprintf(b, "%s = r.%s()\n", v, p.decode)
	}
}

func emitOps(b *bytes.Buffer, ops []row) {
	b.WriteString("// The operations, and the types of txns. Source: client-protocol 5.1.\nconst (\n")
	for _, op := range ops {
		fmt.Fprintf(b, "Op%s OpCode = %d // %s\n", goName(op.name), op.code, op.meaning)
	}
	b.WriteString(")\n\nvar opNames = map[OpCode]string{\n")
	for _, op := range ops {
		fmt.Fprintf(b, "Op%s: %q,\n", goName(op.name), op.name)
	}
	b.WriteString("}\n\n")
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
}

func emitErrors(b *bytes.Buffer, errs []row) {
	b.WriteString("// The error codes. Source: client-protocol 11.1.\nconst (\n")
	for _, e := range errs {
		fmt.Fprintf(b, "%s ErrCode = %d // %s\n", errName(e), e.code, e.meaning)
	}
	b.WriteString(")\n\nvar errorInfos = map[ErrCode]errInfo{\n")
	for _, e := range errs {
		fmt.Fprintf(b, "%s: {%q, %v, %q},\n", errName(e), e.name, e.kind == "yes", e.meaning)
	}
	b.WriteString("}\n")
}

func errName(e row) string {
	if e.code == 0 {
		return "OK"
	}
	return "Err" + e.name
}

func emitFuzz(b *bytes.Buffer, records []record) {
	b.WriteString("import \"testing\"\n\n")
	for _, r := range records {
		fmt.Fprintf(b, "func Fuzz%[1]s(f *testing.F) { fuzzRecord(f, allRecords[%[1]q]) }\n", r.name)
	}
	b.WriteString("\n// allRecords makes an empty value of every record, by name.\n" +
		"var allRecords = map[string]func() fuzzable{\n")
	for _, r := range records {
		fmt.Fprintf(b, "%q: func() fuzzable { return new(%s) },\n", r.name, r.name)
	}
	b.WriteString("}\n")
}
