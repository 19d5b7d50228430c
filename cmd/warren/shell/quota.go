package shell

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/datatree/quota"
	"github.com/seed94657493/warren/proto/paths"
)

// quotaJSON is what the znodes of a quota hold; of the use only count and bytes.
type quotaJSON struct {
	Count     int64 `json:"count"`
	Bytes     int64 `json:"bytes"`
	ByteHard  int64 `json:"byteHardLimit"`
	CountHard int64 `json:"countHardLimit"`
}

func limitOf(flag string, l *quota.Limits) *int64 {
	switch flag {
	case "n":
		return &l.Count
	case "b":
		return &l.Bytes
	case "N":
		return &l.CountHard
	}
	return &l.BytesHard
}

// quotaFlag returns the flag of the one limit that a command is about, "" if there is none.
func quotaFlag(a *arguments) (flag string, err error) {
	for _, f := range []string{"n", "b", "N", "B"} {
		switch {
		case !a.has(f):
		case flag == "":
			flag = f
		default:
			return "", wrong(fmt.Sprintf("The option '%s' was specified but an option from this group has already "+
				"been selected: '%s'", f, flag), "")
		}
	}
	return flag, nil
}

// limitsOf and usedOf are the znodes of the quota of a path.
func limitsOf(path string) string { return quota.Root + path + "/" + quota.LimitsName }
func usedOf(path string) string   { return quota.Root + path + "/" + quota.StatsName }

// readQuota reads one of them.
func (s *Shell) readQuota(ctx context.Context, znode string) (quota.Limits, error) {
	data, _, err := s.link.client.Get(ctx, znode)
	return quota.Parse(data), err
}

// quotaPath is a line that zkCli.sh prints to standard error.
type quotaPath struct {
	Path string `json:"limits"`
}

func (q quotaPath) appendText(b []byte, _ colours) []byte {
	return append(b, "absolute path is "+q.Path+"\n"...)
}

func (quotaPath) goesToStderr() {}

type quotaResult struct {
	Path  string    `json:"path"`
	Quota quotaJSON `json:"quota"`
	Used  struct {
		Count int64 `json:"count"`
		Bytes int64 `json:"bytes"`
	} `json:"used"`

	limits, used quota.Limits
}

func (r quotaResult) appendText(b []byte, _ colours) []byte {
	return fmt.Appendf(b, "Output quota for %s %s\nOutput stat for %s %s\n", r.Path, quota.AppendLimits(nil, r.limits),
		r.Path, quota.AppendStats(nil, r.used))
}

func runListQuota(ctx context.Context, s *Shell, a *arguments) error {
	path := a.word(0)
	if !s.out.isJSON {
		if err := s.out.emit(quotaPath{limitsOf(path)}); err != nil {
			return err
		}
	}
	if err := checkPath(quota.Root+path, false); err != nil {
		return err
	}
	limits, err := s.readQuota(ctx, limitsOf(path))
	if isGone(err) {
		// An answer, not a failure: scripts list quotas without knowing whether there are any.
		return &failure{text: "quota for " + path + " does not exist.", hint: "`setquota` sets one",
			code: codeOK, err: err}
	}
	if err != nil {
		return err
	}
	used, err := s.readQuota(ctx, usedOf(path))
	if err != nil {
		return err
	}
	r := quotaResult{Path: path, limits: limits, used: used,
		Quota: quotaJSON{limits.Count, limits.Bytes, limits.BytesHard, limits.CountHard}}
	r.Used.Count, r.Used.Bytes = used.Count, used.Bytes
	return s.out.emit(r)
}

// quotaValue reads the limit that setquota was given.
func quotaValue(flag, text string) (int64, error) {
	isCount := strings.EqualFold(flag, "n")
	bits := 64
	if isCount {
		bits = 32
	}
	value, err := strconv.ParseInt(text, 10, bits)
	switch {
	case err != nil:
		return 0, wrong("NumberFormatException happens when parsing the option value", "a limit is a number")
	case isCount && value <= 0:
		return 0, wrong("the num quota must be greater than zero", "`delquota -"+flag+"` removes the limit")
	case value < 0:
		return 0, wrong("the bytes quota must be greater than or equal to zero",
			"`delquota -"+flag+"` removes the limit")
	}
	return value, nil
}

func runSetQuota(ctx context.Context, s *Shell, a *arguments) error {
	flag, err := quotaFlag(a)
	if err != nil {
		return err
	}
	if flag == "" {
		return wrong("Missing required option: [-n num soft quota, -b bytes soft quota, -N num hard quota, -B bytes "+
			"hard quota]", "usage: "+find("setquota").usageLine())
	}
	if len(a.words) == 0 {
		return s.misused("setquota", "the path is missing")
	}
	path := a.word(0)
	if strings.HasPrefix(path, quota.Root) {
		return wrong("cannot set a quota under the path: "+path, "quotas are set on znodes of applications")
	}
	if hasChroot(s.link.servers) {
		return wrong("a quota below a chroot would have no effect: "+path,
			"connect without one, and set it on the path from the root of the tree")
	}
	value, err := quotaValue(flag, a.flags[flag])
	if err == nil {
		err = checkPath(quota.Root+path, false)
	}
	if err == nil {
		err = s.checkQuotaPlace(ctx, path)
	}
	if err != nil {
		return err
	}
	q, err := s.putQuota(ctx, path, flag, value)
	if err != nil {
		return err
	}
	if err := s.warnOfQuota(ctx, path, q); err != nil {
		return err
	}
	return s.out.emit(doneResult{"setquota", path})
}

