package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// stage is where a recipe builds a release. Its owner holds the lock of the release.
type stage struct {
	in   *Installer
	id   id
	root string // always removed at the end
	dir  string // becomes the release directory
	work string // scratch space

	// Facts about the release that only the recipe knows.
	source string
	notes  []string
}

// newStage makes an empty stage.
func (in *Installer) newStage(id id) (*stage, error) {
	root, err := filepath.Abs(filepath.Join(in.Cache, stagingFolder, id.key()))
	if err != nil {
		return nil, fmt.Errorf("find the cache: %w", err)
	}
	s := &stage{in: in, id: id, root: root, dir: filepath.Join(root, "release"), work: filepath.Join(root, "work")}
	for _, dir := range []string{s.dir, s.work} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, errors.Join(fmt.Errorf("make a staging directory: %w", err), s.remove())
		}
	}
	return s, nil
}

// remove deletes the stage.
func (s *stage) remove() error {
	if err := os.RemoveAll(s.root); err != nil {
		return fmt.Errorf("remove the staging directory: %w", err)
	}
	return nil
}

// say reports progress, prefixed with the release name.
func (s *stage) say(format string, args ...any) {
	s.in.say("%s: "+format, append([]any{s.id}, args...)...)
}

// seal checks that every tool in the layout exists, makes files executable, hashes everything and
// writes release.json.
func (s *stage) seal(r *Release, layout map[string]string) error {
	r.Files, r.SHA256 = map[string]string{}, map[string]string{}
	for _, tool := range slices.Sorted(maps.Keys(layout)) {
		rel := layout[tool]
		path := filepath.Join(s.dir, rel)
		if err := usable(path); err != nil {
			return fmt.Errorf("%s is not usable: %w", tool, err)
		}
		sum, n, err := hashTree(path)
		if err != nil {
			return fmt.Errorf("hash %s: %w", tool, err)
		}
		r.Files[tool], r.SHA256[tool] = rel, sum
		r.Bytes += n
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", releaseFile, err)
	}
	return writeNew(filepath.Join(s.dir, releaseFile), append(data, '\n'))
}

// usable checks that path is not empty, whether a directory or a file. It makes a file executable.
func usable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		entries, err := os.ReadDir(path)
		if err == nil && len(entries) == 0 {
			err = fmt.Errorf("%s is an empty directory", path)
		}
		return err
	}
	if !info.Mode().IsRegular() || info.Size() == 0 {
		return fmt.Errorf("%s is empty or not a file", path)
	}
	return os.Chmod(path, info.Mode().Perm()|0o755)
}

// publish moves the release into the cache.
func (s *stage) publish() error {
	final := s.in.dir(s.id)
	if err := os.MkdirAll(filepath.Dir(final), 0o755); err != nil {
		return fmt.Errorf("make the release's place in the cache: %w", err)
	}
	if err := os.Rename(s.dir, final); err != nil {
		// The parent may have been created in vain. If it contains other versions, Remove fails.
		_ = os.Remove(filepath.Dir(final))
		return fmt.Errorf("move the release into the cache: %w", err)
	}
	return nil
}

// writeNew writes a file that must not exist yet.
func writeNew(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// explain adds a remedy to err.
func (in *Installer) explain(err error) error {
	var file *fs.PathError
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("%w\nthe disk of the cache %s is full: free some space or choose another cache", err, in.Cache)
	case errors.Is(err, fs.ErrPermission) && errors.As(err, &file) && strings.HasPrefix(file.Path, in.Cache):
		return fmt.Errorf("%w\ncheck who owns the cache %s, or choose another one", err, in.Cache)
	default:
		return err
	}
}
