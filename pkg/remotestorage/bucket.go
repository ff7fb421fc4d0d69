package remotestorage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"gocloud.dev/blob"
)

// mostListed bounds a listing, which is held in memory. What is left out of it counts too: a
// store may send pages of nothing without an end.
const mostListed = 1_000_000

// List implements [Store]. It leaves out marks of empty folders and, for file://, what is no
// regular file: a link may lead anywhere, and a pipe is never read to its end.
func (b *Bucket) List(ctx context.Context, prefix string) ([]Object, error) {
	var found []Object
	page := blob.FirstPageToken
	for seen := 0; len(page) > 0; seen++ {
		objects, next, err := b.blobs.ListPage(ctx, page, 1000, &blob.ListOptions{Prefix: b.location.prefix + prefix})
		if err != nil {
			return nil, fmt.Errorf("list %q: %w", prefix, err)
		}
		if seen += len(objects); seen > mostListed {
			return nil, fmt.Errorf("list %q: %w: it has more than %d objects", prefix, errListed, mostListed)
		}
		for _, o := range objects {
			var file fs.FileInfo
			if strings.HasSuffix(o.Key, "/") || o.As(&file) && !file.Mode().IsRegular() {
				continue
			}
			found = append(found, Object{
				Name: strings.TrimPrefix(o.Key, b.location.prefix), Size: o.Size, MD5: o.MD5, ETag: etagOf(o),
			})
		}
		page = next
	}
	return found, nil
}

func etagOf(o *blob.ListObject) string {
	var s3 types.Object
	if !o.As(&s3) || s3.ETag == nil {
		return ""
	}
	return strings.Trim(*s3.ETag, `"`)
}

// Write implements [Store].
func (b *Bucket) Write(ctx context.Context, name string, c Content, r io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // cancelling before Close discards the written data
	w, err := b.blobs.NewWriter(ctx, b.location.prefix+name, &blob.WriterOptions{
		BufferSize: int(partSize(c.Size)), MaxConcurrency: 2, ContentType: c.Type, ContentMD5: c.MD5,
	})
	if err != nil {
		return fmt.Errorf("write %q: %w", name, err)
	}
	if _, err := io.Copy(w, r); err != nil {
		cancel()
		// If the store ended the transfer, Close returns the reason.
		if closing := w.Close(); !errors.Is(closing, context.Canceled) {
			err = errors.Join(err, closing)
		}
		return fmt.Errorf("write %q: %w", name, err)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("write %q: %w", name, err)
	}
	return nil
}

// Read implements [Store].
func (b *Bucket) Read(ctx context.Context, name string) (io.ReadCloser, error) {
	r, err := b.blobs.NewReader(ctx, b.location.prefix+name, nil)
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", name, err)
	}
	return r, nil
}
