package shell

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/internal/sasl"
	"github.com/seed94657493/warren/kerberos"
)

// Login says how sessions authenticate by SASL.
type Login struct {
	File     string // JAAS file, "" for none
	By       string // the flag or the setting that names the file
	Section  string // its section for the client, "" for Client
	Tickets  bool   // without a file: Kerberos, with the tickets of kinit
	Server   string // Kerberos principal of the servers, where _HOST is the host; "" for zookeeper/_HOST
	Realm    string // of the servers, if Server has none; "" for that of the krb5.conf
	Krb5Conf string // "" for the usual one
}

// defaultSection is the section of a JAAS file that ZooKeeper's clients read.
const defaultSection = "Client"

// LoginOf returns what the settings of a client say of SASL. Source: operations 8.4.
func LoginOf(settings []Setting) Login {
	value := func(key string) string { return setting(settings, key).Value }
	if s := setting(settings, "zookeeper.sasl.client"); s.Key != "" && !strings.EqualFold(s.Value, "true") {
		return Login{} // it is switched off
	}
	file := setting(settings, "java.security.auth.login.config")
	l := Login{File: file.Value, By: file.by(), Section: value("zookeeper.sasl.clientconfig"),
		Server: value("zookeeper.server.principal"), Realm: value("zookeeper.server.realm"),
		Krb5Conf: value("java.security.krb5.conf")}
	if user := value("zookeeper.sasl.client.username"); l.Server == "" && user != "" {
		l.Server = user + "/_HOST"
	}
	return l
}

// Or returns the login with what other says where it says nothing.
func (l Login) Or(other Login) Login {
	by := l.By
	if l.File == "" {
		by = other.By
	}
	return Login{File: cmp.Or(l.File, other.File), By: by, Section: cmp.Or(l.Section, other.Section),
		Tickets: l.Tickets || other.Tickets, Server: cmp.Or(l.Server, other.Server),
		Realm: cmp.Or(l.Realm, other.Realm), Krb5Conf: cmp.Or(l.Krb5Conf, other.Krb5Conf)}
}

// SASL reads the file and returns the mechanism that its section asks for; nil without a file and without tickets.
func (l Login) SASL() (client.SASL, error) {
	switch {
	case l.Tickets:
		return l.kerberos(&sasl.Kerberos{})
	case l.File == "":
		return nil, nil
	}
	l.Section = cmp.Or(l.Section, defaultSection)
	jaas, err := readJAAS(l.File)
	if err != nil {
		return nil, wording.File(l.By, l.File, err)
	}
	k, err := jaas.Kerberos(l.Section)
	if err == nil && k != nil {
		return l.kerberos(k)
	}
	if err != nil {
		return nil, wording.File(l.By, l.File, err)
	}
	user, password, err := jaas.Credentials(l.Section)
	if err != nil {
		return nil, wording.File(l.By, l.File, err)
	}
	return client.DigestMD5(user, password), nil
}

func readJAAS(file string) (sasl.JAAS, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, sasl.JAASBytesMax+1))
	if err != nil {
		return nil, err
	}
	return sasl.ParseJAAS(text)
}

// kerberos returns the mechanism that shows tickets of a principal.
func (l Login) kerberos(k *sasl.Kerberos) (client.SASL, error) {
	server, err := kerberos.ParsePrincipal(cmp.Or(l.Server, "zookeeper/_HOST"))
	if err != nil {
		return nil, fmt.Errorf("shell: the principal of the servers: %w", err)
	}
	server = server.In(l.Realm)
	login, err := kerberos.NewLogin(kerberos.LoginOptions{Principal: k.Principal, Keytab: k.Keytab,
		TicketCache: k.TicketCache, Config: l.Krb5Conf})
	if err != nil {
		return nil, fmt.Errorf("shell: %w", err)
	}
	return func(host string) client.Exchange { return login.Initiate(server.At(host).String()) }, nil
}
