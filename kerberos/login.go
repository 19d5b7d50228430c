package kerberos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
	"weak"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/krberror"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// LoginOptions are the principal of the initiating side, and how it proves that to a KDC: by a keytab, by a
// password, or by the tickets that kinit has left in a cache.
type LoginOptions struct {
	// Principal is the user or service, with or without a realm. It may be empty with a ticket cache: then it is the
	// owner of the cache.
	Principal string
	// Keytab is a file with the keys of Principal. It is read again for each ticket of the KDC, so it can be
	// replaced.
	Keytab string
	// Password is used if there is no keytab.
	Password string
	// TicketCache is the file that is used if there is neither: by default that of KRB5CCNAME, or kinit's own. It is
	// read again for each ticket of the KDC, so kinit can be run at any time. Its ticket is renewed as long as the
	// KDC allows that, and the file stays as it is.
	TicketCache string
	// Config is the krb5.conf: by default that of KRB5_CONFIG, or /etc/krb5.conf.
	Config string
	// Timeout bounds the wait for a KDC; default 5s. After it Initiator.Next fails with an error that is temporary.
	Timeout time.Duration
}

// Login gets tickets, and keeps them: it asks a KDC when it has no ticket for a service, and for the next one when
// four fifths of the life of that ticket are over, whether it is used meanwhile or not. While the KDC does not
// answer it asks again every minute, and uses the old ticket as long as that is valid. A login need not be closed: it
// stops when its owner has no reference to it any more.
type Login struct {
	o     LoginOptions
	owner Principal // the zero value before a ticket cache was read
	conf  *Config

	mu      sync.Mutex
	held    map[string]ticket      // by service
	fetches map[string]*fetch      // that are under way, by service
	timers  map[string]*time.Timer // of the next fetch, by service

	kdc    sync.Mutex // held by the one goroutine that talks with a KDC; it guards what follows
	tgt    ticket     // the ticket for tickets
	missed bool       // no KDC has renewed tgt at the last attempt
	cache  []cached   // the ticket cache
}

// fetch is a ticket that a KDC was asked for.
type fetch struct {
	done   chan struct{} // closed when the KDC has answered
	ticket ticket
	err    error
}

// ticket is a ticket with the key that it was given out with, and its owner.
type ticket struct {
	owner       Principal
	ticket      messages.Ticket
	key         types.EncryptionKey
	from, until time.Time
	renewable   time.Time // until when it can be renewed; the zero value if it cannot
}

// spare is how long a ticket must still be valid to be used, so that it arrives in time.
const spare = 10 * time.Second

func (t *ticket) isValid(now time.Time) bool { return now.Add(spare).Before(t.until) }

// isOld is when four fifths of the life of the ticket are over.
func (t *ticket) isOld() time.Time { return t.from.Add(t.until.Sub(t.from) / 5 * 4) }

// isFresh reports whether less than four fifths of the life of the ticket are over.
func (t *ticket) isFresh(now time.Time) bool { return t.isValid(now) && now.Before(t.isOld()) }

// NewLogin reads the krb5.conf and the keytab. It asks no KDC.
func NewLogin(o LoginOptions) (*Login, error) {
	o.Config = cmp.Or(o.Config, firstOf(os.Getenv("KRB5_CONFIG")), DefaultConfigFile)
	o.Timeout = cmp.Or(o.Timeout, 5*time.Second)
	l := &Login{o: o, held: map[string]ticket{}, fetches: map[string]*fetch{}, timers: map[string]*time.Timer{}}
	var err error
	if l.conf, err = LoadConfig(o.Config); err != nil {
		return nil, err
	}
	if o.Principal == "" && (o.Keytab != "" || o.Password != "") {
		return nil, errors.New("kerberos: a keytab or a password needs its principal")
	}
	if o.Principal == "" {
		return l, nil
	}
	if l.owner, err = ParsePrincipal(o.Principal); err != nil {
		return nil, err
	}
	if l.owner = l.owner.In(l.conf.DefaultRealm()); l.owner.Realm == "" {
		return nil, fmt.Errorf("kerberos: %s has no realm, and %s has no default_realm", l.owner, o.Config)
	}
	if o.Keytab != "" {
		_, err = l.keytab()
	}
	return l, err
}

// Principal returns the principal of the login; the zero value if only the ticket cache says.
func (l *Login) Principal() Principal {
	if l.o.Principal == "" {
		return Principal{}
	}
	return l.owner
}

// firstOf returns the first file of a list with colons.
func firstOf(list string) string {
	name, _, _ := strings.Cut(list, ":")
	return name
}

// keytab reads the keytab, which must have a key of the owner.
func (l *Login) keytab() (*Keytab, error) {
	b, err := readFile(l.o.Keytab, KeytabBytesMax)
	if err != nil {
		return nil, fmt.Errorf("kerberos: keytab: %w", err)
	}
	k, err := ParseKeytab(b)
	if err == nil {
		err = k.Check(l.owner)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, l.o.Keytab)
	}
	return k, nil
}

// unavailableError is a failure that may be over at the next attempt: there was no KDC, or no valid ticket in the
// cache.
type unavailableError struct{ err error }

