package recipes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto/paths"
)

// Vote is the vote of a site on a transaction, and the outcome of all votes.
type Vote string

// The votes, as they are in the znodes.
const (
	Undecided Vote = "" // not yet
	Commit    Vote = "commit"
	Abort     Vote = "abort"
)

// ErrUnfinished is returned by TwoPhaseCommit.Remove while the sites are undecided.
var ErrUnfinished = errors.New("recipes: transaction is undecided")

// TwoPhaseCommit lets sites agree to commit a transaction all together or not at all, as ZooKeeper's
// documentation describes it.
//
//	/path          persistent; the description of the transaction
//	/path/site1    persistent; empty, then "commit" or "abort"
//	/path/site2
//
// Guarantee: a site votes once, and its vote never changes. So all that see an outcome see the same: Commit if
// every site has voted Commit, Abort if one site has voted Abort. Unlike the textbook protocol it does not block
// when the coordinator fails, because the votes are in the ensemble; when a site fails, any process may vote
// Abort in its place, with Decide. The guarantee fails if a site that voted Commit does not carry out the
// transaction later, after a restart: before it votes it must have made sure that it can. Each site is told of
// each vote, so messages grow with the square of the sites. The path must be a fresh one for every transaction. A
// TwoPhaseCommit has no state and may be used concurrently. Source: "Two-phased Commit" of the ZooKeeper recipes.
type TwoPhaseCommit struct {
	c    *client.Client
	path string
	options
}

// NewTwoPhaseCommit returns the transaction at a path.
func NewTwoPhaseCommit(c *client.Client, path string, options ...Option) *TwoPhaseCommit {
	return &TwoPhaseCommit{c, path, newOptions(options)}
}

// Begin publishes the transaction to all processes that wait for it, with all its sites at once. If the transaction
// already exists, the error is ErrBusy, unless it has the same description and the same sites.
func (t *TwoPhaseCommit) Begin(ctx context.Context, query []byte, sites ...string) error {
	txn := new(client.Txn).Create(t.path, query, client.Persistent, client.WithACL(t.acl...))
	for _, site := range sites {
		if site == "" || strings.Contains(site, "/") {
			return client.ErrBadArguments
		}
		txn.Create(paths.ChildOf(t.path, site), nil, client.Persistent, client.WithACL(t.acl...))
	}
	if len(sites) == 0 {
		return client.ErrBadArguments
	}
	return again(ctx, func(ctx context.Context) error {
		for {
			_, err := t.c.Commit(ctx, txn)
			var refused *client.TxnError
			switch isAtRoot := errors.As(err, &refused) && refused.Index == 0; {
			case isAtRoot && errors.Is(err, client.ErrNodeExists):
				return t.compare(ctx, query, sites)
			case !isAtRoot || !errors.Is(err, client.ErrNoNode):
				return err
			}
			if err := t.ensure(ctx, t.c, paths.ParentOf(t.path)); err != nil {
				return err
			}
		}
	})
}

// compare returns ErrBusy unless the transaction is the expected one.
func (t *TwoPhaseCommit) compare(ctx context.Context, query []byte, sites []string) error {
	b, err := t.Ballot(ctx)
	if err != nil {
		return err
	}
	isSame := string(b.Query) == string(query) && len(b.Votes) == len(sites)
	for _, site := range sites {
		_, isIn := b.Votes[site]
		isSame = isSame && isIn
	}
	if !isSame {
		return ErrBusy
	}
	return nil
}

// Ballot is a transaction at one moment.
type Ballot struct {
	Query []byte
	Votes map[string]Vote // by site
}

// Sites returns the sites of a ballot, sorted.
func (b Ballot) Sites() []string {
	return slices.Sorted(maps.Keys(b.Votes))
}

// Outcome returns the outcome of the votes: Undecided as long as no site has voted Abort and a site has not
// voted.
func (b Ballot) Outcome() Vote {
	outcome := Commit
	for _, v := range b.Votes {
		switch v {
		case Abort:
			return Abort
		case Undecided:
			outcome = Undecided
		}
	}
	return outcome
}

