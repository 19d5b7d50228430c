package visible

import (
	"fmt"
	"net/http"
	"net/netip"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/server/internal/durable"
	"github.com/seed94657493/warren/server/internal/ensemble"
	"github.com/seed94657493/warren/server/internal/serve"
	"github.com/seed94657493/warren/server/internal/trends"
)

// Shown is what a visitor sees of a server: facts, and what is in the tree, as far as ACLs allow it. Requests come at
// any time, even before recovery, when there is no tree.
type Shown struct {
	*ensemble.Facts
	disk    *durable.Disk
	front   *serve.Front
	counts  counts
	past    travel
	trends  *trends.Ring
	reading chan struct{} // the place of the one reading of the log for a history

	verified verifications
}

// New returns what visitors see of a server.
func New(f *ensemble.Facts, d *durable.Disk, front *serve.Front) *Shown {
	return &Shown{Facts: f, disk: d, front: front, trends: newTrends(), reading: make(chan struct{}, 1)}
}

// Actor is the sender of a request, as far as it is proved.
type Actor struct {
	IDs    []auth.Identity // none for a visitor without a login
	Remote netip.AddrPort  // for limits and the audit log
}

// Errors that are told to visitors.
var (
	// ErrNotServing means that clients are not served now, and so neither are visitors.
	ErrNotServing = refusal(http.StatusServiceUnavailable, "this server does not serve clients now")
	// errNeedsAuth means that the server takes no client with the identities of the visitor.
	errNeedsAuth = refusal(http.StatusUnauthorized,
		"this server takes authenticated clients only: log in with a scheme of enforce.auth.schemes")
	// ErrWrong means that a password is wrong. ZooKeeper knows no users: one without an ACL counts as that, too.
	ErrWrong = refusal(http.StatusUnauthorized, "the password is wrong, or no ACL names this user")
	// ErrMayNotSteer means that the visitor lacks permissions for orders.
	ErrMayNotSteer = refusal(http.StatusForbidden,
		"steering needs every permission on the root of the tree, as the super user has it")
	errMayNotSeeAll = refusal(http.StatusForbidden, "this is shown to the super user, and to visitors to which the "+
		"ACL of / gives every permission by name")
	// errGone means that a page cannot go on after a znode, because that znode is gone.
	errGone = refusal(http.StatusGone, "the znode after which the page begins is gone: begin with the first page")
)

// MayAsk returns why a visitor may read nothing now, nil if it may.
func (n *Shown) MayAsk(a Actor) error {
	switch {
	case !n.InService():
		return ErrNotServing
	case !n.front.Suffices(a.IDs):
		return errNeedsAuth
	}
	return nil
}

// seesAll reports whether the actor may have what is secret: with every permission on the root.
func (n *Shown) seesAll(a Actor) bool { return len(a.IDs) > 0 && n.OwnsRoot(a.IDs) }

// needsAll returns why an actor may not have what is for those only that see all: refused, or what MayAsk returns.
func (n *Shown) needsAll(a Actor, refused error) error {
	if err := n.MayAsk(a); err != nil {
		return err
	}
	if !n.seesAll(a) {
		return refused
	}
	return nil
}

// MaySteer returns nil if the actor may give orders: with every permission on the root.
func (n *Shown) MaySteer(a Actor) error { return n.needsAll(a, ErrMayNotSteer) }

// MaySeeAll returns why the actor may not see what is about all users and about the files of the server.
func (n *Shown) MaySeeAll(a Actor) error { return n.needsAll(a, errMayNotSeeAll) }

// Login returns the identities that user and password prove. The error is ErrWrong if no ACL names them and they are
// not the super user's, which is how a wrong password shows.
func (n *Shown) Login(user, password string) ([]auth.Identity, error) {
	if !n.InService() {
		return nil, ErrNotServing
	}
	ids, ok := n.front.Authenticate(netip.Addr{}, auth.SchemeDigest, []byte(user+":"+password))
	if !ok || !auth.IsSuper(ids) && !n.IsNamed(ids) {
		n.Metrics.AuthFailed.Inc()
		return nil, ErrWrong
	}
	return ids, nil
}

// DigestID returns the id of scheme digest for a user with a password, as this server hashes it.
func (n *Shown) DigestID(user, password string) (string, error) {
	id, ok := auth.DigestID(n.Config.DigestAlg, []byte(user+":"+password))
	if !ok {
		return "", fmt.Errorf("there is no hash %q, which DigestAuthenticationProvider.digestAlg asks for",
			n.Config.DigestAlg)
	}
	return id, nil
}

// Shared notes in the audit log that the actor has made a link to a path.
func (n *Shown) Shared(a Actor, path string) { n.front.AuditLink(a.IDs, a.Remote.Addr(), path) }
