package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/proto/paths"
)

const (
	quotaRoot  = "/zookeeper/quota"
	limitsName = "zookeeper_limits"
	statsName  = "zookeeper_stats"
	noLimit    = -1
)

// quota is what the znodes zookeeper_limits and zookeeper_stats hold; of the latter only count and bytes. Source:
// operations 5.5, "The quota nodes themselves".
type quota struct {
	Count     int64 `json:"count"`
	Bytes     int64 `json:"bytes"`
	ByteHard  int64 `json:"byteHardLimit"`
	CountHard int64 `json:"countHardLimit"`
}

// parseQuota reads "count=5,bytes=100=;byteHardLimit=-1;countHardLimit=3", in which what is missing is no limit.
func parseQuota(data []byte) (quota, error) {
	q := quota{noLimit, noLimit, noLimit, noLimit}
	for _, part := range bytes.FieldsFunc(data, func(r rune) bool { return r == ',' || r == ';' }) {
		name, value, ok := strings.Cut(string(part), "=")
		value = strings.TrimSuffix(value, "=")
		n, err := strconv.ParseInt(value, 10, 64)
		if !ok || err != nil {
			return q, fmt.Errorf("shell: quota %q: %q is not name=number", data, part)
		}
		switch name {
		case "count":
			q.Count = n
		case "bytes":
			q.Bytes = n
		case "byteHardLimit":
			q.ByteHard = n
		case "countHardLimit":
			q.CountHard = n
		}
	}
	return q, nil
}

// limits is the content of zookeeper_limits, stats that of zookeeper_stats.
func (q quota) limits() string {
	return fmt.Sprintf("count=%d,bytes=%d=;byteHardLimit=%d;countHardLimit=%d", q.Count, q.Bytes,
		q.ByteHard, q.CountHard)
}

func (q quota) stats() string { return fmt.Sprintf("count=%d,bytes=%d", q.Count, q.Bytes) }

// field returns the limit that a flag stands for, and what the limit is called in messages.
func (q *quota) field(flag string) *int64 {
	switch flag {
	case "n":
		return &q.Count
	case "b":
		return &q.Bytes
	case "N":
		return &q.CountHard
	}
	return &q.ByteHard
}

var quotaFlags = []string{"n", "b", "N", "B"}

func (s *Shell) readQuota(ctx context.Context, path string) (quota, error) {
	data, _, err := s.link.client.Get(ctx, path)
	if err != nil {
		return quota{}, err
	}
	return parseQuota(data)
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
	Path  string `json:"path"`
	Quota quota  `json:"quota"`
	Used  struct {
		Count int64 `json:"count"`
		Bytes int64 `json:"bytes"`
	} `json:"used"`
}

func (r quotaResult) appendText(b []byte, _ colours) []byte {
	used := quota{Count: r.Used.Count, Bytes: r.Used.Bytes}
	return fmt.Appendf(b, "Output quota for %s %s\nOutput stat for %s %s\n", r.Path, r.Quota.limits(),
		r.Path, used.stats())
}

func runListQuota(ctx context.Context, s *Shell, a *arguments) error {
	path := a.word(0)
	limits := quotaRoot + path + "/" + limitsName
	if !s.out.isJSON {
		if err := s.out.emit(quotaPath{limits}); err != nil {
			return err
		}
	}
	if err := checkPath(quotaRoot+path, false); err != nil {
		return err
	}
	q, err := s.readQuota(ctx, limits)
	if isGone(err) {
		// An answer, not a failure: scripts list quotas without knowing whether there are any.
		return &failure{text: "quota for " + path + " does not exist.", hint: "`setquota` sets one",
			code: codeOK, err: err}
	}
	if err != nil {
		return err
	}
	used, err := s.readQuota(ctx, quotaRoot+path+"/"+statsName)
	if err != nil {
		return err
	}
	r := quotaResult{Path: path, Quota: q}
	r.Used.Count, r.Used.Bytes = used.Count, used.Bytes
	return s.out.emit(r)
}

// quotaValue reads the one limit that setquota was given.
func quotaValue(a *arguments) (flag string, value int64, err error) {
	for _, f := range quotaFlags {
		if a.has(f) {
			flag = f
		}
	}
	isCount := strings.EqualFold(flag, "n")
	bits := 64
	if isCount {
		bits = 32
	}
	value, err = strconv.ParseInt(a.flags[flag], 10, bits)
	switch {
	case err != nil:
		return flag, 0, wrong("NumberFormatException happens when parsing the option value", "a limit is a number")
	case isCount && value <= 0:
		return flag, 0, wrong("the num quota must be greater than zero", "`delquota -"+flag+"` removes the limit")
	case value < 0:
		return flag, 0, wrong("the bytes quota must be greater than or equal to zero",
			"`delquota -"+flag+"` removes the limit")
	}
	return flag, value, nil
}

