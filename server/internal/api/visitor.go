package api

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/datatree/auth"
)

// Bounds of logins.
const (
	// loginsMax is how many logins there are, and loginsEach how many of one user; one more ends the one that was not
	// used for longest, of that user if it is the user that has too many.
	loginsMax, loginsEach = 1000, 32
	// loginIdle ends a login that is not used, and loginLife every login.
	loginIdle, loginLife = 30 * time.Minute, 12 * time.Hour
	// credentialsMax bounds user and password.
	credentialsMax = 1024
	// cookiePrefix begins the name of the cookie of a login. The name ends with random letters, because a browser
	// sends a cookie to every port of a host, and the servers of an ensemble may be on one host. The cookie has no
	// path, so that it holds for the folder of the page that has set it, whatever a proxy has put before that.
	cookiePrefix = "warren_login_"
)

// Visitor is the sender of a request.
type Visitor struct {
	Actor
	User  string // empty without a login
	Token string // that changes must carry; empty if the credentials came with the request itself
	login *login // nil without a cookie
	via   string // the server that has passed the request on; empty if it came here
}

// login is proved by a cookie. The table of logins guards used.
type login struct {
	user        string
	ids         []auth.Identity
	token       string
	began, used time.Time
	over        context.Context // done when the login has ended
	end         context.CancelFunc
}

// loginKey is the hash of a cookie: the table does not hold what a visitor could use.
type loginKey [sha256.Size]byte

// logins are the logins of this process. Any goroutine may use them.
type logins struct {
	mu struct {
		sync.Mutex
		live map[loginKey]*login
	}
}

// get returns the login of a key, and notes that it is used.
func (l *logins) get(k loginKey, now time.Time) *login {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.mu.live[k]
	if one == nil {
		return nil
	}
	if one.hasEnded(now) {
		l.drop(k)
		return nil
	}
	one.used = now
	return one
}

func (l *login) hasEnded(now time.Time) bool {
	return now.Sub(l.used) >= loginIdle || now.Sub(l.began) >= loginLife
}

// add adds a login. It ends those whose time is over, and the one unused for longest if there are too many. A user is
// what its identities say: its name alone would let a user of the same name with another password end its logins.
func (l *logins) add(k loginKey, one *login, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var oldest, oldestOfUser loginKey
	ofUser := 0
	for key, other := range l.mu.live {
		if other.hasEnded(now) {
			l.drop(key)
			continue
		}
		if l.isOlder(other, oldest) {
			oldest = key
		}
		if slices.Equal(other.ids, one.ids) {
			if ofUser++; l.isOlder(other, oldestOfUser) {
				oldestOfUser = key
			}
		}
	}
	switch {
	case ofUser >= loginsEach:
		l.drop(oldestOfUser)
	case len(l.mu.live) >= loginsMax:
		l.drop(oldest)
	}
	l.mu.live[k] = one
}

// isOlder reports whether a login is unused for longer than the one of a key, or that one is not there. REQUIRES: mu.
func (l *logins) isOlder(one *login, than loginKey) bool {
	other := l.mu.live[than]
	return other == nil || one.used.Before(other.used)
}

// drop ends a login. REQUIRES: mu.
func (l *logins) drop(k loginKey) {
	if one := l.mu.live[k]; one != nil {
		one.end()
		delete(l.mu.live, k)
	}
}

func (l *logins) remove(k loginKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(k)
}

// secret returns 256 random bits as text.
func secret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Visitor finds out from which visitor a request comes: by the header Authorization, as admin commands have it, or by
// the cookie of a login. A cookie that is unknown or too old counts as none, and is taken back.
func (a *API) Visitor(w http.ResponseWriter, r *http.Request) (*Visitor, error) {
	v := &Visitor{Actor: Actor{Remote: a.remote(r)}}
	if header := r.Header.Get("Authorization"); header != "" {
		scheme, credentials, _ := strings.Cut(strings.TrimSpace(header), " ")
		user, password, ok := strings.Cut(strings.TrimSpace(credentials), ":")
		if !strings.EqualFold(scheme, auth.SchemeDigest) || !ok {
			return nil, refusal(http.StatusUnauthorized, "the header Authorization is digest user:password")
		}
		ids, err := a.prove(v.Remote, user, password)
		v.User, v.IDs = user, ids
		return v, err
	}
	cookie, err := r.Cookie(a.cookie)
	if err != nil {
		return v, nil
	}
	one := a.logins.get(sha256.Sum256([]byte(cookie.Value)), a.o.Now())
	if one == nil {
		setCookie(w, r, a.cookie, "", -1)
		return v, nil
	}
	v.login, v.User, v.IDs, v.Token = one, one.user, one.ids, one.token
	return v, nil
}

