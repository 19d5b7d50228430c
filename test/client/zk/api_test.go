package zk_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	_ "github.com/go-zookeeper/zk" // so that its export data is there
	"github.com/stretchr/testify/require"
)

const (
	theirPath = "github.com/go-zookeeper/zk"
	ourPath   = "github.com/seed94657493/warren/client/zk"
)

// additions are what this package has and go-zookeeper has not.
var additions = map[string]string{
	"method Conn.Client":                     "the way to package client in small steps",
	"method State.IsConnected":               "forks of go-zookeeper have it",
	"type SimpleDNSHostProvider":             "forks of go-zookeeper have it",
	"method SimpleDNSHostProvider.Init":      "it is a HostProvider",
	"method SimpleDNSHostProvider.Len":       "it is a HostProvider",
	"method SimpleDNSHostProvider.Next":      "it is a HostProvider",
	"method SimpleDNSHostProvider.Connected": "it is a HostProvider",
}

// Every exported name of go-zookeeper is here, with the same type, and nothing else without a reason.
func TestAPIIsThatOfGoZookeeper(t *testing.T) {
	imported := importPackages(t, theirPath, ourPath)
	theirs, ours := exported(imported[theirPath]), exported(imported[ourPath])
	require.Greater(t, len(theirs), 140)
	for name, signature := range theirs {
		if got, ok := ours[name]; !ok {
			t.Errorf("missing: %s %s", name, signature)
		} else if got != signature {
			t.Errorf("%s is\n\t%s\nand must be\n\t%s", name, got, signature)
		}
	}
	for name := range ours {
		if _, ok := theirs[name]; !ok && additions[name] == "" {
			t.Errorf("%s is an addition without a reason", name)
		}
	}
	for name := range additions {
		require.Contains(t, ours, name)
	}
}

// importPackages loads packages from the export data that the go command makes.
func importPackages(t *testing.T, paths ...string) map[string]*types.Package {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-deps", "-export", "-json=ImportPath,Export"}, paths...)...)
	cmd.Stderr = os.Stderr
	listed, err := cmd.Output()
	require.NoError(t, err)
	files := map[string]string{}
	for in := json.NewDecoder(bytes.NewReader(listed)); ; {
		var p struct{ ImportPath, Export string }
		err := in.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		files[p.ImportPath] = p.Export
	}
	from := importer.ForCompiler(token.NewFileSet(), "gc",
		func(path string) (io.ReadCloser, error) { return os.Open(files[path]) })
	imported := map[string]*types.Package{}
	for _, path := range paths {
		imported[path], err = from.Import(path)
		require.NoError(t, err)
	}
	return imported
}

// exported returns what a package exports: functions, variables, constants with their values, and of types what can
// be seen of them.
func exported(p *types.Package) map[string]string {
	names := map[string]string{}
	for _, name := range p.Scope().Names() {
		object := p.Scope().Lookup(name)
		if !object.Exported() {
			continue
		}
		switch object := object.(type) {
		case *types.Const:
			names["const "+name] = fmt.Sprintf("%s = %s", typeName(object.Type()), object.Val().ExactString())
		case *types.Var:
			names["var "+name] = typeName(object.Type())
		case *types.Func:
			names["func "+name] = typeName(object.Type())
		case *types.TypeName:
			names["type "+name] = shape(object.Type().Underlying())
			for _, receiver := range []types.Type{object.Type(), types.NewPointer(object.Type())} {
				methods := types.NewMethodSet(receiver)
				for i := range methods.Len() {
					if m := methods.At(i).Obj(); m.Exported() {
						_, isPointer := receiver.(*types.Pointer)
						key := "method " + name + "." + m.Name()
						if previous, ok := names[key]; !ok {
							names[key] = fmt.Sprintf("%s, of values: %v", typeName(m.Type()), !isPointer)
						} else if !isPointer {
							names[key] = previous
						}
					}
				}
			}
		}
	}
	return names
}

// shape describes an underlying type; of a struct only the exported fields, in order.
func shape(t types.Type) string {
	switch t := t.(type) {
	case *types.Struct:
		var b strings.Builder
		b.WriteString("struct")
		hidden := false
		for i := range t.NumFields() {
			f := t.Field(i)
			if hidden = hidden || !f.Exported(); f.Exported() {
				fmt.Fprintf(&b, " %s %s %s;", f.Name(), typeName(f.Type()), t.Tag(i))
			}
		}
		if hidden {
			b.WriteString(" and hidden fields")
		}
		return b.String()
	default:
		return typeName(t)
	}
}

// typeName prints a type without saying which of the packages it comes from.
func typeName(t types.Type) string {
	switch t := types.Unalias(t).(type) {
	case *types.Signature:
		// Names of parameters do not matter, nor do receivers.
		return types.TypeString(
			types.NewSignatureType(nil, nil, nil, nameless(t.Params()), nameless(t.Results()), t.Variadic()), short)
	default:
		return types.TypeString(t, short)
	}
}

func nameless(list *types.Tuple) *types.Tuple {
	var vars []*types.Var
	for i := range list.Len() {
		vars = append(vars, types.NewParam(token.NoPos, nil, "", types.Unalias(list.At(i).Type())))
	}
	return types.NewTuple(vars...)
}

// short writes zk for the package itself, whose ACL is that of package client.
func short(p *types.Package) string {
	switch p.Path() {
	case theirPath, ourPath, "github.com/seed94657493/warren/client":
		return "zk"
	}
	return p.Path()
}
