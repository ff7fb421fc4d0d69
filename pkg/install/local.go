package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/coreos/dbtester/pkg/install/recipe"
)

// copyLocal copies. It follows links, because the user named the place, but not links inside a
// linked directory.
func (s *stage) copyLocal(ctx context.Context, l recipe.Local) error {
	layout := l.Layout()
	for _, tool := range slices.Sorted(maps.Keys(l.Files)) {
		from, to := filepath.Join(l.Path, l.Files[tool]), filepath.Join(s.dir, layout[tool])
		if err := copyTree(ctx, from, to); err != nil {
			return fmt.Errorf("copy %s: %w", tool, err)
		}
	}
	s.source = l.Path
	s.notes = []string{"copied from this machine, not compared with any published checksum"}
	return nil
}

func copyTree(ctx context.Context, from, to string) error {
	from, err := filepath.EvalSymlinks(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		rel, err := filepath.Rel(from, p)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		return copyFile(ctx, p, filepath.Join(to, rel))
	})
}

// copyFile copies a regular file, including its executable bit.
func copyFile(ctx context.Context, from, to string) error {
	// Check before opening, which would block on a pipe.
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", from)
	}
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644|info.Mode().Perm()&0o111)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, ctxReader{ctx, src})
	return errors.Join(err, dst.Close())
}

// ctxReader stops reading when its context ends.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (c ctxReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
