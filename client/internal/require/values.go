package require

// Do returns what a call has returned that has to succeed: require.Do(c.Create(ctx, path, nil, mode))(t).
func Do[V any](v V, err error) func(T) V {
	return func(t T) V {
		t.Helper()
		NoError(t, err)
		return v
	}
}

// Do2 is Do for a call with two results.
func Do2[V, W any](v V, w W, err error) func(T) (V, W) {
	return func(t T) (V, W) {
		t.Helper()
		NoError(t, err)
		return v, w
	}
}

// Err is the error of a call whose result does not matter, for an assertion about it:
// require.ErrorIs(t, require.Err(c.Create(ctx, path, nil, mode)), client.ErrNodeExists).
func Err[V any](_ V, err error) error { return err }

// Err2 is Err for a call with two results.
func Err2[V, W any](_ V, _ W, err error) error { return err }
