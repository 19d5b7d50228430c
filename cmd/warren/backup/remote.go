package backup

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Remote is the admin server of a server, ours or ZooKeeper's since 3.9.
type Remote struct {
	// URL is where its commands are, http://host:8080/commands.
	URL string
	// Authorization is the header of that name, such as "digest super:password"; empty for none.
	Authorization string
	// Client asks; nil is http.DefaultClient.
	Client *http.Client
}

// lastZxidHeader is ZooKeeper's name of the header with a snapshot's zxid. Source: operations 3.5.
const lastZxidHeader = "last_zxid"

// AddRemote asks an admin server for a snapshot and adds it. Without the log a snapshot is exact only if no client
// wrote while it was taken: the outcome warns if it is not. Source: operations 3.5.
func (b *Backup) AddRemote(ctx context.Context, r Remote) (Outcome, error) {
	lock, err := b.beginAdding()
	if err != nil {
		return Outcome{}, err
	}
	defer lock.Close()
	a := &addition{Backup: b, taken: time.Now().UTC().Truncate(time.Millisecond)}
	e, err := a.fetch(ctx, r)
	if err != nil {
		return Outcome{}, fmt.Errorf("backup: %s: %w", r.URL, err)
	}
	if e.Exact > e.Last {
		a.out.Warnings = append(a.out.Warnings,
			fmt.Sprintf("%s is named for %v and may hold txns up to %v: without the log between them it "+
				"cannot be made exact; take the backup from the data directory, or while no client writes",
				e.File, e.Last, e.Exact))
	}
	return a.finish(r.URL, r.URL)
}

// fetch receives the snapshot.
func (a *addition) fetch(ctx context.Context, r Remote) (*Entry, error) {
	address, err := url.JoinPath(r.URL, "snapshot")
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"?streaming=true", nil)
	if err != nil {
		return nil, err
	}
	if r.Authorization != "" {
		req.Header.Set("Authorization", r.Authorization)
	}
	resp, err := cmp.Or(r.Client, http.DefaultClient).Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, refusal(resp)
	}
	var zxid Zxid
	if err := zxid.UnmarshalText([]byte(header(resp.Header, lastZxidHeader))); err != nil {
		return nil, fmt.Errorf("header %s: %w", lastZxidHeader, err)
	}
	body := bufio.NewReader(resp.Body)
	name := fmt.Sprintf("snapshot.%x%s", uint64(zxid), extension(body))
	for e := range a.Manifest.of(KindSnapshot) {
		if e.Last == zxid {
			return e, nil // it is there
		}
	}
	e, err := a.keepSnapshot(body, name)
	if err != nil {
		return nil, err
	}
	if size := header(resp.Header, "snapshot_size"); size != "" && size != strconv.FormatInt(e.Bytes, 10) {
		return nil, fmt.Errorf("received %d bytes of %s", e.Bytes, size)
	}
	return e, nil
}

// header returns a header of which the name has an underscore, which net/http does not find in every spelling.
func header(h http.Header, name string) string {
	for key, values := range h {
		if strings.EqualFold(key, name) && len(values) > 0 {
			return values[0]
		}
	}
	return ""
}

// extension returns the suffix for how the bytes are compressed. Source: storage 5.6.
func extension(r *bufio.Reader) string {
	head, _ := r.Peek(8) // what is too short is no snapshot, which its verification says
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return ".gz"
	case bytes.HasPrefix(head, []byte("\x82SNAPPY\x00")):
		return ".snappy"
	}
	return ""
}

// refusal says why the admin server refused. Source: operations 3.3 and 3.5.
func refusal(resp *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 512)) // only for the message
	what := map[int]string{
		http.StatusUnauthorized: "who asks is not known: give credentials",
		http.StatusForbidden: "the credentials are neither those of a super user nor have every " +
			"permission on /",
		http.StatusTooManyRequests:     "one snapshot is given in admin.rateLimiterIntervalInMS, which is 5 minutes",
		http.StatusServiceUnavailable:  "it does not serve, or admin.snapshot.enabled is false",
		http.StatusInternalServerError: "the snapshot failed, or serializeLastProcessedZxid.enabled is false",
	}[resp.StatusCode]
	if what == "" {
		what = strings.TrimSpace(string(text))
	}
	return errors.New(resp.Status + ": " + what)
}
