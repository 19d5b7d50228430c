package shell

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/internal/znodetext"
	"github.com/seed94657493/warren/proto"
)

// parseACL reads scheme:id:perms,... Ids may have colons. Nothing that is partly wrong is accepted, although zkCli.sh
// goes on without the part: an ACL that says less than was meant locks out or lets in. The text of a failure ends
// where that of the command begins. Source: operations 5.5.
func parseACL(text string) ([]client.ACL, *failure) {
	const hint = "an ACL is scheme:id:perms,... with perms from cdrwa, as in world:anyone:r,digest:user:hash:cdrwa"
	var acl []client.ACL
	parts := strings.Split(text, ",")
	for len(parts) > 1 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	if text != "" && len(parts) == 1 && parts[0] == "" {
		return nil, wrong("", hint) // commas only
	}
	for _, part := range parts {
		first, last := strings.IndexByte(part, ':'), strings.LastIndexByte(part, ':')
		if first == last {
			return nil, wrong(part+" does not have the form scheme:id:perm\n", hint)
		}
		perms, bad := znodetext.ParsePerms(part[last+1:])
		if bad != "" {
			return nil, wrong("Unknown perm type: "+bad+"\n", hint)
		}
		acl = append(acl, client.ACL{Perms: perms, Scheme: part[:first], ID: part[first+1 : last]})
	}
	return acl, nil
}

// schemes are those of every server.
var schemes = []string{"auth", "digest", "ip", "sasl", "world", "x509"}

// refusedACL is describe for a request with an ACL: it names a scheme that the server does not know.
func (s *Shell) refusedACL(err error, acl []client.ACL) error {
	if !errors.Is(err, proto.ErrInvalidACL) {
		return err
	}
	f := s.describe(err, nil)
	for _, e := range acl {
		if !slices.Contains(schemes, e.Scheme) {
			f.hint = fmt.Sprintf("there is no scheme %q: it must be one of %s", e.Scheme, strings.Join(schemes, ", "))
			break
		}
	}
	return f
}

func newACLEntries(acl []client.ACL) []znodetext.ACL {
	entries := make([]znodetext.ACL, 0, len(acl))
	for _, e := range acl {
		entries = append(entries, znodetext.ACL{Scheme: e.Scheme, ID: e.ID, Perms: znodetext.Perms(e.Perms)})
	}
	return entries
}

// aclResult is the answer of getAcl.
type aclResult struct {
	Path string          `json:"path"`
	ACL  []znodetext.ACL `json:"acl"`
	Stat *shownStat      `json:"stat,omitempty"`
}

func (r aclResult) appendText(b []byte, c colours) []byte {
	for _, e := range r.ACL {
		b = append(b, "'"+c.name(e.Scheme)+",'"+c.name(e.ID)+"\n: "...)
		b = append(append(b, c.green(e.Perms)...), '\n')
	}
	return r.Stat.appendText(b, c)
}

func runGetACL(ctx context.Context, s *Shell, a *arguments) error {
	path := a.word(0)
	if err := checkPath(path, false); err != nil {
		return err
	}
	acl, stat, err := s.link.client.GetACL(ctx, path)
	if err != nil {
		return err
	}
	return s.out.emit(aclResult{path, newACLEntries(acl), a.stat(stat)})
}

func runSetACL(ctx context.Context, s *Shell, a *arguments) error {
	path := a.word(0)
	version, err := a.number("v", client.AnyVersion)
	if err != nil {
		return err
	}
	acl, bad := parseACL(a.word(1))
	if bad != nil {
		bad.text += "Acl is not valid : null"
		return bad
	}
	if err := checkPath(path, false); err != nil {
		return err
	}
	if a.has("R") {
		return s.setACLBelow(ctx, path, acl, version)
	}
	stat, err := s.link.client.SetACL(ctx, path, acl, version)
	if err != nil {
		return s.refusedACL(err, acl)
	}
	return s.emitChange("setAcl", path, stat, a)
}

// setACLBelow sets the ACL of every znode of a subtree, and goes on when one is refused.
func (s *Shell) setACLBelow(ctx context.Context, root string, acl []client.ACL, version int32) error {
	var all []string // before anything is changed: the new ACL may forbid the walk
	err := s.walk(ctx, root, func(n walked) error {
		all = append(all, n.path)
		return nil
	})
	if err != nil {
		return err
	}
	var last *failure
	for _, path := range all {
		_, err := s.link.client.SetACL(ctx, path, acl, version)
		switch {
		case err == nil, isGone(err) && path != root:
			continue
		case ctx.Err() != nil:
			return err
		}
		if last != nil {
			s.out.fail(last)
		}
		last = s.describe(s.refusedACL(err, acl), nil)
	}
	if last != nil {
		return last // of several failures the others have been printed
	}
	return s.out.emit(doneResult{"setAcl", root})
}
