package linefile

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/coreos/dbtester/pkg/files/regularfile"
	"github.com/coreos/dbtester/pkg/files/wholefile"
)

// Compressed is the suffix of compressed files: readers of NAME read NAME.gz where NAME is missing.
const Compressed = ".gz"

// Compress replaces a file of whole lines with its compressed form, if it has at least atLeast
// bytes, and reports whether it did. After an error the file is as it was. A file whose last line
// is incomplete stays as it is, so that the missing part stays visible.
func Compress(path string, atLeast int64) (done bool, err error) {
	f, err := regularfile.Open(path)
	if err != nil {
		return false, fmt.Errorf("compress: %w", err)
	}
	defer f.Close()
	whole, size, err := wholeLines(f)
	switch {
	case err != nil:
		return false, fmt.Errorf("compress %s: %w", path, Bare(err))
	case size < atLeast || whole < size || whole > maxTable:
		return false, nil
	}
	if err := wholefile.Write(path+Compressed, func(w io.Writer) error {
		// The usual level takes some times as long, for a sixth less.
		packed, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
		if err != nil {
			return err
		}
		_, err = io.Copy(packed, io.NewSectionReader(f, 0, size))
		return errors.Join(err, packed.Close())
	}); err != nil {
		return false, fmt.Errorf("compress %s: %w", path, Bare(err))
	}
	if err := os.Remove(path); err != nil {
		return false, errors.Join(fmt.Errorf("compress: %w", err), os.Remove(path+Compressed))
	}
	return true, nil
}

// ReadCompressed returns the contents of a compressed file, which must be at most limit bytes.
func ReadCompressed(path string, limit int64) ([]byte, error) {
	r, err := openCompressed(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("must be at most %d bytes", limit)}
	}
	return data, err
}

// PlainSize returns the size in bytes that a file had before it was compressed, or its size if it
// is not. It trusts the size the file states, up to the most bytes that a reader would read.
func PlainSize(path string) (int64, error) {
	f, err := regularfile.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if filepath.Ext(path) != Compressed || info.Size() < 18 {
		return info.Size(), nil
	}
	var size [4]byte // the end of a gzip file
	if _, err := f.ReadAt(size[:], info.Size()-int64(len(size))); err != nil {
		return 0, err
	}
	return min(int64(binary.LittleEndian.Uint32(size[:])), maxTable), nil
}

// compressedFile inflates a file. It ends with [ErrTruncated] if its last line is incomplete or the
// file was cut, and with another error after maxTable bytes.
type compressedFile struct {
	f      *os.File
	packed *gzip.Reader
	read   int64
	last   byte
}

// openCompressed opens a file in compressed form.
func openCompressed(path string) (*compressedFile, error) {
	f, err := regularfile.Open(path)
	if err != nil {
		return nil, err
	}
	packed, err := gzip.NewReader(bufio.NewReaderSize(f, 64<<10))
	if err != nil {
		f.Close()
		return nil, &fs.PathError{Op: "read", Path: path, Err: cut(err)}
	}
	return &compressedFile{f: f, packed: packed, last: '\n'}, nil
}

func (c *compressedFile) Read(p []byte) (int, error) {
	n, err := c.packed.Read(p)
	if n > 0 {
		c.read, c.last = c.read+int64(n), p[n-1]
	}
	switch {
	case c.read > maxTable:
		return 0, fmt.Errorf("a table must be at most %d bytes", int64(maxTable))
	case err == io.EOF && c.last == '\n' && c.read > 0:
		return n, err
	}
	return n, cut(err)
}

// Close closes the file.
func (c *compressedFile) Close() error { return c.f.Close() }

// cut returns the error of a file that ends too early, or another error as it is.
func cut(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF {
		return ErrTruncated
	}
	return err
}

// maxTable is the maximum size of a CSV file in bytes: more than a day of seconds.
const maxTable = 1 << 30
