// Package s3 is a store of objects in a bucket, for any server that speaks Amazon's S3.
//
// It owns the client of one bucket, and nothing else: what the objects mean is up to package backup. A Bucket may be
// used by many goroutines.
package s3

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/seed94657493/warren/cmd/warren/backup"
	"github.com/seed94657493/warren/cmd/warren/wording"
)

// Options say how a bucket is reached. What is empty comes from the environment.
type Options struct {
	// Endpoint is the URL of the store; else AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, or Amazon's.
	Endpoint string
	// Region is its region; else AWS_REGION, AWS_DEFAULT_REGION, or what the store says.
	Region string
	// PathStyle names the bucket in the path of each request, not in the name of the host.
	PathStyle bool
	// CA is a file with certificates in PEM that are trusted besides the system's; else AWS_CA_BUNDLE.
	CA string
}

// tries is how often a request is sent that fails for a reason that may pass.
const tries = 5

// roleTimeout bounds a question to the machine's own service for credentials, which most machines do not have.
const roleTimeout = 5 * time.Second

// Bucket is a bucket, or the objects of it below a prefix.
type Bucket struct {
	client *minio.Client
	bucket string
	prefix string // "" or with a slash at its end
}

// Open returns the bucket that a URL s3://BUCKET/PREFIX names. Credentials come from AWS_ACCESS_KEY_ID and
// AWS_SECRET_ACCESS_KEY, from the profile AWS_PROFILE of ~/.aws/credentials, or from the role of the service account
// or of the machine. Nothing is asked of the store.
func Open(ctx context.Context, name string, o Options) (*Bucket, error) {
	u, err := url.Parse(name)
	if err != nil || u.Scheme != "s3" || u.Host == "" || u.Host != u.Hostname() || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "" {
		return nil, fmt.Errorf("%s is not of the form s3://BUCKET/PREFIX", name)
	}
	endpoint, err := endpointOf(cmp.Or(o.Endpoint, os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"),
		"https://s3.amazonaws.com"))
	if err != nil {
		return nil, err
	}
	isSecure := endpoint.Scheme == "https"
	transport, err := minio.DefaultTransport(isSecure)
	if err != nil {
		return nil, err
	}
	if file := cmp.Or(o.CA, os.Getenv("AWS_CA_BUNDLE")); file != "" && isSecure {
		by := "AWS_CA_BUNDLE"
		if o.CA != "" {
			by = "--s3-ca"
		}
		if transport.TLSClientConfig.RootCAs, err = trusted(file); err != nil {
			return nil, wording.File(by, file, err)
		}
	}
	lookup := minio.BucketLookupAuto
	if o.PathStyle {
		lookup = minio.BucketLookupPath
	}
	creds := credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{},
		&credentials.FileAWSCredentials{}, &credentials.IAM{Client: &http.Client{Timeout: roleTimeout}}})
	client, err := minio.New(endpoint.Host,
		&minio.Options{Creds: creds, Secure: isSecure, Transport: transport, BucketLookup: lookup,
			Region: cmp.Or(o.Region, os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")), MaxRetries: tries})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	b := &Bucket{client: client, bucket: u.Host}
	if prefix := strings.Trim(path.Clean("/"+u.Path), "/"); prefix != "" {
		b.prefix = prefix + "/"
	}
	if value, err := creds.GetWithContext(client.CredContext()); err != nil || value.AccessKeyID == "" {
		return nil, errors.Join(
			fmt.Errorf("%s: no credentials: neither AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, nor a profile, "+
				"nor a role", b), err)
	}
	return b, nil
}

// endpointOf reads the URL of a store. A path would be lost.
func endpointOf(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "" ||
		u.User != nil || u.RawQuery != "" {
		return nil, fmt.Errorf("endpoint %q is not of the form https://HOST:PORT", text)
	}
	return u, nil
}

// trusted returns the system's certificates and those of a file.
func trusted(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, errors.New("it has no certificate in PEM")
	}
	return pool, nil
}

// String implements backup.Objects.
func (b *Bucket) String() string { return strings.TrimSuffix("s3://"+b.bucket+"/"+b.prefix, "/") }

// fail names what an error is about. Of nil it makes nil.
func (b *Bucket) fail(what, name string, err error) error {
	if err == nil {
		return nil
	}
	answer := minio.ToErrorResponse(err)
	if answer.Code == minio.NoSuchKey {
		return fmt.Errorf("%s %s/%s: %w", what, b, name, fs.ErrNotExist)
	}
	if answer.Code != "" && !strings.Contains(answer.Error(), answer.Code) {
		err = fmt.Errorf("%s: %w", answer.Code, err)
	}
	return fmt.Errorf("%s %s/%s: %w", what, b, name, err)
}

// Put implements backup.Objects. What is larger than 16 MiB is sent in parts, and is there when the last one is.
func (b *Bucket) Put(ctx context.Context, name string, r io.Reader, size int64) error {
	_, err := b.client.PutObject(ctx, b.bucket, b.prefix+name, r, size, minio.PutObjectOptions{})
	return b.fail("put", name, err)
}

// Replace implements backup.Objects.
func (b *Bucket) Replace(ctx context.Context, name string, content []byte, version string) error {
	opts := minio.PutObjectOptions{DisableMultipart: true}
	if version == "" {
		opts.SetMatchETagExcept("*")
	} else {
		opts.SetMatchETag(version)
	}
	put := func() error {
		_, err := b.client.PutObject(ctx, b.bucket, b.prefix+name, bytes.NewReader(content), int64(len(content)), opts)
		return err
	}
	err := put()
	if minio.ToErrorResponse(err).StatusCode == http.StatusNotImplemented { // the store does not know the header
		opts = minio.PutObjectOptions{DisableMultipart: true}
		err = put()
	}
	switch minio.ToErrorResponse(err).StatusCode {
	case http.StatusPreconditionFailed, http.StatusConflict:
		return fmt.Errorf("%s/%s: %w", b, name, backup.ErrReplaced)
	}
	return b.fail("put", name, err)
}

// Get implements backup.Objects.
func (b *Bucket) Get(ctx context.Context, name string) (*backup.Object, error) {
	body, info, _, err := minio.Core{Client: b.client}.GetObject(ctx, b.bucket, b.prefix+name,
		minio.GetObjectOptions{})
	if err != nil {
		return nil, b.fail("get", name, err)
	}
	return &backup.Object{ReadCloser: body, Size: info.Size, Version: info.ETag}, nil
}

// List implements backup.Objects.
func (b *Bucket) List(ctx context.Context, fn func(backup.ObjectInfo) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for o := range b.client.ListObjectsIter(ctx, b.bucket,
		minio.ListObjectsOptions{Prefix: b.prefix, Recursive: true}) {
		if o.Err != nil {
			return b.fail("list", "", o.Err)
		}
		name, ok := strings.CutPrefix(o.Key, b.prefix)
		if !ok {
			return fmt.Errorf("list %s: the store names %q", b, o.Key)
		}
		if err := fn(backup.ObjectInfo{Name: name, Size: o.Size, Changed: o.LastModified}); err != nil {
			return err
		}
	}
	return nil
}

// Remove implements backup.Objects.
func (b *Bucket) Remove(ctx context.Context, name string) error {
	err := b.fail("remove", name, b.client.RemoveObject(ctx, b.bucket, b.prefix+name, minio.RemoveObjectOptions{}))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
