package remotestorage

import (
	"context"
	"errors"
	"fmt"

	"gocloud.dev/blob"
)

// Open opens the store at an address and checks that the bucket exists and that the credentials may
// list it. The caller closes the store.
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

// reach lists at most one object, to see whether the bucket can be used.
func (b *Bucket) reach(ctx context.Context) error {
	_, _, err := b.objects.list(ctx, b.location.prefix, blob.FirstPageToken, 1)
	if missing(err) {
		return fmt.Errorf("bucket %q %w: %w", b.location.bucket, ErrNoBucket, err)
	}
	return err
}
