package shell

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"
)

// TLSFiles say how connections are encrypted. Files are PEM.
type TLSFiles struct {
	CA         string // certificates that are trusted, "" for those of the system
	Cert       string // chain of the client's certificate, "" for none
	Key        string // its key, "" if it is in Cert
	ServerName string // that the server's certificate must bear, "" for the host of the connect string
	Insecure   bool   // the server's certificate is not checked
}

// pemBytes bounds a file of certificates.
const pemBytes = 16 << 20

// Config reads the files.
func (f TLSFiles) Config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: f.ServerName, InsecureSkipVerify: f.Insecure}
	if f.CA != "" {
		text, err := readPEM(f.CA)
		if err != nil {
			return nil, err
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("shell: %s has no certificate that can be read", f.CA)
		}
	}
	if f.Cert == "" {
		return c, nil
	}
	cert, err := readPEM(f.Cert)
	if err != nil {
		return nil, err
	}
	key := cert
	if f.Key != "" {
		if key, err = readPEM(f.Key); err != nil {
			return nil, err
		}
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("shell: certificate %s: %w", f.Cert, err)
	}
	c.Certificates = []tls.Certificate{pair}
	return c, nil
}

// readPEM reads a file and refuses other formats, with the way out of them.
func readPEM(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("shell: %w", err)
	}
	if info.Size() > pemBytes {
		return nil, fmt.Errorf("shell: %s has %d bytes, too many for certificates", name, info.Size())
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("shell: %w", err)
	}
	if !bytes.Contains(text, []byte("-----BEGIN ")) {
		return nil, fmt.Errorf("shell: %s is not PEM; convert PKCS12 with `openssl pkcs12 -in FILE -nodes`, and JKS "+
			"to PKCS12 with `keytool -importkeystore`", name)
	}
	return text, nil
}

// ReadClientConfiguration reads a file of zkCli.sh's -client-configuration: lines key=value, of which those for TLS
// count. It returns nil if TLS is not asked for. Source: operations 5.1 and 8.2.
func ReadClientConfiguration(text string) (*TLSFiles, error) {
	var f TLSFiles
	isSecure := false
	err := eachSetting(text, func(number int, key, value string) error {
		switch key {
		case "zookeeper.client.secure":
			isSecure = strings.EqualFold(value, "true")
		case "zookeeper.ssl.keyStore.location":
			f.Cert = value
		case "zookeeper.ssl.trustStore.location":
			f.CA = value
		case "zookeeper.ssl.hostnameVerification":
			if !strings.EqualFold(value, "true") {
				return fmt.Errorf("shell: line %d of the client configuration: %s cannot be switched off alone; "+
					"name the host with --tls-server-name", number, key)
			}
		case "zookeeper.ssl.keyStore.password", "zookeeper.ssl.trustStore.password":
			if value != "" {
				return fmt.Errorf("shell: line %d of the client configuration: %s: stores with a password cannot be "+
					"read; use PEM without", number, key)
			}
		}
		return nil
	})
	if err != nil || !isSecure {
		return nil, err
	}
	return &f, nil
}

// eachSetting calls read for each line key=value of a client configuration, with its number, until read fails.
func eachSetting(text string, read func(number int, key, value string) error) error {
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			return fmt.Errorf("shell: line %d of the client configuration is not key=value", number)
		}
		if err := read(number, strings.TrimSpace(key), strings.TrimSpace(value)); err != nil {
			return err
		}
	}
	return nil
}
