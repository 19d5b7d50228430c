package zk

import (
	"reflect"
	"testing"
)

// same wants equal values. The tests of this package import neither the package itself nor one that is internal
// to its repository: the package may stand in for go-zookeeper, and has another import path then.
func same(t *testing.T, want, got any, of ...any) {
	t.Helper()
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("got  %#v\nwant %#v\n%v", got, want, of)
	}
}

// works wants no error.
func works(t *testing.T, err error, of ...any) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v %v", err, of)
	}
}

// fails wants an error.
func fails(t *testing.T, err error, of ...any) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error %v", of)
	}
}
