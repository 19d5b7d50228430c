package layouts

import (
	"testing"

	"github.com/seed94657493/warren/proto/internal/require"
)

func TestItemsAreCurators(t *testing.T) {
	const golden = "\x00\x01\x00\x01" + "\x01\x00\x00\x00\x02ab" + "\x01\x00\x00\x00\x00" + "\x02"
	require.Equal(t, golden, string(AppendItems(nil, [][]byte{[]byte("ab"), {}})))
	items, err := ReadItems([]byte(golden))
	require.NoError(t, err)
	require.Equal(t, [][]byte{[]byte("ab"), {}}, items)
	for n := range len(golden) {
		_, err := ReadItems([]byte(golden[:n]))
		require.Error(t, err)
	}
	_, err = ReadItems([]byte(golden + "x"))
	require.Error(t, err)
	_, err = ReadItems([]byte("\x00\x01\x00\x01\x01\xff\xff\xff\xff\x02"))
	require.Error(t, err)
}

func FuzzItems(f *testing.F) {
	f.Add(AppendItems(nil, [][]byte{[]byte("ab"), {}}))
	f.Add(AppendItems(nil, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		items, err := ReadItems(b)
		if err == nil {
			require.Equal(t, b, AppendItems(nil, items))
		}
	})
}

func FuzzService(f *testing.F) {
	f.Add([]byte(`{"name":"web","id":"1","address":"h","port":80,"registrationTimeUTC":1,"serviceType":"DYNAMIC"}`))
	f.Add([]byte(`{"name":"<script>","id":"\u2028","port":-1,"payload":[[[[]]]],"uriSpec":{"parts":[null]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := ReadService(b); err == nil {
			require.True(t, s.Name != "" && s.ID != "")
		}
	})
}
