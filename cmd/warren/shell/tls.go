package shell

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/seed94657493/warren/cmd/warren/wording"
)

// TLSFiles say how connections are encrypted. Files are PEM.
type TLSFiles struct {
	CA         string // certificates that are trusted, "" for those of the system
	Cert       string // chain of the client's certificate, "" for none
	Key        string // its key, "" if it is in Cert
	ServerName string // that the server's certificate must bear, "" for the host of the connect string
	Insecure   bool   // the server's certificate is not checked
	Settings   string // the client configuration that names the files; "" if flags do
}

// by is what names one of the files.
func (f *TLSFiles) by(flag, key string) string {
	if f.Settings != "" {
		return f.Settings + ": " + key
	}
	return flag
}

// pemBytes bounds a file of certificates.
const pemBytes = 16 << 20

// Config reads the files.
func (f TLSFiles) Config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: f.ServerName, InsecureSkipVerify: f.Insecure}
	if f.CA != "" {
		text, err := readPEM(f.CA)
		c.RootCAs = x509.NewCertPool()
		if err == nil && !c.RootCAs.AppendCertsFromPEM(text) {
			err = errors.New("it has no certificate that can be read")
		}
		if err != nil {
			return nil, wording.File(f.by("--tls-ca", "zookeeper.ssl.trustStore.location"), f.CA, err)
		}
	}
	if f.Cert == "" {
		if f.Key != "" {
			return nil, errors.New("shell: --tls-key needs --tls-cert, the certificate of the key")
		}
		return c, nil
	}
	cert, err := readPEM(f.Cert)
	if err != nil {
		return nil, wording.File(f.by("--tls-cert", "zookeeper.ssl.keyStore.location"), f.Cert, err)
	}
	key := cert
	if f.Key != "" {
		if key, err = readPEM(f.Key); err != nil {
			return nil, wording.File("--tls-key", f.Key, err)
		}
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, f.unpaired(cert, key, err)
	}
	c.Certificates = []tls.Certificate{pair}
	return c, nil
}

// unpaired says why a certificate and a key, each from a file in PEM, cannot be used together.
func (f *TLSFiles) unpaired(cert, key []byte, err error) error {
	const begin = "-----BEGIN "
	by, file := f.by("--tls-cert", "zookeeper.ssl.keyStore.location"), f.Cert
	switch {
	case !bytes.Contains(cert, []byte(begin+"CERTIFICATE-----")):
		err = errors.New("it has no certificate")
	case !bytes.Contains(key, []byte("PRIVATE KEY-----")) && f.Key != "":
		by, file, err = "--tls-key", f.Key, errors.New("it has no private key")
	case !bytes.Contains(key, []byte("PRIVATE KEY-----")) && f.Settings != "":
		err = errors.New("it has no private key")
	case !bytes.Contains(key, []byte("PRIVATE KEY-----")):
		err = errors.New("it has no private key: name the file that has it with --tls-key")
	case strings.Contains(err.Error(), "does not match"):
		err = errors.New("the private key is not the one of this certificate")
	}
	return wording.File(by, file, err)
}

// readPEM reads a file and refuses other formats, with the way out of them.
func readPEM(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > pemBytes {
		return nil, fmt.Errorf("it has %d bytes, too many for certificates", info.Size())
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if !bytes.Contains(text, []byte("-----BEGIN ")) {
		return nil, errors.New("it is not PEM; convert PKCS12 with `openssl pkcs12 -in FILE -nodes`, and JKS to " +
			"PKCS12 with `keytool -importkeystore`")
	}
	return text, nil
}

// ReadClientConfiguration reads the text of a file of zkCli.sh's -client-configuration: lines key=value, of which
// those for TLS count. It returns nil if TLS is not asked for. Source: operations 5.1 and 8.2.
func ReadClientConfiguration(file, text string) (*TLSFiles, error) {
	f := TLSFiles{Settings: file}
	isSecure := false
	var refused error // if TLS is asked for
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
				refused = fmt.Errorf("shell: line %d: %s cannot be switched off: certificates must name the servers "+
					"as they are asked; warren shell has --tls-server-name for another name", number, key)
			}
		case "zookeeper.ssl.keyStore.password", "zookeeper.ssl.trustStore.password":
			if value != "" {
				refused = fmt.Errorf("shell: line %d: %s: stores with a password cannot be read; use PEM "+
					"without", number, key)
			}
		}
		return nil
	})
	switch {
	case err != nil || !isSecure:
		return nil, err
	case refused != nil:
		return nil, refused
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
			return fmt.Errorf("shell: line %d is not key=value", number)
		}
		if err := read(number, strings.TrimSpace(key), strings.TrimSpace(value)); err != nil {
			return err
		}
	}
	return nil
}
