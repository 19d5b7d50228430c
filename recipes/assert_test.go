package recipes

import (
	"errors"
	"reflect"
	"testing"
)

// The assertions of these tests. The other tests of recipes are in test/recipes, whose module has a library of them.

func equal(t testing.TB, want, got any, note ...any) {
	t.Helper()
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("got  %#v\nwant %#v %v", got, want, note)
	}
}

func noError(t testing.TB, err error) {
	t.Helper()
	errorIs(t, err, nil)
}

func errorIs(t testing.TB, err, want error, note ...any) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("the error is %v, want %v %v", err, want, note)
	}
}
