package vfs

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// A file that is written over is the old one or the new one after a crash at any operation, and whole.
func TestWriteFileIsOneStep(t *testing.T) {
	errPower := errors.New("power is lost")
	for stop := 0; ; stop++ {
		m := NewMem()
		require.NoError(t, m.MkdirAll("/d"))
		require.NoError(t, WriteFile(m, "/d/f", []byte("old")))
		ops := 0
		m.Hook(func(Op) error {
			if ops++; ops > stop {
				return errPower
			}
			return nil
		})
		err := WriteFile(m, "/d/f", []byte("newer"))
		after := m.CrashClone(rand.New(rand.NewPCG(uint64(stop), 0)), CrashOptions{UnsyncedPercent: 50})
		b, readErr := ReadFile(after, "/d/f", 10)
		require.NoError(t, readErr)
		if err == nil {
			require.Equal(t, "newer", string(b))
			require.Greater(t, stop, 3)
			return
		}
		require.ErrorIs(t, err, errPower)
		require.Contains(t, []string{"old", "newer"}, string(b))
	}
}

func TestReadFileIsBounded(t *testing.T) {
	m := NewMem()
	require.NoError(t, WriteFile(m, "/f", make([]byte, 10)))
	require.Len(t, must.Do(ReadFile(m, "/f", 10))(t), 10)
	require.ErrorIs(t, must.Err(ReadFile(m, "/f", 9)), ErrTooLarge)
}
