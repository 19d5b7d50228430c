package shell

import (
	"bytes"
	"cmp"
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
	CABy       string // the setting that names CA, "" if the flag does
	Cert       string // chain of the client's certificate, "" for none
	CertBy     string // the setting that names Cert, "" if the flag does
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
		c.RootCAs = x509.NewCertPool()
		if err == nil && !c.RootCAs.AppendCertsFromPEM(text) {
			err = errors.New("it has no certificate that can be read")
		}
		if err != nil {
			return nil, wording.File(cmp.Or(f.CABy, "--tls-ca"), f.CA, err)
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
		return nil, wording.File(cmp.Or(f.CertBy, "--tls-cert"), f.Cert, err)
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
	by, file := cmp.Or(f.CertBy, "--tls-cert"), f.Cert
	switch {
	case !bytes.Contains(cert, []byte(begin+"CERTIFICATE-----")):
		err = errors.New("it has no certificate")
	case !bytes.Contains(key, []byte("PRIVATE KEY-----")) && f.Key != "":
		by, file, err = "--tls-key", f.Key, errors.New("it has no private key")
	case !bytes.Contains(key, []byte("PRIVATE KEY-----")) && f.CertBy != "":
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

// TLSOf returns what the settings of a client say of TLS; nil if they do not ask for it. Source: operations 5.1 and
// 8.2.
func TLSOf(settings []Setting) (*TLSFiles, error) {
	if !strings.EqualFold(setting(settings, "zookeeper.client.secure").Value, "true") {
		return nil, nil
	}
	s := setting(settings, "zookeeper.ssl.hostnameVerification")
	if s.Key != "" && !strings.EqualFold(s.Value, "true") {
		return nil, s.wrong("cannot be switched off: certificates must name the servers as they are asked; " +
			"warren shell has --tls-server-name for another name")
	}
	for _, store := range []string{"keyStore", "trustStore"} {
		if s := setting(settings, "zookeeper.ssl."+store+".password"); s.Value != "" {
			return nil, s.wrong("stores with a password cannot be read; use PEM without")
		}
	}
	cert, ca := setting(settings, "zookeeper.ssl.keyStore.location"), setting(settings,
		"zookeeper.ssl.trustStore.location")
	return &TLSFiles{Cert: cert.Value, CertBy: cert.by(), CA: ca.Value, CABy: ca.by()}, nil
}
