//go:build !unix

package socket

import "errors"

// canTry is false: the runtime has the socket in a mode in which nothing else may read and write it.
const canTry = false

// Read is not called, because no connection is Raw.
func Read(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }

// Write is not called, because no connection is Raw.
func Write(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }
