package keystore

import (
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed94657493/warren/server/config"
)

// versions are Java's names of the protocol versions that are served. Older ones are left out with a warning.
var versions = map[string]uint16{"TLSv1.2": tls.VersionTLS12, "TLSv1.3": tls.VersionTLS13}

// oldVersions are Java's names of versions that are not served because they are broken, and of entries that are
// no version.
var oldVersions = []string{"TLSv1", "TLSv1.1", "SSLv3", "SSLv2Hello"}

// cipherChoice holds the versions and cipher suites of a context.
type cipherChoice struct {
	min, max uint16
	suites   []uint16 // of TLS 1.2; nil for the library's default
	warnings []string
}

// chooseCiphers maps Java's names. The suites of TLS 1.3 cannot be chosen one by one: all of them are good. But a
// list that names none of them switches the version off, and one that names only them switches TLS 1.2 off, as in
// Java.
func chooseCiphers(cfg *config.TLS) (*cipherChoice, error) {
	c := &cipherChoice{min: tls.VersionTLS12, max: tls.VersionTLS13}
	names := cfg.EnabledProtocols
	if len(names) == 0 && cfg.Protocol != "" && cfg.Protocol != "TLS" {
		names = []string{cfg.Protocol}
	}
	if err := c.protocols(names); err != nil {
		return nil, err
	}
	if err := c.ciphers(cfg.CipherSuites); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *cipherChoice) protocols(names []string) error {
	if len(names) == 0 {
		return nil
	}
	var chosen []uint16
	for _, name := range names {
		switch v, ok := versions[name]; {
		case ok:
			chosen = append(chosen, v)
		case slices.Contains(oldVersions, name):
			c.warnings = append(c.warnings, "protocol "+name+" is left out: it is broken")
		default:
			return fmt.Errorf("keystore: protocol %q is not known", name)
		}
	}
	if len(chosen) == 0 {
		return errors.New("keystore: none of the protocols can be served: use TLSv1.2 or TLSv1.3")
	}
	c.min, c.max = slices.Min(chosen), slices.Max(chosen)
	return nil
}

func (c *cipherChoice) ciphers(names []string) error {
	if len(names) == 0 {
		return nil
	}
	has13 := false
	for _, name := range names {
		suite := cipherSuite(name)
		switch {
		case suite == nil:
			c.warnings = append(c.warnings,
				"cipher suite "+name+" is left out: it is not known, weak, or not implemented")
		case slices.Contains(suite.SupportedVersions, tls.VersionTLS13):
			has13 = true
		default:
			c.suites = append(c.suites, suite.ID)
		}
	}
	if !has13 {
		c.max = min(c.max, tls.VersionTLS12)
	}
	if len(c.suites) == 0 {
		c.min = max(c.min, tls.VersionTLS13)
	}
	if c.min > c.max {
		return errors.New("keystore: none of the cipher suites can be used with the enabled protocols")
	}
	return nil
}

// cipherSuite finds a suite by its IANA name. Java uses the same names, except for an older prefix.
func cipherSuite(name string) *tls.CipherSuite {
	name = strings.Replace(strings.TrimSpace(name), "SSL_", "TLS_", 1)
	for _, s := range tls.CipherSuites() {
		if s.Name == name {
			return s
		}
	}
	return nil
}
