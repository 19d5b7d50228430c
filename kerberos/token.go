package kerberos

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/jcmturner/gokrb5/v8/asn1tools"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/types"
)

// TokenMax is the longest token that is read, in bytes. A ticket of a Windows domain has the groups of its user, up
// to 65,535 bytes.
const TokenMax = 128 << 10

var (
	errTokenSize = errors.New("kerberos: the token is too long")
	errToken     = errors.New("kerberos: the token is malformed")
	errMechanism = errors.New("kerberos: the token is for another mechanism")
	errSignature = errors.New("kerberos: the signature of the token is wrong")
	errEncrypted = errors.New("kerberos: the token is encrypted, but no security layer was agreed")
	errOldKey    = errors.New("kerberos: the ticket has a key for old encryption, which is refused: make AES keys")
)

// The kinds of messages in a framed token. Source: RFC 4121 section 4.1.
const (
	kindAPReq = 0x0100
	kindAPRep = 0x0200
	kindError = 0x0300
)

// mechanism is the DER of the object identifier 1.2.840.113554.1.2.2.
var mechanism = []byte{0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01, 0x02, 0x02}

// frame makes a token of a message: [APPLICATION 0], mechanism, kind. Source: RFC 2743 section 3.1.
func frame(kind uint16, message []byte) []byte {
	b := binary.BigEndian.AppendUint16(slices.Clone(mechanism), kind)
	return asn1tools.AddASNAppTag(append(b, message...), 0)
}

// unframe is the reverse.
func unframe(token []byte) (kind uint16, message []byte, err error) {
	if len(token) > TokenMax {
		return 0, nil, errTokenSize
	}
	if len(token) < 2 || token[0] != 0x60 {
		return 0, nil, errToken
	}
	n, rest := int(token[1]), token[2:]
	if n >= 0x80 {
		size := n - 0x80
		if size < 1 || size > 3 || len(rest) < size {
			return 0, nil, errToken
		}
		n = 0
		for _, b := range rest[:size] {
			n = n<<8 | int(b)
		}
		rest = rest[size:]
	}
	switch {
	case n != len(rest) || n < len(mechanism)+2:
		return 0, nil, errToken
	case !slices.Equal(rest[:len(mechanism)], mechanism):
		return 0, nil, errMechanism
	}
	rest = rest[len(mechanism):]
	return binary.BigEndian.Uint16(rest), rest[2:], nil
}

// Parts of a Wrap token. Source: RFC 4121 section 4.2.6.2.
const (
	wrapHeader      = 16
	wrapID          = 0x0504
	wrapFiller      = 0xff
	flagAcceptor    = 1 // the acceptor has sent the token
	flagEncrypted   = 2
	flagAcceptorKey = 4 // the key is that of the acceptor
)

// keys sign the tokens after the first two. Each side counts its own tokens.
type keys struct {
	key       types.EncryptionKey
	mine      byte      // flags of the tokens of this side
	usage     [2]uint32 // of the key, for tokens of this side and of the other
	send, get uint64    // the number of the next token
}

func newKeys(key types.EncryptionKey, isAcceptors, accepts bool, send, get uint64) *keys {
	k := &keys{key: key, send: send, get: get}
	if isAcceptors {
		k.mine |= flagAcceptorKey
	}
	k.usage = [2]uint32{keyusage.GSSAPI_INITIATOR_SEAL, keyusage.GSSAPI_ACCEPTOR_SEAL}
	if accepts {
		k.mine |= flagAcceptor
		k.usage = [2]uint32{keyusage.GSSAPI_ACCEPTOR_SEAL, keyusage.GSSAPI_INITIATOR_SEAL}
	}
	return k
}