// checkQuotaPlace refuses a quota on a znode that does not exist, or in line with another one.
func (s *Shell) checkQuotaPlace(ctx context.Context, path string) error {
	_, exists, err := s.link.client.Exists(ctx, path)
	if err != nil {
		return err
	}
	if !exists {
		return wrong(path+" does not exist.", "create it first")
	}
	child := ""
	err = s.walk(ctx, quota.Root+path, func(n walked) error {
		if n.depth > 0 && paths.NameOf(n.path) == quota.LimitsName && n.path != limitsOf(path) {
			child = strings.TrimPrefix(paths.ParentOf(n.path), quota.Root)
			return errFound
		}
		return nil
	})
	if err != nil && !errors.Is(err, errFound) && !isGone(err) {
		return err
	}
	if child != "" {
		return wrong(fmt.Sprintf("%s has a child %s which has a quota", path, child),
			"`delquota "+child+"` removes that one")
	}
	for above := paths.ParentOf(path); above != "/"; above = paths.ParentOf(above) {
		_, exists, err := s.link.client.Exists(ctx, limitsOf(above))
		if err != nil {
			return err
		}
		if exists {
			return wrong(fmt.Sprintf("%s has a parent %s which has a quota", path, above),
				"`delquota "+above+"` removes that one")
		}
	}
	return nil
}

var errFound = errors.New("found")

// putQuota sets one limit and keeps the others.
func (s *Shell) putQuota(ctx context.Context, path, flag string, value int64) (quota.Limits, error) {
	l, err := s.readQuota(ctx, limitsOf(path))
	isNew := isGone(err)
	if isNew {
		l, err = quota.None(), s.link.client.CreateAll(ctx, quota.Root+path)
	}
	if err != nil {
		return l, err
	}
	*limitOf(flag, &l) = value
	text := quota.AppendLimits(nil, l)
	if isNew {
		_, err = s.link.client.Create(ctx, limitsOf(path), text, client.Persistent)
	} else {
		_, err = s.link.client.Set(ctx, limitsOf(path), text, client.AnyVersion)
	}
	if err != nil {
		return l, err
	}
	// Also after a setquota that has lost its connection before this.
	if _, exists, err := s.link.client.Exists(ctx, usedOf(path)); err != nil || exists {
		return l, err
	}
	_, err = s.link.client.Create(ctx, usedOf(path), quota.AppendStats(nil, quota.Limits{}), client.Persistent)
	return l, err
}

// warnOfQuota says which limits the subtree is beyond already.
func (s *Shell) warnOfQuota(ctx context.Context, path string, l quota.Limits) error {
	used, err := s.readQuota(ctx, usedOf(path))
	if err != nil {
		return err
	}
	beyond := func(used, soft, hard int64) bool {
		return soft > -1 && used > soft || hard > -1 && used > hard
	}
	const warning = "[Warning]: the %s quota you create is less than the existing %s:%d"
	if beyond(used.Count, l.Count, l.CountHard) {
		err = s.out.emit(note{fmt.Sprintf(warning, "count", "count", used.Count)})
	}
	if err == nil && beyond(used.Bytes, l.Bytes, l.BytesHard) {
		err = s.out.emit(note{fmt.Sprintf(warning, "bytes", "bytes", used.Bytes)})
	}
	return err
}

func runDelQuota(ctx context.Context, s *Shell, a *arguments) error {
	flag, err := quotaFlag(a)
	if err != nil {
		return err
	}
	path := a.word(0)
	at := quota.Root + path
	if err := checkPath(at, false); err != nil {
		return err
	}
	l, err := s.readQuota(ctx, limitsOf(path))
	if isGone(err) {
		return s.out.emit(note{"Quota does not exist for " + path})
	}
	if err != nil {
		return err
	}
	if flag != "" {
		*limitOf(flag, &l) = -1
		_, err := s.link.client.Set(ctx, limitsOf(path), quota.AppendLimits(nil, l), client.AnyVersion)
		if err != nil {
			return err
		}
		return s.out.emit(doneResult{"delquota", path})
	}
	for _, znode := range []string{limitsOf(path), usedOf(path)} {
		if err := s.link.client.Delete(ctx, znode, client.AnyVersion); err != nil && !isGone(err) {
			return err
		}
	}
	// What is empty now goes too, up to the first that other quotas need.
	for ; at != quota.Root; at = paths.ParentOf(at) {
		err := s.link.client.Delete(ctx, at, client.AnyVersion)
		if errors.Is(err, client.ErrNotEmpty) {
			break
		}
		if err != nil && !isGone(err) {
			return err
		}
	}
	return s.out.emit(doneResult{"delquota", path})
}
