// Package remotestorage copies folders of files to and from a place identified by an address: a
// Google Cloud Storage bucket (gs://bucket/folder), an S3 bucket (s3://bucket/folder) or a folder
// (file:///folder).
//
// [Upload] sends only missing files, and verifies every object by its MD5. There are two layers of
// retries. The clients retry a request that failed temporarily with back-off: the S3 client in up
// to 4 attempts, and the Google Cloud Storage client for half a minute per part it sends. A file
// whose transfer failed temporarily is sent again from the beginning, up to 3 attempts in all,
// after pauses of 1 and 2 seconds.
package remotestorage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
)

// Store holds objects by name. Names use slashes. It is safe for concurrent use.
type Store interface {
	// List returns the objects whose names begin with prefix, sorted by name.
	List(ctx context.Context, prefix string) ([]Object, error)
	// Write stores the content of r, which must match c, as an object. The object is complete or
	// absent. An existing object is replaced.
	Write(ctx context.Context, name string, c Content, r io.Reader) error
	// Read opens an object. The caller closes the reader.
	Read(ctx context.Context, name string) (io.ReadCloser, error)
}

// Object describes a stored object.
type Object struct {
	Name string
	Size int64 // bytes
	// MD5 is nil if the store does not provide it.
	MD5 []byte
	// ETag is the tag assigned by S3, without quotes; "" for other stores.
	ETag string

	irregular bool // it is not a regular file
}

// Options are [Open]'s inputs apart from the address.
type Options struct {
	// KeyFile holds the credentials: a service account's key for gs, a shared credentials file for
	// s3, unused for file. If it is empty, the environment provides them: application-default
	// credentials for gs, the AWS SDK's chain for s3.
	KeyFile string
	// Create creates the bucket if it does not exist. Buckets are created in no other case.
	Create bool
	// Project owns a bucket created in gs.
	Project string
}

// ErrNoBucket means that a bucket, or the folder in a file:// address, does not exist.
var ErrNoBucket = errors.New("does not exist")

// Bucket is an open [Store].
type Bucket struct {
	objects  objects
	location location
}

// objects calls the service behind a bucket, by whole keys. It is safe for concurrent use.
type objects interface {
	// list returns up to most objects whose keys begin with prefix, sorted by key, and the page that
	// follows, nil after the last one. The first page is [blob.FirstPageToken].
	list(ctx context.Context, prefix string, page []byte, most int) ([]Object, []byte, error)
	// write and read are as in [Store].
	write(ctx context.Context, key string, c Content, r io.Reader) error
	read(ctx context.Context, key string) (io.ReadCloser, error)
	close() error
}

var _ Store = (*Bucket)(nil)

// location is a parsed address.
type location struct {
	scheme string
	// bucket is the name of a bucket, or the absolute path of a folder.
	bucket string
	// prefix is "" or a folder inside the bucket, ending in a slash.
	prefix string
}

// IsURL reports whether text is an address for [Open] instead of a path.
func IsURL(text string) bool {
	scheme, _, found := strings.Cut(text, "://")
	return found && (scheme == "gs" || scheme == "s3" || scheme == "file")
}

// Check returns an error if address is malformed. It contacts nothing.
func Check(address string) error {
	_, err := parse(address)
	return err
}

func parse(address string) (location, error) {
	u, err := url.Parse(address)
	if err != nil {
		return location{}, fmt.Errorf("parse the address of a store: %w", err)
	}
	folder := strings.Trim(u.Path, "/")
	switch {
	case !IsURL(address):
		return location{}, fmt.Errorf("the address of a store must be gs://bucket/folder, s3://bucket/folder or file:///folder, got %q", address)
	case u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return location{}, fmt.Errorf("the address of a store must be a bucket and a folder alone, got %q", u.Redacted())
	case u.Scheme == "file" && (u.Host != "" || folder == ""):
		return location{}, fmt.Errorf("the address of a folder must be file:///folder with an absolute path, got %q", address)
	case u.Scheme == "file":
		return location{scheme: u.Scheme, bucket: filepath.FromSlash("/" + folder)}, nil
	case u.Host == "":
		return location{}, fmt.Errorf("the address of a store must name a bucket, got %q", address)
	case folder == "":
		return location{scheme: u.Scheme, bucket: u.Host}, nil
	default:
		return location{scheme: u.Scheme, bucket: u.Host, prefix: folder + "/"}, nil
	}
}

// Close releases the store.
func (b *Bucket) Close() error { return b.objects.close() }

// Content describes a file before it is sent.
type Content struct {
	Size int64  // bytes
	MD5  []byte // of the whole file
	Type string // media type
	// etag is the tag S3 assigns if the file is sent in parts of partSize.
	etag string
}
