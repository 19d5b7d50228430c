package must

// Err is the error of a call whose result does not matter, for an assertion about it:
// require.ErrorIs(t, must.Err(c.Exists(path, false)), proto.ErrNoNode).
func Err[V any](_ V, err error) error { return err }

// Err2 is Err for a call with two results.
func Err2[V, W any](_ V, _ W, err error) error { return err }
