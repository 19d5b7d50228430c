package keystore

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/test/pki"
	"github.com/seed94657493/warren/wal/vfs"
)

// The files of testdata were made by keytool of OpenJDK 17 and by OpenSSL 3.0.
func TestIdentitiesMadeByOthers(t *testing.T) {
	for name, want := range map[string]string{
		"java.jks": "CN=golden,O=Warren", "java.p12": "CN=golden", "openssl.p12": "CN=openssl",
		"cafirst.p12": "CN=golden", // keytool has imported the certificate of a CA before it made the key
		"calast.p12":  "CN=golden", // and after it
		"aes256.pem":  "CN=openssl", "aes192.pem": "CN=openssl", "aes128sha1.pem": "CN=openssl",
		"des3.pem": "CN=openssl", "sec1.pem": "CN=openssl",
		"md5des.pem": "CN=openssl", "sha1des.pem": "CN=openssl", "sha1des3.pem": "CN=openssl",
		"des2.pem": "CN=openssl", "java-md5des.pem": "CN=openssl", "java-des3.pem": "CN=openssl",
		"wide.pem": "CN=openssl",
	} {
		t.Run(name, func(t *testing.T) {
			s := &config.Store{Location: filepath.Join("testdata", name), Password: "changeit"}
			if name == "java.jks" {
				s.Password = "pass wörd"
			}
			if name == "wide.pem" { // more than one block of the hash, and not ASCII alone
				s.Password = "pass wörd, und lang genug für mehr als einen Block von 64"
			}
			require.Equal(t, want, must.Do(loadIdentity(vfs.OS(), s))(t).Leaf.Subject.String())

			s.Password += "x"
			_, err := loadIdentity(vfs.OS(), s)
			if name == "sec1.pem" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, "password")
			require.ErrorContains(t, err, name)
			require.NotContains(t, err.Error(), string(s.Password))
		})
	}
}

func TestTrustStoresMadeByOthers(t *testing.T) {
	for name, want := range map[string]string{
		"trust.jks": "CN=golden", "trust.p12": "CN=golden", "java.p12": "CN=golden",
	} {
		c, err := loadTrust(vfs.OS(), &config.Store{Location: filepath.Join("testdata", name), Password: "changeit"})
		require.NoError(t, err)
		require.Len(t, c.trusted, 1)
		require.Equal(t, want, c.trusted[0].Subject.String())
	}
	// As Java's TrustManagerFactory: with a key, the certificates that are marked and that of the key, not its chain.
	// In calast.p12 the key has a chain of CN=golden, CN=inter and CN=root, and keytool has imported CN=ca after it.
	for _, name := range []string{"cafirst.p12", "calast.p12"} {
		both := &config.Store{Location: filepath.Join("testdata", name), Password: "changeit"}
		c := must.Do(loadTrust(vfs.OS(), both))(t)
		require.Len(t, c.trusted, 2, name)
		require.Equal(t, "CN=ca", c.trusted[0].Subject.String())
		require.Equal(t, "CN=golden", c.trusted[1].Subject.String())
	}
}

// keytool writes PKCS12 into files that are called .jks.
func TestBinaryFormatIsFoundOut(t *testing.T) {
	for _, format := range []string{"JKS", "PKCS12"} {
		for _, name := range []string{"java.p12", "trust.p12", "trust.jks"} {
			_, err := forIdentity.load(vfs.OS(),
				&config.Store{Location: filepath.Join("testdata", name), Password: "changeit", Type: format})
			require.NoError(t, err, "%s as %s", name, format)
		}
	}
}