// checksum is over the text and the header with counts of zero.
func (k *keys) checksum(text []byte, flags byte, number uint64, usage uint32) ([]byte, error) {
	kind, err := crypto.GetEtype(k.key.KeyType)
	if err != nil {
		return nil, errOldKey
	}
	b := append(slices.Clone(text), header(flags, 0, number)...)
	return kind.GetChecksumHash(k.key.KeyValue, b, usage)
}

func header(flags byte, extra int, number uint64) []byte {
	b := binary.BigEndian.AppendUint16(nil, wrapID)
	b = append(b, flags, wrapFiller)
	b = binary.BigEndian.AppendUint16(b, uint16(extra))
	b = binary.BigEndian.AppendUint16(b, 0)
	return binary.BigEndian.AppendUint64(b, number)
}

// wrap signs a text.
func (k *keys) wrap(text []byte) ([]byte, error) {
	sum, err := k.checksum(text, k.mine, k.send, k.usage[0])
	if err != nil {
		return nil, err
	}
	b := append(header(k.mine, len(sum), k.send), text...)
	k.send++
	return append(b, sum...), nil
}

// unwrap returns the text of a token of the other side.
func (k *keys) unwrap(token []byte) ([]byte, error) {
	if len(token) > TokenMax {
		return nil, errTokenSize
	}
	if len(token) < wrapHeader || binary.BigEndian.Uint16(token) != wrapID || token[3] != wrapFiller {
		return nil, errToken
	}
	flags, body := token[2], slices.Clone(token[wrapHeader:])
	extra, rotated := int(binary.BigEndian.Uint16(token[4:])), int(binary.BigEndian.Uint16(token[6:]))
	number := binary.BigEndian.Uint64(token[8:])
	switch {
	case flags&flagEncrypted != 0:
		return nil, errEncrypted
	case flags != k.mine^flagAcceptor:
		return nil, errToken // a token of this side that was sent back, or one with another key
	case extra > len(body):
		return nil, errToken
	}
	if len(body) > 0 { // some senders put the end of the body in front
		rotated %= len(body)
		body = append(body[rotated:], body[:rotated]...)
	}
	text, sum := body[:len(body)-extra], body[len(body)-extra:]
	want, err := k.checksum(text, flags, number, k.usage[1])
	if err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare(want, sum) != 1 || number != k.get {
		return nil, errSignature
	}
	k.get++
	return text, nil
}

// keySize returns the length of a key in bytes; 0 for types of encryption that are refused. The library has another
// answer for AES with SHA-384.
func keySize(kind int32) int {
	switch kind {
	case etypeID.AES128_CTS_HMAC_SHA1_96, etypeID.AES128_CTS_HMAC_SHA256_128:
		return 16
	case etypeID.AES256_CTS_HMAC_SHA1_96, etypeID.AES256_CTS_HMAC_SHA384_192:
		return 32
	}
	return 0
}

func newKey(kind int32) types.EncryptionKey {
	key := types.EncryptionKey{KeyType: kind, KeyValue: make([]byte, keySize(kind))}
	_, _ = rand.Read(key.KeyValue) // never fails
	return key
}

// newNumber returns the number of a side's first token.
func newNumber() int64 {
	var b [4]byte
	_, _ = rand.Read(b[:])                                    // never fails
	return int64(binary.BigEndian.Uint32(b[:]) &^ 0xc0000000) // far from the end, and positive to every implementation
}

// decrypt checks the shape of key and ciphertext first, which the library does not.
func decrypt(data types.EncryptedData, key types.EncryptionKey, usage uint32) ([]byte, error) {
	kind, err := crypto.GetEtype(key.KeyType)
	if err != nil || keySize(key.KeyType) == 0 || len(key.KeyValue) != keySize(key.KeyType) {
		return nil, errOldKey
	}
	if len(data.Cipher) < kind.GetConfounderByteSize()+kind.GetHMACBitLength()/8 {
		return nil, errToken
	}
	text, err := crypto.DecryptEncPart(data, key, usage)
	if err != nil {
		return nil, errSignature
	}
	return text, nil
}