func (e *unavailableError) Error() string   { return e.err.Error() }
func (e *unavailableError) Unwrap() error   { return e.err }
func (e *unavailableError) Temporary() bool { return true }

// Prepare gets the ticket for a service, as Initiate has it, so that Initiator.Next does not wait for a KDC. It waits
// until ctx ends, and not longer than LoginOptions.Timeout.
func (l *Login) Prepare(ctx context.Context, service string) error {
	p, err := ParsePrincipal(service)
	if err == nil {
		_, err = l.ticket(ctx, p)
	}
	return err
}

func (l *Login) ticket(ctx context.Context, service Principal) (ticket, error) {
	name := service.String()
	l.mu.Lock()
	held, now := l.held[name], time.Now()
	if held.isFresh(now) {
		l.mu.Unlock()
		return held, nil
	}
	f := l.begin(service)
	l.mu.Unlock()
	if held.isValid(now) {
		return held, nil
	}
	ctx, cancel := context.WithTimeout(ctx, l.o.Timeout)
	defer cancel()
	select {
	case <-f.done:
		return f.ticket, f.err
	case <-ctx.Done():
		return ticket{},
			&unavailableError{fmt.Errorf("kerberos: no KDC has given a ticket for %s in time: %w", name, ctx.Err())}
	}
}

// begin begins to ask for a ticket, unless that is under way. The caller holds the lock.
func (l *Login) begin(service Principal) *fetch {
	name := service.String()
	f := l.fetches[name]
	if f == nil {
		f = &fetch{done: make(chan struct{})}
		l.fetches[name] = f
		go l.fetch(service, f)
	}
	return f
}

// fetch gets a ticket, hands it to the exchanges that wait, and sees to the next one.
func (l *Login) fetch(service Principal, f *fetch) {
	name := service.String()
	var again time.Time
	f.ticket, again, f.err = l.ask(service)
	l.mu.Lock()
	defer l.mu.Unlock()
	held, isHeld := l.held[name]
	now := time.Now()
	switch {
	case f.err == nil:
		l.held[name] = f.ticket
		l.beginAfter(again.Sub(now), service)
	case isHeld && errors.As(f.err, new(*unavailableError)):
		l.beginAfter(0, service)
	case !held.isValid(now):
		delete(l.held, name) // its owner or its service is no more
	}
	delete(l.fetches, name)
	close(f.done)
}

// pause is the least time between two questions that no exchange has asked for.
const pause = time.Minute

// beginAfter begins to ask for a ticket after a time, or after the pause if that is longer. Its timer does not keep
// the login alive. The caller holds the lock.
func (l *Login) beginAfter(d time.Duration, service Principal) {
	name, self := service.String(), weak.Make(l)
	if t := l.timers[name]; t != nil {
		t.Stop()
	}
	l.timers[name] = time.AfterFunc(max(d, pause), func() {
		if l := self.Value(); l != nil {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.begin(service)
		}
	})
}

// ask asks the KDCs for a ticket, and says when to ask again: when it is old, or at once if no KDC has renewed the
// ticket for tickets, whose end is also the end of what it gives. The library that decodes the answers of KDCs panics
// on some that no KDC gives, and anyone can send them by UDP in the name of a KDC.
func (l *Login) ask(service Principal) (t ticket, again time.Time, err error) {
	l.kdc.Lock()
	defer l.kdc.Unlock()
	t, err = l.askKDC(service)
	if again = t.isOld(); l.missed {
		again = time.Time{}
	}
	return t, again, err
}

// askKDC asks the KDCs for a ticket. The caller holds the lock kdc.
func (l *Login) askKDC(service Principal) (t ticket, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &unavailableError{fmt.Errorf("kerberos: the KDC's answer cannot be decoded: %v", r)}
		}
	}()
	now := time.Now()
	if err := l.renew(now); err != nil {
		return t, err
	}
	if t := l.cached(service); t.isFresh(now) || t.isValid(now) && !t.until.Before(l.tgt.until) {
		return t, nil
	}
	if !l.tgt.isValid(now) {
		return t, &unavailableError{errors.New("kerberos: the ticket cache has no valid ticket: run kinit")}
	}
	realm, tgt := l.realmOf(service), l.tgt
	if realm != l.owner.Realm {
		if tgt, err = l.exchange(granting(realm, l.owner.Realm), tgt, false); err != nil {
			return t, err
		}
	}
	return l.exchange(service.In(realm), tgt, false)
}

// granting is the principal that tickets for tickets of a realm are for, in the realm that gives them.
func granting(realm, by string) Principal { return Principal{[]string{"krbtgt", realm}, by} }

// exchange gets a ticket by a ticket for tickets of the realm of the service, or renews that.
func (l *Login) exchange(service Principal, tgt ticket, isRenewal bool) (ticket, error) {
	lib := client.NewWithPassword(strings.Join(l.owner.Components, "/"), l.owner.Realm, "", l.conf.c)
	defer lib.Destroy()
	_, rep, err := lib.TGSREQGenerateAndExchange(service.wire(), service.Realm, tgt.ticket, tgt.key, isRenewal)
	if err != nil {
		return ticket{}, kdcError("a ticket for "+service.String(), err)
	}
	part := &rep.DecryptedEncPart
	if !part.SName.Equal(service.wire()) || keySize(part.Key.KeyType) == 0 {
		return ticket{}, fmt.Errorf("kerberos: the KDC gave a ticket for another service than %s, or with a key for "+
			"old encryption", service)
	}
	return newTicket(l.owner, rep.Ticket, part), nil
}