func TestStoresThatAreRefused(t *testing.T) {
	ca := pki.NewCA("ca")
	one, other := ca.Issue(pki.Options{Name: "one"}), ca.Issue(pki.Options{Name: "other"})
	read := func(name string) []byte {
		return must.ReadFile(t, filepath.Join("testdata", name))
	}
	for name, c := range map[string]struct {
		data []byte
		file string
		want string
	}{
		"empty":          {nil, "a.pem", "no PEM block"},
		"no key":         {ca.PEM(), "a.pem", "no private key"},
		"two keys":       {append(one.PEM(), other.PEM()...), "a.pem", "more than one private key"},
		"other key":      {append(other.PEM()[:241], ca.PEM()...), "a.pem", "not the one of the first certificate"},
		"cut off":        {read("java.jks")[:400], "a.jks", "wrong password, or it was changed"},
		"not JKS":        {[]byte("hello"), "a.jks", "neither PEM, PKCS12 nor JKS"},
		"JCEKS":          {read("java.jceks"), "a.jks", "another Java provider"},
		"RC2":            {read("rc2.pem"), "a.pem", "in a way that is not supported"},
		"RC4":            {read("rc4.pem"), "a.pem", "in a way that is not supported"},
		"old OpenSSL":    {read("old.pem"), "a.pem", "Proc-Type"},
		"garbage PKCS12": {[]byte{0x30, 0x03, 1, 2, 3}, "a.p12", "pkcs12"},
		"trust as key":   {read("trust.jks"), "a.jks", "no private key"},
		"bad certificate": {[]byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), "a.pem",
			"block 1 (CERTIFICATE)"},
		"too large": {make([]byte, fileBytesMax+1), "a.pem", "larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			fs := memory(t, map[string][]byte{c.file: c.data})
			_, err := loadIdentity(fs, &config.Store{Location: "/" + c.file, Password: "changeit"})
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, c.file)
			require.NotContains(t, err.Error(), "changeit")
		})
	}
	require.ErrorIs(t, must.Err(loadIdentity(vfs.NewMem(), &config.Store{Location: "/none.pem"})), os.ErrNotExist)
}

func TestPasswordFile(t *testing.T) {
	fs := memory(t, map[string][]byte{"s": read(t, "aes256.pem"), "unix": []byte("changeit\n"),
		"dos": []byte("changeit\r\n"), "wrong": []byte("x")})
	for name, ok := range map[string]bool{"unix": true, "dos": true, "wrong": false, "missing": false} {
		_, err := loadIdentity(fs,
			&config.Store{Location: "/s", Type: "PEM", Password: "other", PasswordPath: "/" + name})
		require.Equal(t, ok, err == nil, "%s: %v", name, err)
	}
}

func read(t testing.TB, name string) []byte {
	return must.ReadFile(t, filepath.Join("testdata", name))
}

// memory is a filesystem with files in its root.
func memory(t testing.TB, files map[string][]byte) *vfs.Mem {
	t.Helper()
	fs := vfs.NewMem()
	for name, data := range files {
		write(t, fs, "/"+name, data)
	}
	return fs
}

func write(t testing.TB, fs vfs.FS, name string, data []byte) {
	t.Helper()
	f := must.Do(fs.Create(name))(t)
	must.Do(f.Write(data))(t)
	require.NoError(t, f.Close())
}

func FuzzDecode(f *testing.F) {
	names := must.Glob(f, "testdata/*.*")
	for _, name := range names {
		data := must.ReadFile(f, name)
		f.Add(data, "changeit")
	}
	f.Fuzz(func(t *testing.T, data []byte, password string) {
		for _, format := range []string{"PEM", "JKS"} {
			c, err := decode(data, format, password)
			if err != nil {
				continue
			}
			for _, x := range append(c.chain, c.trusted...) {
				require.NotNil(t, x)
			}
		}
	})
}

// FuzzJKSBody gives the entries a hash that fits, so that what is behind it is reached.
func FuzzJKSBody(f *testing.F) {
	for _, name := range []string{"java.jks", "trust.jks"} {
		data := must.ReadFile(f, "testdata/"+name)
		f.Add(data[:len(data)-20])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		_, _ = decodeJKS(sealJKS(body, "changeit"), "changeit")
	})
}

func FuzzPKCS8(f *testing.F) {
	for _, name := range []string{"aes256.pem", "des3.pem", "md5des.pem", "sha1des3.pem", "rc2.pem"} {
		f.Add(blockOf(f, read(f, name)))
	}
	f.Fuzz(func(t *testing.T, der []byte) {
		if plain, err := decryptPKCS8(der, "changeit"); err == nil {
			_, _ = parseKey(plain)
		}
	})
}
