package security

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/internal/sasl"
	"github.com/seed94657493/warren/kerberos"
	"github.com/seed94657493/warren/wal/vfs"
)

// Tickets makes the sides of Kerberos that sections of a JAAS file ask for.
type Tickets struct {
	FS  vfs.FS
	Log *zap.Logger
	// Now is the time by which tickets are judged.
	Now func() time.Time
	// Config is the krb5.conf; "" for the usual one. Key java.security.krb5.conf.
	Config string
	// Host is what _HOST in a principal stands for; "" for the name of this machine.
	Host string
}

// Realm returns the default realm of the krb5.conf. The file may be missing if no key names it.
func (t *Tickets) Realm() (string, error) {
	conf, err := kerberos.LoadConfig(cmp.Or(t.Config, kerberos.DefaultConfigFile))
	if errors.Is(err, os.ErrNotExist) && t.Config == "" {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("server: krb5.conf: %w", err)
	}
	return conf.DefaultRealm(), nil
}

// principal returns the principal of a section, with a host in place of _HOST.
func (t *Tickets) principal(text string) (p kerberos.Principal, err error) {
	if p, err = kerberos.ParsePrincipal(text); err != nil {
		return p, err
	}
	if p.Realm == "" {
		realm, err := t.Realm()
		if err != nil {
			return p, err
		}
		if p = p.In(realm); p.Realm == "" {
			return p, fmt.Errorf("server: principal %s has no realm, and there is no krb5.conf with a default_realm",
				p)
		}
	}
	host := t.Host
	if host == "" {
		if host, err = os.Hostname(); err != nil {
			return p, fmt.Errorf("server: principal %s: %w", p, err)
		}
	}
	return p.At(host), nil
}

// Accept returns the accepting side of a section. It needs a keytab and no KDC.
func (t *Tickets) Accept(k *sasl.Kerberos) (*kerberos.Acceptor, error) {
	if k.Keytab == "" {
		return nil, errors.New("server: the principal of a server needs a keytab: useKeyTab=true and keyTab")
	}
	service, err := t.principal(k.Principal)
	if err != nil {
		return nil, err
	}
	if service.Host() == "" {
		return nil, fmt.Errorf("server: principal %s is not a service, which has the form zookeeper/host@REALM",
			service)
	}
	f := &keytabFile{tickets: t, name: k.Keytab, service: service, looked: t.Now()}
	if f.keys, err = f.read(); err != nil {
		return nil, err
	}
	return kerberos.NewAcceptor(service, f.current, t.Now), nil
}

// Login returns the connecting side of a section. It asks no KDC yet.
func (t *Tickets) Login(k *sasl.Kerberos) (*kerberos.Login, error) {
	o := kerberos.LoginOptions{Keytab: k.Keytab, TicketCache: strings.TrimPrefix(k.TicketCache, "FILE:"),
		Config: t.Config}
	if k.Principal != "" {
		p, err := t.principal(k.Principal)
		if err != nil {
			return nil, err
		}
		o.Principal = p.String()
	}
	return kerberos.NewLogin(o)
}

// keytabInterval is how often a keytab is looked at again, at most, while clients authenticate.
const keytabInterval = 5 * time.Second

// keytabFile is a keytab that can be replaced while the server runs.
type keytabFile struct {
	tickets *Tickets
	name    string
	service kerberos.Principal

	mu     sync.Mutex
	keys   *kerberos.Keytab
	looked time.Time
}

// current returns the keys. It reads the file again if that was some time ago; others use the old keys meanwhile. If
// the file is no keytab any more, the old keys stay in use.
func (f *keytabFile) current() *kerberos.Keytab {
	f.mu.Lock()
	keys, now := f.keys, f.tickets.Now()
	age := now.Sub(f.looked)
	isDue := age >= keytabInterval || age < 0
	if isDue {
		f.looked = now
	}
	f.mu.Unlock()
	if !isDue {
		return keys
	}
	fresh, err := f.read()
	if err != nil {
		f.tickets.Log.Error("the keytab cannot be used: the keys that were read before stay in use",
			zap.String("file", f.name), zap.Error(err))
		return keys
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keys = fresh
	return fresh
}

// read reads the file, which must have a key of the service.
func (f *keytabFile) read() (*kerberos.Keytab, error) {
	b, err := vfs.ReadFile(f.tickets.FS, f.name, kerberos.KeytabBytesMax)
	if err != nil {
		return nil, fmt.Errorf("server: keytab: %w", err)
	}
	keys, err := kerberos.ParseKeytab(b)
	if err == nil {
		err = keys.Check(f.service)
	}
	if err != nil {
		return nil, fmt.Errorf("server: %s: %w", f.name, err)
	}
	return keys, nil
}
