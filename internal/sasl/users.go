package sasl

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"strings"
)

// The login modules that a section may name.
const (
	// digestModule is the class of users with passwords.
	digestModule = "org.apache.zookeeper.server.auth.DigestLoginModule"
	krb5Module   = "Krb5LoginModule"
)

// ErrNoSection is returned when a JAAS file lacks the requested section.
var ErrNoSection = errors.New("the section is missing")

// Users holds the passwords of one section, by the names of the users. It does not change.
type Users map[string]string

// Users returns the users of a section, which are its options user_<name>="<password>". Every module of the
// section counts. It returns ErrNoSection, or an error if the section asks for anything other than names and
// passwords.
func (j JAAS) Users(section string) (Users, error) {
	modules, ok := j[section]
	if !ok {
		return nil, fmt.Errorf("sasl: JAAS section %s: %w", section, ErrNoSection)
	}
	u := Users{}
	for _, m := range modules {
		if err := supported(section, &m); err != nil {
			return nil, err
		}
		for key, value := range m.Options {
			if name, ok := strings.CutPrefix(key, "user_"); ok {
				u[name] = value
			}
		}
	}
	return u, nil
}

func supported(section string, m *Module) error {
	switch {
	case m.Class == digestModule:
		return nil
	case m.isKerberos():
		return fmt.Errorf("sasl: JAAS section %s: it is for Kerberos, not for names and passwords", section)
	}
	return fmt.Errorf("sasl: JAAS section %s: login module %s is not known", section, m.Class)
}

// With returns the users and one more, whose password is replaced if the name exists.
func (u Users) With(name, password string) Users {
	more := maps.Clone(u)
	more[name] = password
	return more
}

// Credentials returns the name and password with which a section connects: its options username and password.
func (j JAAS) Credentials(section string) (name, password string, err error) {
	modules, ok := j[section]
	if !ok {
		return "", "", fmt.Errorf("sasl: JAAS section %s: %w", section, ErrNoSection)
	}
	for _, m := range modules {
		if err := supported(section, &m); err != nil {
			return "", "", err
		}
		if name, ok = m.Options["username"]; ok {
			return name, m.Options["password"], nil
		}
	}
	return "", "", fmt.Errorf("sasl: JAAS section %s: it has no option username", section)
}

// NewNonce returns the random text of one exchange: 30 bytes in 40 characters, as in Java.
func NewNonce() string {
	var b [30]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.StdEncoding.EncodeToString(b[:])
}

// Kerberos is what a section with Krb5LoginModule says of the principal that a side is.
type Kerberos struct {
	// Principal is the name, with or without a realm; empty is the owner of the ticket cache.
	Principal string
	// Keytab is the file with its keys; "" for none.
	Keytab string
	// TicketCache is the file with its tickets, if there is no keytab; "" for the one that kinit writes.
	TicketCache string
}

func (m *Module) isKerberos() bool { return strings.HasSuffix(m.Class, krb5Module) }

func (m *Module) isTrue(option string) bool { return strings.EqualFold(m.Options[option], "true") }

// Kerberos returns what a section says for Kerberos; nil if it is not for that. As in ZooKeeper a section that has
// both is for Kerberos, and its users with passwords do not count. It returns ErrNoSection, or an error for a
// section that has nothing to log in with.
func (j JAAS) Kerberos(section string) (*Kerberos, error) {
	modules, ok := j[section]
	if !ok {
		return nil, fmt.Errorf("sasl: JAAS section %s: %w", section, ErrNoSection)
	}
	for i := range modules {
		m := &modules[i]
		if !m.isKerberos() {
			continue
		}
		k := &Kerberos{Principal: m.Options["principal"], TicketCache: m.Options["ticketCache"]}
		switch {
		case m.isTrue("useKeyTab"):
			if k.Keytab = strings.TrimPrefix(m.Options["keyTab"], "FILE:"); k.Keytab == "" || k.Principal == "" {
				return nil, fmt.Errorf("sasl: JAAS section %s: useKeyTab=true needs the options keyTab and principal",
					section)
			}
		case !m.isTrue("useTicketCache"):
			return nil, fmt.Errorf("sasl: JAAS section %s: neither useKeyTab nor useTicketCache is true, so there "+
				"is nothing to log in with", section)
		}
		return k, nil
	}
	return nil, nil
}
