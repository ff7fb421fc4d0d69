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
)

// layout puts a tool that is Path itself under the tool's name.
func (l Local) layout() map[string]string {
	layout := map[string]string{}
	for tool, rel := range l.Files {
		layout[tool] = rel
		if rel == "" {
			layout[tool] = tool
		}
	}
	return layout
}

func (l Local) describe(string) string { return "copy of " + l.Path }

// obtain copies. Links are followed, because the user named the place; links
// inside a linked directory are not.
func (l Local) obtain(ctx context.Context, s *stage) error {
	layout := l.layout()
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

// copyTree copies a file or a directory.
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

// copyFile copies one regular file, and whether it is executable.
func copyFile(ctx context.Context, from, to string) error {
	// Asked before opening, which would wait for ever at a pipe.
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
