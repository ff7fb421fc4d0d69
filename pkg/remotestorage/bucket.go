package remotestorage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"gocloud.dev/blob"
)

// mostListed bounds a listing, which is held in memory. Omitted entries count too: a store may send
// empty pages without end.
const mostListed = 1_000_000

// List implements [Store]. It omits marks for empty folders and, for file://, everything but
// regular files: a link may lead anywhere, and a pipe is never read to its end.
func (b *Bucket) List(ctx context.Context, prefix string) ([]Object, error) {
	var found []Object
	page := blob.FirstPageToken
	for seen := 0; len(page) > 0; seen++ {
		objects, next, err := b.objects.list(ctx, b.location.prefix+prefix, page, 1000)
		if err != nil {
			return nil, fmt.Errorf("list %q: %w", prefix, err)
		}
		if seen += len(objects); seen > mostListed {
			return nil, fmt.Errorf("list %q: %w: it has more than %d objects", prefix, errListed, mostListed)
		}
		for _, o := range objects {
			if strings.HasSuffix(o.Name, "/") || o.irregular {
				continue
			}
			o.Name = strings.TrimPrefix(o.Name, b.location.prefix)
			found = append(found, o)
		}
		page = next
	}
	return found, nil
}

// Write implements [Store].
func (b *Bucket) Write(ctx context.Context, name string, c Content, r io.Reader) error {
	if err := b.objects.write(ctx, b.location.prefix+name, c, r); err != nil {
		return fmt.Errorf("write %q: %w", name, err)
	}
	return nil
}

// Read implements [Store].
func (b *Bucket) Read(ctx context.Context, name string) (io.ReadCloser, error) {
	r, err := b.objects.read(ctx, b.location.prefix+name)
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", name, err)
	}
	return r, nil
}

// portable are the objects in a folder.
type portable struct{ *blob.Bucket }

var _ objects = portable{}

func (p portable) close() error { return p.Close() }

func (p portable) list(ctx context.Context, prefix string, page []byte, most int) ([]Object, []byte, error) {
	listed, next, err := p.ListPage(ctx, page, most, &blob.ListOptions{Prefix: prefix})
	var found []Object
	for _, o := range listed {
		var file fs.FileInfo
		found = append(found, Object{
			Name: o.Key, Size: o.Size, MD5: o.MD5, irregular: o.As(&file) && !file.Mode().IsRegular(),
		})
	}
	return found, next, err
}

func (p portable) write(ctx context.Context, key string, c Content, r io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // cancelling before Close discards the written data
	w, err := p.NewWriter(ctx, key, &blob.WriterOptions{
		BufferSize: int(partSize(c.Size)), MaxConcurrency: 2, ContentType: c.Type, ContentMD5: c.MD5,
	})
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, r); err != nil {
		cancel()
		// If the store ended the transfer, Close returns the reason.
		if closing := w.Close(); !errors.Is(closing, context.Canceled) {
			err = errors.Join(err, closing)
		}
		return err
	}
	return w.Close()
}

func (p portable) read(ctx context.Context, key string) (io.ReadCloser, error) {
	return p.NewReader(ctx, key, nil)
}
