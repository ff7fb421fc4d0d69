// Package remotestorage copies folders of files to and from a place named by an
// address: a bucket of Google Cloud Storage (gs://bucket/folder), a bucket of S3
// (s3://bucket/folder) or a folder (file:///folder).
//
// [Upload] sends only what is missing there, and verifies every object by its MD5.
// Two layers retry. The clients repeat a request that failed for a passing reason up
// to 4 times, with back-off. A file whose transfer failed for such a reason is sent
// again from its beginning, up to 3 times in all, after pauses of 1 and 2 seconds.
package remotestorage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"gocloud.dev/blob"
)

// Store is a place that holds objects by name. Names use slashes. Several goroutines
// may use it.
type Store interface {
	// List returns the objects whose names begin with prefix, in the order of their
	// names.
	List(ctx context.Context, prefix string) ([]Object, error)
	// Write makes an object of what r returns until its end, which must be c. The
	// object is complete or absent. An object of the same name is replaced.
	Write(ctx context.Context, name string, c Content, r io.Reader) error
	// Read returns the contents of an object. The caller closes the reader.
	Read(ctx context.Context, name string) (io.ReadCloser, error)
}

// Object describes an object as its store does.
type Object struct {
	Name string
	Size int64 // bytes
	// MD5 is nil if the store does not give it.
	MD5 []byte
	// ETag is the tag that S3 gives, without quotes; "" elsewhere.
	ETag string
}

// Options are what [Open] needs besides an address.
type Options struct {
	// KeyFile holds the credentials: a service account's key for gs, a shared
	// credentials file for s3, unused for file. Without one they come from the
	// environment: application-default credentials for gs, the AWS SDK's chain for
	// s3.
	KeyFile string
	// Create makes the bucket if it does not exist. Nothing else makes one.
	Create bool
	// Project owns a bucket that is created by gs.
	Project string
}

// ErrNoBucket is that a bucket, or the folder of file://, does not exist.
var ErrNoBucket = errors.New("does not exist")

// Bucket is an open [Store].
type Bucket struct {
	blobs    *blob.Bucket
	location location
	release  func() error
}

var _ Store = (*Bucket)(nil)

// location is a parsed address.
type location struct {
	scheme string
	// bucket is a bucket's name, or the absolute path of a folder.
	bucket string
	// prefix is "" or a folder inside the bucket with a slash at its end.
	prefix string
}

// IsURL reports whether text is an address that [Open] may open, and no path.
func IsURL(text string) bool {
	scheme, _, found := strings.Cut(text, "://")
	return found && (scheme == "gs" || scheme == "s3" || scheme == "file")
}

// Check reports what is wrong with an address. It contacts nothing.
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

// Open opens the store at an address and finds out that its bucket exists and that
// the credentials may list it. The caller closes it.
func Open(ctx context.Context, address string, o Options) (*Bucket, error) {
	at, err := parse(address)
	if err != nil {
		return nil, err
	}
	var b *Bucket
	switch at.scheme {
	case "gs":
		b, err = openGCS(ctx, at, o)
	case "s3":
		b, err = openS3(ctx, at, o)
	default:
		b, err = openFolder(at, o)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", address, err)
	}
	if err := b.reach(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", address, err), b.Close())
	}
	return b, nil
}

// reach lists one object at most.
func (b *Bucket) reach(ctx context.Context) error {
	_, _, err := b.blobs.ListPage(ctx, blob.FirstPageToken, 1, &blob.ListOptions{Prefix: b.location.prefix})
	if missing(err) {
		return fmt.Errorf("bucket %q %w: %w", b.location.bucket, ErrNoBucket, err)
	}
	return err
}

// Close ends the use of the store.
func (b *Bucket) Close() error { return errors.Join(b.blobs.Close(), b.release()) }
