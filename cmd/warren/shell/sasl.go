package shell

import (
	"cmp"
	"fmt"
	"io"
	"os"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/server/sasl"
)

// Login says how sessions authenticate by SASL.
type Login struct {
	File    string // JAAS file, "" for none
	Section string // its section for the client, "" for Client
}

// defaultSection is the section of a JAAS file that ZooKeeper's clients read.
const defaultSection = "Client"

// ReadSettings takes what a file of zkCli.sh's -client-configuration, or its flags for Java, say of SASL. Source:
// operations 8.4.
func (l *Login) ReadSettings(text string) error {
	return eachSetting(text, func(_ int, key, value string) error {
		switch key {
		case "java.security.auth.login.config":
			l.File = value
		case "zookeeper.sasl.clientconfig":
			l.Section = value
		}
		return nil
	})
}

// Or returns the login with what other says where it says nothing.
func (l Login) Or(other Login) Login {
	return Login{File: cmp.Or(l.File, other.File), Section: cmp.Or(l.Section, other.Section)}
}

// SASL reads the file and returns the mechanism that its section asks for; nil without a file.
func (l Login) SASL() (client.SASL, error) {
	if l.File == "" {
		return nil, nil
	}
	if l.Section == "" {
		l.Section = defaultSection
	}
	f, err := os.Open(l.File)
	if err != nil {
		return nil, fmt.Errorf("shell: JAAS file: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, sasl.JAASBytesMax+1))
	if err != nil {
		return nil, fmt.Errorf("shell: JAAS file %s: %w", l.File, err)
	}
	jaas, err := sasl.ParseJAAS(text)
	if err != nil {
		return nil, fmt.Errorf("shell: %s: %w", l.File, err)
	}
	user, password, err := jaas.Credentials(l.Section)
	if err != nil {
		return nil, fmt.Errorf("shell: %s: %w", l.File, err)
	}
	return client.DigestMD5(user, password), nil
}
