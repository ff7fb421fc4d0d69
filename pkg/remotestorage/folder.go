package remotestorage

import (
	"errors"
	"fmt"
	"io/fs"

	"gocloud.dev/blob/fileblob"
)

// openFolder opens a folder, which stands for a bucket: it must exist, and the
// folders inside it are made.
func openFolder(at location, o Options) (*Bucket, error) {
	blobs, err := fileblob.OpenBucket(at.bucket, &fileblob.Options{
		CreateDir: o.Create, DirFileMode: 0o755, NoTempDir: true, Metadata: fileblob.MetadataDontWrite,
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("folder %q %w: %w", at.bucket, ErrNoBucket, err)
	}
	if err != nil {
		return nil, err
	}
	return &Bucket{blobs, at, func() error { return nil }}, nil
}
