package s3

import (
	"crypto/md5"
	"encoding/pem"
	"encoding/xml"
	"fmt"
	"io"
	"io/fs"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/backup"
	"github.com/seed94657493/warren/test/must"
)

// fake is as much of S3 as Bucket asks for, for one bucket with the name bucket. The tests of test/s3 have a real
// server.
type fake struct {
	mu      sync.Mutex
	objects map[string]string
	// refuse, if not nil, returns the status of an answer without effect, or 0.
	refuse func(r *http.Request) int
	pages  int
}

// pageMax is how many objects one answer lists.
const pageMax = 2

func version(text string) string { return fmt.Sprintf(`"%x"`, md5.Sum([]byte(text))) }

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuse != nil {
		if status := f.refuse(r); status != 0 {
			w.WriteHeader(status)
			return
		}
	}
	key, ok := strings.CutPrefix(r.URL.Path, "/bucket/")
	text, isThere := f.objects[key]
	switch {
	case !ok || !strings.Contains(r.Header.Get("Authorization"), "Credential=KEY/"):
		answer(w, http.StatusForbidden, "AccessDenied")
	case r.Method == http.MethodGet && key == "":
		f.list(w, r)
	case r.Method == http.MethodDelete:
		delete(f.objects, key)
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodPut:
		want, only := r.Header.Get("If-Match"), r.Header.Get("If-None-Match")
		if want != "" && (!isThere || want != version(text)) || only == "*" && isThere {
			answer(w, http.StatusPreconditionFailed, "PreconditionFailed")
			return
		}
		body, _ := io.ReadAll(r.Body)
		f.objects[key] = unchunked(r, string(body))
		w.Header().Set("ETag", version(f.objects[key]))
	case !isThere:
		answer(w, http.StatusNotFound, "NoSuchKey")
	default:
		w.Header().Set("ETag", version(text))
		w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		_, _ = io.WriteString(w, text)
	}
}

// unchunked takes the signatures out of a body that was sent in signed pieces.
func unchunked(r *http.Request, body string) string {
	if !strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		return body
	}
	var text strings.Builder
	for body != "" {
		head, rest, _ := strings.Cut(body, "\r\n")
		var size int
		if _, err := fmt.Sscanf(head, "%x", &size); err != nil || size == 0 || len(rest) < size {
			break
		}
		text.WriteString(rest[:size])
		body = strings.TrimPrefix(rest[size:], "\r\n")
	}
	return text.String()
}

func answer(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>it is %s</Message></Error>", code, code)
}

func (f *fake) list(w http.ResponseWriter, r *http.Request) {
	type content struct {
		Key          string
		Size         int
		ETag         string
		LastModified time.Time
	}
	var page struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		IsTruncated           bool
		NextContinuationToken string
		Contents              []content
	}
	f.pages++
	for _, key := range slices.Sorted(maps.Keys(f.objects)) {
		if !strings.HasPrefix(key, r.URL.Query().Get("prefix")) || key <= r.URL.Query().Get("continuation-token") {
			continue
		}
		if len(page.Contents) == pageMax {
			page.IsTruncated, page.NextContinuationToken = true, page.Contents[pageMax-1].Key
			break
		}
		page.Contents = append(page.Contents,
			content{key, len(f.objects[key]), version(f.objects[key]), time.Unix(1e9, 0)})
	}
	_ = xml.NewEncoder(w).Encode(page)
}

