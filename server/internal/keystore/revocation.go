package keystore

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

var (
	errRevoked = errors.New("keystore: the certificate has been revoked")
	errNoList  = errors.New("keystore: there is no current revocation list of the issuer")
)

// checkRevocation checks each certificate of a chain, leaf first, except the last one, which is trusted by
// itself.
func checkRevocation(chain []*x509.Certificate, lists []*x509.RevocationList, now time.Time) error {
	for i, x := range chain[:len(chain)-1] {
		if err := checkOne(x, chain[i+1], lists, now); err != nil {
			return fmt.Errorf("%w: %q, issued by %q", err, x.Subject, x.Issuer)
		}
	}
	return nil
}

// checkOne looks a certificate up in every current list of its issuer; there must be one.
func checkOne(x, issuer *x509.Certificate, lists []*x509.RevocationList, now time.Time) error {
	found := false
	for _, l := range lists {
		if !bytes.Equal(l.RawIssuer, issuer.RawSubject) || l.CheckSignatureFrom(issuer) != nil {
			continue
		}
		// The entries of an expired list are still valid.
		for i := range l.RevokedCertificateEntries {
			if l.RevokedCertificateEntries[i].SerialNumber.Cmp(x.SerialNumber) == 0 {
				return errRevoked
			}
		}
		if !now.Before(l.ThisUpdate) && (l.NextUpdate.IsZero() || now.Before(l.NextUpdate)) {
			found = true
		}
	}
	if !found {
		return errNoList
	}
	return nil
}
