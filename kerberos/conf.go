package kerberos

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jcmturner/gokrb5/v8/config"
)

// Config is a krb5.conf: realms, their KDCs, and which hosts are in which realm.
type Config struct{ c *config.Config }

// DefaultConfigFile is the krb5.conf that is read if no other is named.
const DefaultConfigFile = "/etc/krb5.conf"

// Bounds of a krb5.conf with all files that it includes.
const (
	configBytesMax = 1 << 20
	configFilesMax = 256
)

// LoadConfig reads a krb5.conf. It reads the files that it includes, too, and merges a section that occurs twice,
// which the library does not do.
func LoadConfig(name string) (*Config, error) {
	r := configReader{sections: map[string][]string{}}
	if err := r.file(name); err != nil {
		return nil, fmt.Errorf("kerberos: %w", err)
	}
	var text strings.Builder
	hasLookup := false
	for _, section := range []string{"libdefaults", "realms", "domain_realm"} {
		text.WriteString("[" + section + "]\n")
		for _, line := range r.sections[section] {
			text.WriteString(line + "\n")
			hasLookup = hasLookup || strings.HasPrefix(strings.TrimSpace(line), "dns_lookup_kdc")
		}
	}
	c, err := config.NewFromString(text.String())
	if err != nil && !errors.As(err, new(config.UnsupportedDirective)) {
		return nil, fmt.Errorf("kerberos: %s: %w", name, err)
	}
	lib := &c.LibDefaults
	if !hasLookup {
		lib.DNSLookupKDC = true // as MIT and Java do for a realm without a KDC in the file
	}
	lib.DefaultTGSEnctypeIDs = allowed(text.String(), "default_tgs_enctypes", lib.DefaultTGSEnctypeIDs)
	lib.DefaultTktEnctypeIDs = allowed(text.String(), "default_tkt_enctypes", lib.DefaultTktEnctypeIDs)
	return &Config{c}, nil
}

// allowed returns the types of encryption that are used: those of the file, if it names any, without the broken ones.
func allowed(text, key string, named []int32) []int32 {
	if !strings.Contains(text, key) {
		return encryptions
	}
	return slices.DeleteFunc(slices.Clone(named), func(kind int32) bool { return keySize(kind) == 0 })
}

// DefaultRealm is the realm of names without one; "" if the file has none.
func (c *Config) DefaultRealm() string { return c.c.LibDefaults.DefaultRealm }

// realmOf returns the realm of a host; "" if the file does not say.
func (c *Config) realmOf(host string) string { return c.c.ResolveRealm(strings.ToLower(host)) }

// readFile reads a file. Of one that is larger than allowed it reads one byte too many.
func readFile(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most+1))
}

// configReader collects the lines of a file and of those that it includes, by section.
type configReader struct {
	sections map[string][]string
	bytes    int
	files    int
}

func (r *configReader) file(name string) error {
	text, err := readFile(name, configBytesMax)
	if err != nil {
		return err
	}
	r.files++
	if r.bytes += len(text); r.bytes > configBytesMax || r.files > configFilesMax {
		return fmt.Errorf("%s: more than %d bytes or %d files, with those that are included", name,
			configBytesMax, configFilesMax)
	}
	section := ""
	lines := bufio.NewScanner(bytes.NewReader(text)) // as the library reads them
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		verb, operand, _ := strings.Cut(line, " ")
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[':
			section, _, _ = strings.Cut(line[1:], "]")
		case verb == "include":
			err = r.file(strings.TrimSpace(operand))
		case verb == "includedir":
			err = r.directory(strings.TrimSpace(operand))
		default:
			r.sections[section] = append(r.sections[section], lines.Text())
		}
		if err != nil {
			return err
		}
	}
	if lines.Err() != nil { // the library would leave out the rest
		return fmt.Errorf("%s: a line of more than %d bytes", name, bufio.MaxScanTokenSize)
	}
	return nil
}

// directory includes the files of a directory whose names MIT takes: letters, digits, dashes and underscores, or the
// ending .conf.
func (r *configReader) directory(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		name := f.Name()
		isPlain := !strings.ContainsFunc(name, func(c rune) bool {
			return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_'
		})
		if f.IsDir() || name[0] == '.' || !isPlain && !strings.HasSuffix(name, ".conf") {
			continue
		}
		if err := r.file(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}
