package kerberos

import (
	"errors"
	"fmt"

	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/types"
)

// Keytab holds the keys of principals. It is immutable.
type Keytab struct{ entries *keytab.Keytab }

// KeytabBytesMax is the largest keytab that is read, in bytes.
const KeytabBytesMax = 1 << 20

var (
	errKeytabSize = fmt.Errorf("kerberos: the keytab is larger than %d bytes", KeytabBytesMax)
	errKeytab     = errors.New("kerberos: not a keytab, or a damaged one")
)

// ParseKeytab reads a file of the format of MIT Kerberos, which ktutil, kadmin and ktpass write.
func ParseKeytab(b []byte) (*Keytab, error) {
	if len(b) > KeytabBytesMax {
		return nil, errKeytabSize
	}
	entries := keytab.New()
	if err := entries.Unmarshal(b); err != nil || len(entries.Entries) == 0 {
		return nil, errKeytab // the library's error may show keys
	}
	return &Keytab{entries}, nil
}

// encryptions are the types of encryption that are used, the preferred first: AES with SHA-1 and SHA-2. The others
// that the library has are broken, and have tokens of another format.
var encryptions = []int32{etypeID.AES256_CTS_HMAC_SHA1_96, etypeID.AES128_CTS_HMAC_SHA1_96,
	etypeID.AES256_CTS_HMAC_SHA384_192, etypeID.AES128_CTS_HMAC_SHA256_128}

// Check returns an error if the keytab has no usable key of a principal.
func (k *Keytab) Check(p Principal) error {
	if len(k.types(p)) > 0 {
		return nil
	}
	for _, e := range k.entries.Entries {
		if p.Equal(Principal{Components: e.Principal.Components, Realm: e.Principal.Realm}) {
			return fmt.Errorf("kerberos: the keytab has keys of %s for old encryption only, which is "+
				"refused: make AES keys", p)
		}
	}
	return fmt.Errorf("kerberos: the keytab has no key of %s", p)
}

// types returns the types of encryption that a principal has keys for.
func (k *Keytab) types(p Principal) (found []int32) {
	newest := k.newest(p)
	for _, kind := range encryptions {
		if _, _, err := newest.GetEncryptionKey(p.wire(), p.Realm, 0, kind); err == nil {
			found = append(found, kind)
		}
	}
	return found
}

// key returns the key that a ticket for p is encrypted with; version 0 is the newest.
func (k *Keytab) key(p Principal, version int, kind int32) (types.EncryptionKey, error) {
	entries := k.entries
	if version == 0 {
		entries = k.newest(p)
	}
	key, _, err := entries.GetEncryptionKey(p.wire(), p.Realm, version, kind)
	if err != nil {
		return key, fmt.Errorf("kerberos: the keytab has no key of %s with version %d and type %d", p, version, kind)
	}
	return key, nil
}

// newest returns the newest keys of a principal. The library goes by the times in a keytab, which are in seconds, so
// that it may take a key that was replaced at once.
func (k *Keytab) newest(p Principal) *keytab.Keytab {
	newest := keytab.New()
	for _, e := range k.entries.Entries {
		switch {
		case !p.Equal(Principal{Components: e.Principal.Components, Realm: e.Principal.Realm}):
		case len(newest.Entries) == 0 || e.KVNO == newest.Entries[0].KVNO:
			newest.Entries = append(newest.Entries, e)
		case e.KVNO > newest.Entries[0].KVNO:
			newest.Entries = append(newest.Entries[:0:0], e)
		}
	}
	return newest
}
