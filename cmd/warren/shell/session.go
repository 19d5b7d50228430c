package shell

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed94657493/warren/client"
)

func runConnect(_ context.Context, s *Shell, a *arguments) error {
	servers := s.link.servers
	if len(a.words) > 0 {
		servers = a.word(0)
	}
	next, err := dial(servers, &s.o, s.out, &s.printed)
	if err != nil {
		return err
	}
	s.link.close(false)
	s.link = next
	return s.out.emit(doneResult{"connect", ""})
}

func runClose(_ context.Context, s *Shell, _ *arguments) error {
	s.link.close(false)
	return s.out.emit(doneResult{Done: "close"})
}

func runQuit(_ context.Context, s *Shell, _ *arguments) error {
	s.link.close(false)
	s.isOver = true
	return nil
}

func runAddAuth(ctx context.Context, s *Shell, a *arguments) error {
	var auth []byte
	if len(a.words) > 1 {
		auth = []byte(a.word(1))
	}
	err := s.link.client.AddAuth(ctx, a.word(0), auth)
	if errors.Is(err, client.ErrAuthFailed) && s.printed.Load() {
		s.link.postState(client.AuthFailed)
	}
	if err != nil {
		return err
	}
	return s.out.emit(doneResult{Done: "addauth"})
}

// identitiesResult is the answer of whoami.
type identitiesResult struct {
	Identities []identityJSON `json:"identities"`
}

type identityJSON struct {
	Scheme string `json:"scheme"`
	User   string `json:"user"`
}

func (r identitiesResult) appendText(b []byte, _ colours) []byte {
	b = append(b, "Auth scheme: User\n"...)
	for _, id := range r.Identities {
		b = append(b, id.Scheme+": "+id.User+"\n"...)
	}
	return b
}

func runWhoAmI(ctx context.Context, s *Shell, _ *arguments) error {
	ids, err := s.link.client.WhoAmI(ctx)
	if err != nil {
		return err
	}
	r := identitiesResult{Identities: []identityJSON{}}
	for _, id := range ids {
		r.Identities = append(r.Identities, identityJSON{id.Scheme, id.User})
	}
	return s.out.emit(r)
}

// syncResult is the answer of sync.
type syncResult struct {
	Path string `json:"path"`
	Sync string `json:"sync"`
}

func (syncResult) appendText(b []byte, _ colours) []byte { return append(b, "Sync is OK\n"...) }

func runSync(ctx context.Context, s *Shell, a *arguments) error {
	path := a.word(0)
	if err := checkPath(path, false); err != nil {
		return err
	}
	err := s.link.client.Sync(ctx, path)
	if err != nil {
		f := s.describe(err, context.Cause(ctx))
		var code interface{ Name() string }
		if errors.As(f.err, &code) {
			f.text = fmt.Sprintf("Sync has failed. rc=%d", code)
		}
		return f
	}
	return s.out.emit(syncResult{path, "ok"})
}

// versionResult is the answer of version.
type versionResult struct {
	Version string `json:"version"`
}

func (r versionResult) appendText(b []byte, _ colours) []byte {
	return append(b, "ZooKeeper CLI version: "+r.Version+"\n"...)
}

func runVersion(_ context.Context, s *Shell, _ *arguments) error {
	return s.out.emit(versionResult{s.o.Version})
}
