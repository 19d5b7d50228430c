package shell

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/paths"
)

// createdResult is the path of a new znode.
type createdResult struct {
	Path string     `json:"path"`
	Stat *shownStat `json:"stat"`
}

func (r createdResult) appendText(b []byte, c colours) []byte {
	return append(append(b, c.green("Created "+c.name(r.Path))...), '\n')
}

func (createdResult) goesToStderr() {}

// createMode returns the mode that flags ask for. Source: operations 5.5, special messages.
func createMode(a *arguments) (mode client.Mode, ttl time.Duration, err error) {
	isSequential, isEphemeral := a.has("s"), a.has("e")
	if a.has("t") {
		ms, err := strconv.ParseInt(a.flags["t"], 10, 64)
		switch {
		case err != nil:
			return 0, 0, wrong("-t argument must be a long value", "the time to live is in milliseconds")
		case isEphemeral:
			return 0, 0, wrong("TTLs cannot be used with Ephemeral znodes", "leave out -e or -t")
		case a.has("c"):
			return 0, 0, wrong("TTLs cannot be used with Container znodes", "leave out -c or -t")
		case ms < 1 || ms > proto.MaxTTL:
			return 0, 0, wrong(fmt.Sprintf("ttl must be positive and cannot be larger than: %d", int64(proto.MaxTTL)),
				"the time to live is in milliseconds")
		}
		ttl = time.Duration(ms) * time.Millisecond
	}
	switch {
	case a.has("c") && (isSequential || isEphemeral):
		return 0, 0, wrong("-c cannot be combined with -s or -e. Containers cannot be ephemeral or sequential.", "")
	case a.has("c"):
		mode = client.Container
	case ttl > 0 && isSequential:
		mode = client.PersistentSequentialTTL
	case ttl > 0:
		mode = client.PersistentTTL
	case isSequential && isEphemeral:
		mode = client.EphemeralSequential
	case isSequential:
		mode = client.PersistentSequential
	case isEphemeral:
		mode = client.Ephemeral
	}
	return mode, ttl, nil
}

func runCreate(ctx context.Context, s *Shell, a *arguments) error {
	mode, ttl, err := createMode(a)
	if err != nil {
		return err
	}
	path := a.word(0)
	var options []client.CreateOption
	if ttl > 0 {
		options = append(options, client.WithTTL(ttl))
	}
	var acl []client.ACL
	if len(a.words) > 2 {
		var err *failure
		if acl, err = parseACL(a.word(2)); err != nil {
			err.text += "KeeperErrorCode = InvalidACL\nAcl is not valid : null"
			if !strings.Contains(a.word(2), ":") {
				err.hint, err.isOwn = find("create").quoteHint()+"; "+err.hint, !s.o.ZkCli
			}
			return err
		}
		options = append(options, client.WithACL(acl...))
	}
	if err := checkPath(path, mode.IsSequential()); err != nil {
		return err
	}
	var data []byte
	if len(a.words) > 1 {
		data = append([]byte{}, a.word(1)...)
	}
	if parent := paths.ParentOf(path); a.has("p") && parent != "" && parent != "/" {
		if err := s.link.client.CreateAll(ctx, parent); err != nil {
			return err
		}
	}
	created, stat, err := s.link.client.CreateStat(ctx, path, data, mode, options...)
	if err != nil {
		f := s.describe(s.refusedACL(err, acl), context.Cause(ctx))
		if errors.Is(err, client.ErrInvalidACL) {
			f.text = "KeeperErrorCode = InvalidACL for " + path + "\n" + f.text
		}
		return f
	}
	return s.out.emit(createdResult{created, (*shownStat)(&stat)})
}

// doneResult is the answer of a command that has nothing to say in text.
type doneResult struct {
	Done string `json:"done"`
	Path string `json:"path,omitempty"`
}

func (doneResult) appendText(b []byte, _ colours) []byte { return b }

func runSet(ctx context.Context, s *Shell, a *arguments) error {
	path := a.word(0)
	version, err := a.numberAndPath("v", client.AnyVersion, path)
	if err != nil {
		return err
	}
	data := append([]byte{}, a.word(1)...)
	if a.has("b") {
		if data, err = base64.StdEncoding.DecodeString(a.word(1)); err != nil {
			return wrong("-b data is not Base64: "+err.Error(), "use the alphabet with + and /, padded with =")
		}
	}
	stat, err := s.link.client.Set(ctx, path, data, version)
	if err != nil {
		return err
	}
	return s.emitChange("set", path, stat, a)
}

// emitChange prints the new Stat if it was asked for; JSON always has it.
func (s *Shell) emitChange(done, path string, stat client.Stat, a *arguments) error {
	if a.has("s") || s.out.isJSON {
		return s.out.emit(statResult{path, (*shownStat)(&stat)})
	}
	return s.out.emit(doneResult{done, path})
}

func runDelete(ctx context.Context, s *Shell, a *arguments) error {
	path := a.word(0)
	if s.oldForm(a, "delete path [version]", "delete [-v version] path") {
		a.flags["v"] = a.word(1)
	}
	version, err := a.numberAndPath("v", client.AnyVersion, path)
	if err != nil {
		return err
	}
	if err := s.link.client.Delete(ctx, path, version); err != nil {
		return err
	}
	return s.out.emit(doneResult{"delete", path})
}

// batchDefault is how many znodes deleteall deletes in one multi, and deleteOverhead how many bytes it has for each
// besides the path.
const (
	batchDefault   = 1000
	deleteOverhead = 20
)

func runDeleteAll(ctx context.Context, s *Shell, a *arguments) error {
	path := a.word(0)
	batch, err := a.numberAndPath("b", batchDefault, path)
	if err != nil {
		return err
	}
	batch = min(max(batch, 1), 10_000)
	var all []string
	err = s.walk(ctx, path, func(n walked) error {
		all = append(all, n.path)
		return nil
	})
	if err != nil {
		return err
	}
	failed := 0
	for len(all) > 0 { // from the end: children before their parents
		n, size := 0, 0
		for n < len(all) && n < int(batch) {
			size += len(all[len(all)-1-n]) + deleteOverhead
			if n > 0 && size > multiBytes {
				break
			}
			n++
		}
		part := all[len(all)-n:]
		all = all[:len(all)-n]
		txn := &client.Txn{}
		for i := len(part) - 1; i >= 0; i-- {
			txn.Delete(part[i], client.AnyVersion)
		}
		_, err := s.link.client.Commit(ctx, txn)
		var refused *client.TxnError
		switch {
		case errors.As(err, &refused):
			failed += len(part)
		case err != nil:
			return err
		}
	}
	if failed > 0 {
		return wrong("Failed to delete some node(s) in the subtree!",
			fmt.Sprintf("left: %s, because one in each of their batches was refused: "+
				"it has changed meanwhile, may not be deleted, or belongs to the system; try again, or with -b 1",
				wording.Count(failed, "znode")))
	}
	return s.out.emit(doneResult{"deleteall", path})
}
