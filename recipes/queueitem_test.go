package recipes

import (
	"testing"

	"github.com/seed94657493/warren/recipes/internal/require"
)

func TestItemsAreCurators(t *testing.T) {
	const golden = "\x00\x01\x00\x01" + "\x01\x00\x00\x00\x02ab" + "\x01\x00\x00\x00\x00" + "\x02"
	require.Equal(t, golden, string(encodeItems([][]byte{[]byte("ab"), {}})))
	items, err := decodeItems([]byte(golden))
	require.NoError(t, err)
	require.Equal(t, [][]byte{[]byte("ab"), {}}, items)
	for n := range len(golden) {
		_, err := decodeItems([]byte(golden[:n]))
		require.ErrorIs(t, err, ErrFormat, "%d bytes", n)
	}
	_, err = decodeItems([]byte(golden + "x"))
	require.ErrorIs(t, err, ErrFormat)
	_, err = decodeItems([]byte("\x00\x01\x00\x01\x01\xff\xff\xff\xff\x02"))
	require.ErrorIs(t, err, ErrFormat)
}

func FuzzItems(f *testing.F) {
	f.Add(encodeItems([][]byte{[]byte("ab"), {}}))
	f.Add(encodeItems(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		items, err := decodeItems(b)
		if err == nil {
			require.Equal(t, b, encodeItems(items))
		}
	})
}