// Ballot returns the description of the transaction and the votes. Errors: ErrNoNode of package client before
// Begin and after Remove, ErrFormat.
func (t *TwoPhaseCommit) Ballot(ctx context.Context) (b Ballot, err error) {
	err = client.Retry(ctx, func(ctx context.Context) error {
		query, _, err := t.c.Get(ctx, t.path)
		if err != nil {
			return err
		}
		sites, _, err := t.c.Children(ctx, t.path)
		b = Ballot{query, map[string]Vote{}}
		for _, site := range sites {
			if err != nil {
				break
			}
			b.Votes[strings.Clone(site)], err = t.read(ctx, site)
		}
		return err
	})
	return b, err
}

func (t *TwoPhaseCommit) read(ctx context.Context, site string) (Vote, error) {
	data, _, err := t.c.Get(ctx, paths.ChildOf(t.path, site))
	v := Vote(data)
	if err == nil && v != Undecided && v != Commit && v != Abort {
		return Undecided, fmt.Errorf("%w: %s holds no vote", ErrFormat, paths.ChildOf(t.path, site))
	}
	return v, err
}

// Await waits until the transaction has begun.
func (t *TwoPhaseCommit) Await(ctx context.Context) (Ballot, error) {
	for node, err := range t.c.Follow(ctx, t.path) {
		if err != nil {
			return Ballot{}, err
		}
		if node.Exists {
			return t.Ballot(ctx)
		}
	}
	return Ballot{}, ctx.Err()
}

// Vote votes for a site, Commit or Abort, and returns the vote that counts: the earlier one if there is one.
// Errors: ErrNoNode of package client if there is no such site.
func (t *TwoPhaseCommit) Vote(ctx context.Context, site string, vote Vote) (Vote, error) {
	if vote != Commit && vote != Abort {
		return Undecided, client.ErrBadArguments
	}
	counts := vote
	err := again(ctx, func(ctx context.Context) error {
		_, err := t.c.Set(ctx, paths.ChildOf(t.path, site), []byte(vote), 0) // succeeds if the znode was never written
		if errors.Is(err, client.ErrBadVersion) {
			counts, err = t.read(ctx, site)
		}
		return err
	})
	if err != nil {
		return Undecided, err
	}
	return counts, nil
}

// Outcome waits until the votes say Commit or Abort, or ctx ends. It uses one persistent watch, which servers
// have since 3.6. With client.WithRenewal it goes on under the next session.
func (t *TwoPhaseCommit) Outcome(ctx context.Context) (Vote, error) {
	return outliving(ctx, t.c, func() (Vote, error) { return t.outcome(ctx) })
}

func (t *TwoPhaseCommit) outcome(ctx context.Context) (Vote, error) {
	var w *client.Watch
	err := client.Retry(ctx, func(ctx context.Context) (err error) {
		w, err = t.c.Watch(ctx, t.path, client.WatchSubtree)
		return err
	})
	if err != nil {
		return Undecided, err
	}
	defer w.Close()
	for {
		b, err := t.Ballot(ctx)
		if err != nil {
			return Undecided, err
		}
		if outcome := b.Outcome(); outcome != Undecided {
			return outcome, nil
		}
		if err := awaitNews(ctx, w); err != nil {
			return Undecided, err
		}
	}
}

// Decide votes Abort for every site that has not voted, and returns the outcome. It is for a process that does
// not want to wait longer.
func (t *TwoPhaseCommit) Decide(ctx context.Context) (Vote, error) {
	b, err := t.Ballot(ctx)
	if err != nil {
		return Undecided, err
	}
	for site, vote := range b.Votes {
		if vote == Undecided {
			if b.Votes[site], err = t.Vote(ctx, site, Abort); err != nil {
				return Undecided, err
			}
		}
	}
	return b.Outcome(), nil
}

// Remove deletes a transaction whose outcome every site knows. It succeeds if the transaction does not exist.
// Errors: ErrUnfinished if it is undecided.
func (t *TwoPhaseCommit) Remove(ctx context.Context) error {
	err := again(ctx, func(ctx context.Context) error {
		b, err := t.Ballot(ctx)
		if err != nil {
			return err
		}
		if b.Outcome() == Undecided {
			return ErrUnfinished
		}
		txn := new(client.Txn)
		for site := range b.Votes {
			txn.Delete(paths.ChildOf(t.path, site), client.AnyVersion)
		}
		_, err = t.c.Commit(ctx, txn.Delete(t.path, client.AnyVersion))
		return err
	})
	if errors.Is(err, client.ErrNoNode) {
		return nil
	}
	return err
}
