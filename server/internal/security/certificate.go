package security

import (
	"cmp"
	"crypto/x509"
	"encoding/asn1"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/server/config"
)

// idAlternative is the type of ids that are an alternative name of the certificate instead of its subject.
const idAlternative = "SAN"

// CertNames says which id the owner of a certificate has. Source: operations 8.3.
type CertNames struct {
	cfg            config.X509ID
	superUser      string
	match, extract *regexp.Regexp
}

// NewCertNames returns the rules of a configuration.
func NewCertNames(cfg *config.Security) (*CertNames, error) {
	n := &CertNames{cfg: cfg.X509ID, superUser: cfg.X509SuperUser}
	var err error
	if n.match, err = regexp.Compile(`^(?:` + n.cfg.Match + `)$`); err != nil {
		return nil, fmt.Errorf("server: X509AuthenticationProvider.clientCertIdSanMatchRegex: %w", err)
	}
	if n.extract, err = regexp.Compile(n.cfg.Extract); err != nil {
		return nil, fmt.Errorf("server: X509AuthenticationProvider.clientCertIdSanExtractRegex: %w", err)
	}
	return n, nil
}

// Identities returns the identities that a verified certificate proves: an id of scheme x509, and super if the
// certificate is that of the super user.
func (n *CertNames) Identities(x *x509.Certificate) ([]auth.Identity, error) {
	id, err := n.id(x)
	if err != nil {
		return nil, err
	}
	ids := []auth.Identity{auth.NewX509Identity(id, n.superUser)}
	if n.superUser != "" && id == n.superUser {
		ids = append(ids, auth.SuperIdentity(id))
	}
	return ids, nil
}

func (n *CertNames) id(x *x509.Certificate) (string, error) {
	if n.cfg.Type == idAlternative {
		return n.alternative(x)
	}
	return subjectName(x.RawSubject)
}

var (
	errNoAlternative   = errors.New("not exactly one alternative name of the certificate is the client's id")
	errEmptyCertID     = errors.New("the part of the alternative name that is the client's id is missing")
	errSubjectEncoding = errors.New("the subject of the certificate cannot be decoded")
)

// alternative returns the one alternative name that matches, or the part of it that is the id. It is an error if
// no name or several names match.
func (n *CertNames) alternative(x *x509.Certificate) (string, error) {
	var names []string
	switch n.cfg.SANType {
	case 1:
		names = x.EmailAddresses
	case 2:
		names = x.DNSNames
	case 6:
		for _, u := range x.URIs {
			names = append(names, u.String())
		}
	case 7:
		for _, ip := range x.IPAddresses {
			names = append(names, ip.String())
		}
	}
	found, count := "", 0
	for _, name := range names {
		if n.match.MatchString(name) {
			found = name
			count++
		}
	}
	if count != 1 {
		return "", errNoAlternative
	}
	if n.cfg.Extract != "" {
		groups := n.extract.FindStringSubmatch(found)
		if n.cfg.Group >= len(groups) {
			return "", errEmptyCertID
		}
		found = groups[n.cfg.Group]
	}
	if found == "" {
		return "", errEmptyCertID
	}
	return found, nil
}

// attribute is one type and value of a name.
type attribute struct {
	Type  asn1.ObjectIdentifier
	Value asn1.RawValue
}

// attributeSET is one relative name. The suffix tells asn1 that it is a set.
type attributeSET []attribute

// keywords are the attribute types that have a name in RFC 2253; the others appear as their number.
var keywords = map[string]string{
	"2.5.4.3": "CN", "2.5.4.6": "C", "2.5.4.7": "L", "2.5.4.8": "ST", "2.5.4.9": "STREET", "2.5.4.10": "O",
	"2.5.4.11": "OU", "0.9.2342.19200300.100.1.1": "UID", "0.9.2342.19200300.100.1.25": "DC",
}

// subjectName returns a name as Java's X500Principal.getName prints it: RFC 2253, most specific part first, with
// Java's rules for escaping.
func subjectName(der []byte) (string, error) {
	var relative []attributeSET
	if rest, err := asn1.Unmarshal(der, &relative); err != nil || len(rest) > 0 {
		return "", errSubjectEncoding
	}
	var b strings.Builder
	for i := len(relative) - 1; i >= 0; i-- {
		for k := range relative[i] {
			switch {
			case k > 0:
				b.WriteByte('+')
			case b.Len() > 0:
				b.WriteByte(',')
			}
			writeAttribute(&b, &relative[i][k])
		}
	}
	return b.String(), nil
}

func writeAttribute(b *strings.Builder, a *attribute) {
	oid := a.Type.String()
	keyword, known := keywords[oid]
	b.WriteString(cmp.Or(keyword, oid))
	b.WriteByte('=')
	if !known || !isString(&a.Value) {
		b.WriteString("#" + hex.EncodeToString(a.Value.FullBytes))
		return
	}
	// Java reads every kind of string as UTF-8.
	b.WriteString(escapeName(strings.ToValidUTF8(string(a.Value.Bytes), "\ufffd")))
}

// stringTags are those of the values that Java prints as strings and not as their encoding.
var stringTags = []int{asn1.TagUTF8String, asn1.TagPrintableString, asn1.TagT61String, asn1.TagIA5String,
	asn1.TagGeneralString, asn1.TagBMPString}

func isString(v *asn1.RawValue) bool {
	return v.Class == asn1.ClassUniversal && slices.Contains(stringTags, v.Tag)
}

// escapeName escapes the special characters, the null character, and blanks at both ends.
func escapeName(value string) string {
	const blanks = " \r"
	begins := len(value) - len(strings.TrimLeft(value, blanks))
	ends := len(strings.TrimRight(value, blanks))
	var b strings.Builder
	for i, r := range value {
		switch {
		case r == 0:
			b.WriteString(`\00`)
			continue
		case i < begins || i >= ends || strings.ContainsRune(`,=+<>#;"\`, r):
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
