package keystore

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

// What a file may demand is bounded, and no parameters end the process.
func TestHostilePBEParameters(t *testing.T) {
	salt := make([]byte, 8)
	for id := range pbeSchemes {
		oid := oidOf(t, id)
		for name, p := range map[string]any{
			"no iterations":      pbeParams{salt, 0},
			"iterations below 0": pbeParams{salt, -1},
			"many iterations":    pbeParams{salt, iterationsMax + 1},
			"another type":       "text",
		} {
			_, err := decryptPKCS8(encrypted(t, oid, p, make([]byte, 16)), "changeit")
			require.Error(t, err, "%s: %s", id, name)
			require.NotErrorIs(t, err, errDecrypted, "%s: %s", id, name)
		}
		for _, n := range []int{0, 7, 8, 9, 64, 1000} {
			for _, data := range []int{0, 1, 8, 16} {
				der := encrypted(t, oid, pbeParams{make([]byte, n), 1}, make([]byte, data))
				require.Error(t, must.Err(decryptPKCS8(der, "changeit")), "%s: salt of %d, data of %d", id, n, data)
			}
		}
	}
}

func encrypted(t *testing.T, oid asn1.ObjectIdentifier, params any, data []byte) []byte {
	p := must.Do(asn1.Marshal(params))(t)
	der := must.Do(asn1.Marshal(encryptedKey{
		pkix.AlgorithmIdentifier{Algorithm: oid, Parameters: asn1.RawValue{FullBytes: p}}, data}))(t)
	return der
}

func oidOf(t *testing.T, text string) (oid asn1.ObjectIdentifier) {
	for field := range strings.SplitSeq(text, ".") {
		n := must.Atoi(t, field)
		oid = append(oid, n)
	}
	return oid
}
