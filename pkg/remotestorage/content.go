package remotestorage

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"os"
	"path"
)

// Part sizes: small files use parts of minPart, and no file has more than maxParts parts, because
// S3 accepts at most 10,000.
const (
	minPart  = 8 << 20
	maxParts = 9000
)

// partSize returns the part size for a file of size bytes: a whole number of MiB.
func partSize(size int64) int64 {
	const mib = 1 << 20
	return max(minPart, (size/maxParts+mib)/mib*mib)
}

// inspect reads a file once.
func inspect(file string) (_ Content, err error) {
	f, err := os.Open(file)
	if err != nil {
		return Content{}, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return Content{}, err
	}
	c := Content{Type: TypeOf(file)}
	whole := md5.New()
	var tags []byte
	for {
		part := md5.New()
		n, err := io.CopyN(io.MultiWriter(whole, part), f, partSize(info.Size()))
		c.Size += n
		if n > 0 {
			tags = part.Sum(tags)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Content{}, err
		}
	}
	c.MD5 = whole.Sum(nil)
	all := md5.Sum(tags)
	c.etag = fmt.Sprintf("%s-%d", hex.EncodeToString(all[:]), len(tags)/md5.Size)
	return c, nil
}

// same reports whether an object has the content c. If the store's checksum does not prove it, the
// object is read: the tag of an encrypted S3 object is not a checksum, and folders have no
// checksums.
func same(ctx context.Context, s Store, o Object, c Content) (_ bool, err error) {
	switch {
	case o.Size != c.Size:
		return false, nil
	case bytes.Equal(o.MD5, c.MD5), o.ETag != "" && o.ETag == c.etag:
		return true, nil
	}
	r, err := s.Read(ctx, o.Name)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	sum := md5.New()
	if _, err := io.Copy(sum, r); err != nil {
		return false, fmt.Errorf("read %q: %w", o.Name, err)
	}
	return bytes.Equal(sum.Sum(nil), c.MD5), nil
}

// mediaTypes maps extensions to media types for the files that experiments make. For other files,
// the result depends on the machine.
var mediaTypes = map[string]string{
	".csv": "text/csv; charset=utf-8", ".html": "text/html; charset=utf-8", ".json": "application/json",
	".log": "text/plain; charset=utf-8", ".md": "text/markdown; charset=utf-8", ".png": "image/png",
	".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8", ".yaml": "application/yaml",
}

// TypeOf returns the media type of a file by its name.
func TypeOf(name string) string {
	ext := path.Ext(name)
	if t := mediaTypes[ext]; t != "" {
		return t
	}
	if t := mime.TypeByExtension(ext); t != "" {
		return t
	}
	return "application/octet-stream"
}
