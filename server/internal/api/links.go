package api

import (
	"cmp"
	"crypto/sha256"
	"net/http"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/server/internal/visible"
)

// Bounds of links.
const (
	// linksMax is how many links there are, and linksEach how many of one user.
	linksMax, linksEach = 200, 20
	// linkLifeMax is how long a link lives at most.
	linkLifeMax = 24 * time.Hour
	// linkCookie begins the name of the cookie of an opened link.
	linkCookie = "warren_link_"
)

// Link shows the znodes at and below a path to those that have it, without a login: what the user that has made it may
// read at that moment, and no more. It is a random word that is looked up: a signed statement would be a second truth
// beside the table that ends links, and its key would have to be kept. It ends by time, by its user, and with the
// server.
type Link struct {
	Actor
	User  string
	Path  string
	Until time.Time
	ID    string // names it for its user; it opens nothing
}

// links are the links of this process, by the hash of the word.
type links struct {
	mu struct {
		sync.Mutex
		live map[loginKey]*Link
	}
}

// errLink is told for a link that is over, and for one that never was.
var errLink = refusal(http.StatusGone, "this link has ended: ask for a new one")

// errLinks is told if warren.console.links is false.
var errLinks = refusal(http.StatusForbidden, "links are switched off: warren.console.links is false")

// MayShare reports whether a visitor may make links.
func (a *API) MayShare(v *Visitor) bool { return a.o.Links && v.User != "" && v.login != nil }

// Share makes a link, and returns the word that opens it. It needs a login by cookie and the token of that.
func (a *API) Share(r *http.Request, v *Visitor, token, path string, life time.Duration) (word string, err error) {
	switch {
	case !a.o.Links:
		return "", errLinks
	case v.login == nil:
		return "", refusal(http.StatusUnauthorized, "a link needs a login")
	case life <= 0 || life > linkLifeMax:
		return "", refusal(http.StatusBadRequest, "a link lives for at most 24 hours")
	}
	if err := a.checkPage(r, v, token); err != nil {
		return "", err
	}
	_, err = Ask(a, r, func() (*Children, error) { return a.o.Server.Children(v.Actor, path, "", 1) })
	if err != nil {
		return "", err
	}
	word = secret()
	link := &Link{Actor: v.Actor, User: v.User, Path: path, Until: a.o.Now().Add(life), ID: secret()[:12]}
	if err := a.links.add(sha256.Sum256([]byte(word)), link, a.o.Now()); err != nil {
		return "", err
	}
	a.o.Log.Info("link created", zap.Stringer("client_addr", v.Remote), zap.String("user", v.User),
		zap.String("path", path), zap.Time("until", link.Until))
	a.o.Server.Shared(v.Actor, path)
	return word, nil
}

func (l *links) add(k loginKey, one *Link, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	ofUser := 0
	for key, other := range l.mu.live {
		if !now.Before(other.Until) {
			delete(l.mu.live, key)
		} else if slices.Equal(other.IDs, one.IDs) {
			ofUser++
		}
	}
	if ofUser >= linksEach || len(l.mu.live) >= linksMax {
		return refusal(http.StatusTooManyRequests, "there are too many links: end some")
	}
	l.mu.live[k] = one
	return nil
}

// LinksOf returns the links of a visitor, the first to end first.
func (a *API) LinksOf(v *Visitor) (all []*Link) {
	if v.login == nil {
		return nil
	}
	a.links.mu.Lock()
	defer a.links.mu.Unlock()
	for _, link := range a.links.mu.live {
		if slices.Equal(link.IDs, v.IDs) && a.o.Now().Before(link.Until) {
			all = append(all, link)
		}
	}
	slices.SortFunc(all, func(x, y *Link) int { return x.Until.Compare(y.Until) })
	return all
}

// Unshare ends a link of the visitor.
func (a *API) Unshare(r *http.Request, v *Visitor, token, id string) error {
	if v.login == nil {
		return refusal(http.StatusUnauthorized, "a link is ended by the user that has made it")
	}
	if err := a.checkPage(r, v, token); err != nil {
		return err
	}
	a.links.mu.Lock()
	defer a.links.mu.Unlock()
	for key, link := range a.links.mu.live {
		if link.ID == id && slices.Equal(link.IDs, v.IDs) {
			delete(a.links.mu.live, key)
		}
	}
	return nil
}

// OpenLink begins to show a link to a visitor, by a cookie, so that the word stands in no later address.
func (a *API) OpenLink(w http.ResponseWriter, r *http.Request, word string) (*Link, error) {
	if err := a.sameOrigin(r); err != nil {
		return nil, err
	}
	link := a.link(word)
	if link == nil {
		return nil, errLink
	}
	setCookie(w, r, a.linkCookie, word, int(link.Until.Sub(a.o.Now()).Seconds()))
	return link, nil
}

// OpenedLink returns the link that a visitor has opened, for a path at or below that of the link. No other method
// looks at the cookie, so that a link opens nothing but the page that calls this one.
func (a *API) OpenedLink(r *http.Request, path string) (*Link, error) {
	cookie, err := r.Cookie(a.linkCookie)
	if err != nil {
		return nil, errLink
	}
	link := a.link(cookie.Value)
	if link == nil {
		return nil, errLink
	}
	path = cmp.Or(path, link.Path)
	if !visible.IsBelow(path, link.Path) {
		return nil, refusal(http.StatusForbidden, "the link shows other znodes only")
	}
	return link, nil
}

func (a *API) link(word string) *Link {
	a.links.mu.Lock()
	defer a.links.mu.Unlock()
	link := a.links.mu.live[sha256.Sum256([]byte(word))]
	if link == nil || !a.o.Now().Before(link.Until) {
		return nil
	}
	return link
}