// remote returns the address of the visitor, with the port of the connection.
func (a *API) remote(r *http.Request) netip.AddrPort {
	at, _ := netip.ParseAddrPort(r.RemoteAddr)
	return netip.AddrPortFrom(a.o.Remote(r), at.Port())
}

// prove returns the identities of a user with a password, unless too many attempts from that address have failed.
func (a *API) prove(remote netip.AddrPort, user, password string) ([]auth.Identity, error) {
	if user == "" || len(user)+len(password) > credentialsMax || strings.Contains(user, ":") {
		return nil, ErrWrong
	}
	if !a.o.Guesses.Has(remote.Addr(), a.o.Now()) {
		a.o.Log.Warn("too many failed logins from one address: delaying further logins from there",
			zap.Stringer("client_addr", remote))
		return nil, errThrottled
	}
	ids, err := a.o.Server.Login(user, password)
	if err == ErrWrong {
		a.o.Guesses.Fail(remote.Addr(), a.o.Now())
		a.o.Log.Warn("login refused", zap.Stringer("client_addr", remote))
	}
	return ids, err
}

// errThrottled is told with 429.
var errThrottled = &Refusal{Status: http.StatusTooManyRequests, After: time.Minute,
	Text: "too many logins from this address have failed: wait a minute"}

// login logs a visitor in, by a cookie.
func (a *API) login(w http.ResponseWriter, r *http.Request, _ *Visitor) error {
	var c Credentials
	if err := a.body(w, r, &c, CredentialsBody); err != nil {
		return err
	}
	if err := a.sameOrigin(r); err != nil {
		return err
	}
	v := &Visitor{Actor: Actor{Remote: a.remote(r)}, User: c.User}
	ids, err := a.prove(v.Remote, c.User, c.Password)
	if err != nil {
		return err
	}
	now, cookie := a.o.Now(), secret()
	one := &login{user: c.User, ids: ids, token: secret(), began: now, used: now}
	one.over, one.end = context.WithCancel(context.Background())
	a.logins.add(sha256.Sum256([]byte(cookie)), one, now)
	setCookie(w, r, a.cookie, cookie, 0)
	a.o.Log.Info("login", zap.Stringer("client_addr", v.Remote), zap.String("user", c.User),
		zap.Bool("super", auth.IsSuper(ids)))
	v.IDs, v.Token = ids, one.token
	return answer(w, a.identityOf(v))
}

func (a *API) logout(w http.ResponseWriter, r *http.Request, v *Visitor) error {
	if err := a.checkPage(r, v, r.Header.Get("X-Warren-Token")); err != nil {
		return err
	}
	if cookie, err := r.Cookie(a.cookie); err == nil && v.login != nil {
		a.logins.remove(sha256.Sum256([]byte(cookie.Value)))
	}
	setCookie(w, r, a.cookie, "", -1)
	return answer(w, a.identityOf(&Visitor{}))
}

// setCookie sets a cookie for so many seconds, 0 for as long as the browser runs, or takes it back if age is negative.
func setCookie(w http.ResponseWriter, r *http.Request, name, value string, age int) {
	secure := r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
	http.SetCookie(w, &http.Cookie{Name: name, Value: value, MaxAge: age, Secure: secure, HttpOnly: true,
		SameSite: http.SameSiteStrictMode})
}

// sameOrigin refuses a request that a page of another site has made.
func (a *API) sameOrigin(r *http.Request) error {
	if err := a.origins.Check(r); err != nil {
		return refusal(http.StatusForbidden, "the request comes from a page of another site")
	}
	return nil
}

// mayChange returns an error unless the visitor may try a change: with a login, by a page of this server, while
// changes are switched on. token is what the request carries to prove that.
func (a *API) mayChange(r *http.Request, v *Visitor, token string) error {
	if err := a.mayTryChanges(v); err != nil {
		return err
	}
	return a.checkPage(r, v, token)
}

// mayTryChanges returns an error unless there is a login, and changes are switched on.
func (a *API) mayTryChanges(v *Visitor) error {
	switch {
	case v.User == "":
		return refusal(http.StatusUnauthorized, "changes need a login")
	case !a.o.Writes:
		return refusal(http.StatusForbidden, "changes are switched off: warren.console.writes is false")
	}
	return nil
}

// checkPage returns an error unless a page of this server has sent the request: with the token of the login.
func (a *API) checkPage(r *http.Request, v *Visitor, token string) error {
	if err := a.sameOrigin(r); err != nil {
		return err
	}
	if v.login != nil && subtle.ConstantTimeCompare([]byte(token), []byte(v.Token)) != 1 {
		return refusal(http.StatusForbidden, "the request lacks the token of this login")
	}
	return nil
}

func (a *API) identityOf(v *Visitor) Identity {
	return Identity{User: v.User, Super: auth.IsSuper(v.IDs), Token: v.Token, Writes: a.o.Writes && v.User != ""}
}