// start serves a fake by TLS with a certificate of its own, and returns the options for it.
func start(t *testing.T, f *fake) Options {
	t.Helper()
	for _, name := range []string{"AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL",
		"AWS_ENDPOINT_URL_S3", "AWS_CA_BUNDLE", "AWS_SESSION_TOKEN", "SSL_CERT_FILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "KEY")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "SECRET")
	f.objects = map[string]string{}
	s := httptest.NewUnstartedServer(f)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes that a test lets fail
	s.StartTLS()
	t.Cleanup(s.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t,
		os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
	return Options{Endpoint: s.URL, Region: "r", PathStyle: true, CA: ca}
}

func put(t *testing.T, b *Bucket, name, text string) {
	t.Helper()
	require.NoError(t, b.Put(t.Context(), name, strings.NewReader(text), int64(len(text))))
}

func TestBucket(t *testing.T) {
	f := new(fake)
	o := start(t, f)
	b := must.Do(Open(t.Context(), "s3://bucket/a/prefix/", o))(t)
	require.Equal(t, "s3://bucket/a/prefix", b.String())
	ctx := t.Context()
	require.ErrorIs(t, must.Err(b.Get(ctx, "none")), fs.ErrNotExist)
	for i := range 5 {
		put(t, b, fmt.Sprint("object", i), strings.Repeat("x", i*1000))
	}
	put(t, b, "empty", "")
	f.objects["a/prefix-of-another/object9"] = "not ours"
	require.Contains(t, f.objects, "a/prefix/object3")
	got := must.Do(b.Get(ctx, "object3"))(t)
	text := must.ReadAll(t, got)
	require.NoError(t, got.Close())
	require.Equal(t, int64(3000), got.Size)
	require.Equal(t, strings.Repeat("x", 3000), string(text))

	var names []string
	require.NoError(t, b.List(ctx, func(i backup.ObjectInfo) error {
		names = append(names, i.Name)
		require.Equal(t, int64(1e9), i.Changed.Unix())
		return nil
	}))
	require.Equal(t, []string{"empty", "object0", "object1", "object2", "object3", "object4"}, names)
	require.Greater(t, f.pages, 2)
	require.ErrorIs(t, b.List(ctx, func(backup.ObjectInfo) error { return io.EOF }), io.EOF)

	require.NoError(t, b.Remove(ctx, "object3"))
	require.NoError(t, b.Remove(ctx, "object3"))
	f.refuse = func(*http.Request) int { return http.StatusNotFound } // as Google's store says it
	require.NoError(t, b.Remove(ctx, "object3"))
	f.refuse = nil
	require.ErrorIs(t, must.Err(b.Get(ctx, "object3")), fs.ErrNotExist)
}

// Replace compares the version, and does without if the store cannot.
func TestReplace(t *testing.T) {
	f := new(fake)
	b := must.Do(Open(t.Context(), "s3://bucket", start(t, f)))(t)
	ctx := t.Context()
	require.NoError(t, b.Replace(ctx, "m", []byte("one"), ""))
	require.ErrorIs(t, b.Replace(ctx, "m", []byte("two"), ""), backup.ErrReplaced)
	got := must.Do(b.Get(ctx, "m"))(t)
	require.NoError(t, got.Close())
	require.NoError(t, b.Replace(ctx, "m", []byte("two"), got.Version))
	require.ErrorIs(t, b.Replace(ctx, "m", []byte("three"), got.Version), backup.ErrReplaced)
	require.Equal(t, "two", f.objects["m"])

	f.refuse = func(r *http.Request) int {
		if r.Header.Get("If-Match") != "" || r.Header.Get("If-None-Match") != "" {
			return http.StatusNotImplemented
		}
		return 0
	}
	require.NoError(t, b.Replace(ctx, "m", []byte("four"), got.Version))
	require.Equal(t, "four", f.objects["m"])
}

// A request is repeated if the store is overloaded, and an error says which object it was about and why.
func TestRefusals(t *testing.T) {
	f := new(fake)
	b := must.Do(Open(t.Context(), "s3://bucket/p", start(t, f)))(t)
	asked := 0
	f.refuse = func(*http.Request) int {
		if asked++; asked == 1 {
			return http.StatusServiceUnavailable
		}
		return 0
	}
	put(t, b, "object", "text")
	require.Equal(t, 2, asked)
	f.refuse = nil

	o := Options{Endpoint: b.client.EndpointURL().String(), Region: "r", PathStyle: true}
	stranger := must.Do(Open(t.Context(), "s3://bucket/p", o))(t)
	err := stranger.Put(t.Context(), "object", strings.NewReader("text"), 4)
	require.ErrorContains(t, err, "certificate", "it is not trusted")
}

func TestCredentialsAreRefused(t *testing.T) {
	f := new(fake)
	o := start(t, f)
	t.Setenv("AWS_ACCESS_KEY_ID", "OTHER")
	b := must.Do(Open(t.Context(), "s3://bucket/p", o))(t)
	err := b.Put(t.Context(), "object", strings.NewReader("text"), 4)
	require.ErrorContains(t, err, "put s3://bucket/p/object")
	require.ErrorContains(t, err, "AccessDenied")
	require.ErrorContains(t, must.Err(b.Get(t.Context(), "object")), "AccessDenied")
}

// Credentials and the endpoint may come from files and from the environment.
func TestEnvironment(t *testing.T) {
	f := new(fake)
	o := start(t, f)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	file := filepath.Join(t.TempDir(), "credentials")
	require.NoError(t,
		os.WriteFile(file, []byte("[other]\naws_access_key_id = KEY\naws_secret_access_key = SECRET\n"), 0o600))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
	t.Setenv("AWS_PROFILE", "other")
	t.Setenv("AWS_ENDPOINT_URL_S3", o.Endpoint)
	t.Setenv("AWS_CA_BUNDLE", o.CA)
	t.Setenv("AWS_REGION", "r")
	b := must.Do(Open(t.Context(), "s3://bucket/p", Options{PathStyle: true}))(t)
	put(t, b, "object", "text")
	require.Equal(t, "text", f.objects["p/object"])
}

func TestNamesThatAreRefused(t *testing.T) {
	o := start(t, new(fake))
	for _, name := range []string{
		"s3://", "s3:///p", "s3://bucket:1/p", "s3://u@bucket/p", "s3://bucket/p?x=1", "s3://bucket/p#x",
		"http://bucket/p",
	} {
		require.ErrorContains(t, must.Err(Open(t.Context(), name, o)), "not of the form s3://BUCKET/PREFIX", name)
	}
	for _, endpoint := range []string{"host:9000", "ftp://host", "https://host/path", "https://"} {
		_, err := Open(t.Context(), "s3://bucket/p", Options{Endpoint: endpoint})
		require.ErrorContains(t, err, "not of the form https://HOST:PORT", endpoint)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for _, ca := range []string{empty, empty + ".none"} {
		_, err := Open(t.Context(), "s3://bucket/p", Options{Endpoint: o.Endpoint, CA: ca})
		require.ErrorContains(t, err, "empty")
	}
	b := must.Do(Open(t.Context(), "s3://bucket/../p//q/", o))(t)
	require.Equal(t, "s3://bucket/p/q", b.String())
}