func runSetQuota(ctx context.Context, s *Shell, a *arguments) error {
	if err := a.onlyOne(quotaFlags...); err != nil {
		return err
	}
	if !slices.ContainsFunc(quotaFlags, a.has) {
		return wrong("Missing required option: [-n num soft quota, -b bytes soft quota, -N num hard quota, -B bytes "+
			"hard quota]", "usage: "+find("setquota").usageLine())
	}
	if len(a.words) == 0 {
		return wrong(find("setquota").usageLine(), "")
	}
	path := a.word(0)
	if strings.HasPrefix(path, quotaRoot) {
		return wrong("cannot set a quota under the path: "+path, "quotas are set on znodes of applications")
	}
	flag, value, err := quotaValue(a)
	if err == nil {
		err = checkPath(quotaRoot+path, false)
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
	err = s.walk(ctx, quotaRoot+path, func(n walked) error {
		if n.depth > 0 && paths.NameOf(n.path) == limitsName && paths.ParentOf(n.path) != quotaRoot+path {
			child = strings.TrimPrefix(paths.ParentOf(n.path), quotaRoot)
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
		_, exists, err := s.link.client.Exists(ctx, quotaRoot+above+"/"+limitsName)
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
func (s *Shell) putQuota(ctx context.Context, path, flag string, value int64) (quota, error) {
	limits := quotaRoot + path + "/" + limitsName
	q, err := s.readQuota(ctx, limits)
	if isGone(err) {
		q = quota{noLimit, noLimit, noLimit, noLimit}
		*q.field(flag) = value
		if err := s.link.client.CreateAll(ctx, quotaRoot+path); err != nil {
			return q, err
		}
		if _, err := s.link.client.Create(ctx, limits, []byte(q.limits()), client.Persistent); err != nil {
			return q, err
		}
		_, err := s.link.client.Create(ctx, quotaRoot+path+"/"+statsName, []byte(quota{}.stats()), client.Persistent)
		return q, err
	}
	if err != nil {
		return q, err
	}
	*q.field(flag) = value
	_, err = s.link.client.Set(ctx, limits, []byte(q.limits()), client.AnyVersion)
	return q, err
}

// warnOfQuota says which limits the subtree is beyond already.
func (s *Shell) warnOfQuota(ctx context.Context, path string, q quota) error {
	used, err := s.readQuota(ctx, quotaRoot+path+"/"+statsName)
	if err != nil {
		return err
	}
	beyond := func(used, soft, hard int64) bool {
		return soft > noLimit && used > soft || hard > noLimit && used > hard
	}
	const warning = "[Warning]: the %s quota you create is less than the existing %s:%d"
	if beyond(used.Count, q.Count, q.CountHard) {
		err = s.out.emit(note{fmt.Sprintf(warning, "count", "count", used.Count)})
	}
	if err == nil && beyond(used.Bytes, q.Bytes, q.ByteHard) {
		err = s.out.emit(note{fmt.Sprintf(warning, "bytes", "bytes", used.Bytes)})
	}
	return err
}

func runDelQuota(ctx context.Context, s *Shell, a *arguments) error {
	if err := a.onlyOne(quotaFlags...); err != nil {
		return err
	}
	path := a.word(0)
	at := quotaRoot + path
	if err := checkPath(at, false); err != nil {
		return err
	}
	q, err := s.readQuota(ctx, at+"/"+limitsName)
	if isGone(err) {
		return s.out.emit(note{"Quota does not exist for " + path})
	}
	if err != nil {
		return err
	}
	for _, flag := range quotaFlags {
		if a.has(flag) {
			*q.field(flag) = noLimit
			if _, err := s.link.client.Set(ctx, at+"/"+limitsName, []byte(q.limits()), client.AnyVersion); err != nil {
				return err
			}
			return s.out.emit(doneResult{"delquota", path})
		}
	}
	for _, name := range []string{limitsName, statsName} {
		if err := s.link.client.Delete(ctx, at+"/"+name, client.AnyVersion); err != nil && !isGone(err) {
			return err
		}
	}
	// What is empty now goes too, up to the first that other quotas need.
	for ; at != quotaRoot; at = paths.ParentOf(at) {
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