func newTicket(owner Principal, t messages.Ticket, part *messages.EncKDCRepPart) ticket {
	from := cmp.Or(part.StartTime, part.AuthTime)
	return ticket{owner, t, part.Key, from, part.EndTime, part.RenewTill}
}

// renew makes sure that there is a valid ticket for tickets, and a fresh one if a KDC answers. Without a keytab and a
// password it is that of the ticket cache.
func (l *Login) renew(now time.Time) error {
	l.missed = false
	isOfCache := l.o.Keytab == "" && l.o.Password == ""
	if isOfCache {
		if err := l.readCache(); err != nil {
			return err
		}
	}
	if l.tgt.isFresh(now) {
		return nil
	}
	if !isOfCache {
		err := l.authenticate()
		l.missed = errors.As(err, new(*unavailableError))
		if l.tgt.isValid(now) {
			return nil
		}
		return err
	}
	if l.tgt.isValid(now) && l.tgt.renewable.After(l.tgt.until) {
		t, err := l.exchange(granting(l.owner.Realm, l.owner.Realm), l.tgt, true)
		if err == nil {
			l.tgt = t
		}
		l.missed = errors.As(err, new(*unavailableError))
	}
	return nil
}

// authenticate gets a ticket for tickets by the keytab or the password.
func (l *Login) authenticate() error {
	conf, name := *l.conf.c, strings.Join(l.owner.Components, "/")
	if conf.LibDefaults.KDCDefaultOptions = types.NewKrbFlags(); conf.LibDefaults.TicketLifetime <= 0 {
		conf.LibDefaults.TicketLifetime = 24 * time.Hour
	}
	lib := client.NewWithPassword(name, l.owner.Realm, l.o.Password, &conf, client.DisablePAFXFAST(true))
	if l.o.Keytab != "" {
		k, err := l.keytab()
		if err != nil {
			return &unavailableError{err} // it may be about to be replaced
		}
		conf.LibDefaults.DefaultTktEnctypeIDs = k.types(l.owner)
		lib = client.NewWithKeytab(name, l.owner.Realm, k.newest(l.owner), &conf, client.DisablePAFXFAST(true))
	}
	defer lib.Destroy()
	req, err := messages.NewASReqForTGT(l.owner.Realm, &conf, l.owner.wire())
	if err != nil {
		return fmt.Errorf("kerberos: AS-REQ: %w", err)
	}
	rep, err := lib.ASExchange(l.owner.Realm, req, 0)
	if err != nil {
		return kdcError("a ticket to "+l.owner.String(), err)
	}
	l.tgt = newTicket(l.owner, rep.Ticket, &rep.DecryptedEncPart)
	return nil
}

// readCache reads the ticket cache: the tickets for services in it, and the newest ticket for tickets, unless that of
// before was renewed and lives longer.
func (l *Login) readCache() error {
	name := cmp.Or(l.o.TicketCache, defaultCache())
	c, err := readCache(name)
	if err != nil {
		return &unavailableError{err}
	}
	if l.o.Principal == "" {
		l.owner = c.owner
	} else if !c.owner.Equal(l.owner) {
		return fmt.Errorf("kerberos: ticket cache %s is of %s, not of %s", name, c.owner, l.owner)
	}
	krbtgt := granting(c.owner.Realm, c.owner.Realm)
	l.cache = c.entries
	if !l.tgt.owner.Equal(c.owner) {
		l.tgt = ticket{}
	}
	for _, e := range c.entries {
		if e.service.Equal(krbtgt) && e.ticket.until.After(l.tgt.until) {
			l.tgt = e.ticket
		}
	}
	return nil
}

// cached returns the ticket cache's newest ticket for a service.
func (l *Login) cached(service Principal) (newest ticket) {
	service = service.In(l.realmOf(service))
	for _, e := range l.cache {
		if e.service.Equal(service) && e.ticket.until.After(newest.until) {
			newest = e.ticket
		}
	}
	return newest
}

func (l *Login) realmOf(service Principal) string {
	return cmp.Or(service.Realm, l.conf.realmOf(service.Host()), l.owner.Realm)
}

// kdcError says what a KDC was asked for, and whether it makes sense to ask again.
func kdcError(asked string, err error) error {
	said := fmt.Errorf("kerberos: no KDC has given %s: %w", asked, err)
	if lib, ok := errors.AsType[krberror.Krberror](err); ok && lib.RootCause == krberror.NetworkingError {
		return &unavailableError{said}
	}
	if strings.Contains(err.Error(), errorcode.Lookup(errorcode.KDC_ERR_SVC_UNAVAILABLE)) {
		return &unavailableError{said}
	}
	return said
}
