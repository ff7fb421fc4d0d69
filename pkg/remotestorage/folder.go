package remotestorage

import (
	"errors"
	"fmt"
	"io/fs"

	"gocloud.dev/blob/fileblob"
)

// openFolder opens a folder in place of a bucket. The folder must exist; subfolders are created on
// demand.
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
	return &Bucket{portable{blobs}, at}, nil
}
