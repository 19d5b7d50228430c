package figures

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDecimal(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0.0", 1: "1.0", 1.41666: "1.4167", 0.00001: "0.0", 0.00004: "0.0", 123456789: "123456789.0", -1: "-1.0",
	} {
		require.Equal(t, want, Decimal(v))
	}
}
