package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	dirPerm  = 0o755
	filePerm = 0o644

	// maxSlug keeps paths short; titles are sentences.
	maxSlug = 80
)

// Folder is one result folder. Its methods are safe for concurrent use, except
// that manifests must be written one after the other.
type Folder struct{ dir string }

// Create makes base/SLUG/TIME+suffix/, where SLUG is made from the title and
// TIME is started in UTC as 20060102T150405Z; if it is taken, "-2", "-3"... is
// appended.
func Create(base, title string, started time.Time, suffix string) (*Folder, error) {
	parent := filepath.Join(base, slug(title))
	if err := os.MkdirAll(parent, dirPerm); err != nil {
		return nil, fmt.Errorf("create result folder: %w", err)
	}
	name := started.UTC().Format("20060102T150405Z") + suffix
	dir := filepath.Join(parent, name)
	for n := 2; ; n++ {
		err := os.Mkdir(dir, dirPerm)
		if err == nil {
			return &Folder{dir: dir}, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("create result folder: %w", err)
		}
		dir = filepath.Join(parent, name+"-"+strconv.Itoa(n))
	}
}

// Open opens an existing result folder: a directory that holds a manifest.
func Open(dir string) (*Folder, error) {
	f := &Folder{dir: dir}
	if _, err := os.Stat(f.Path(FileManifest)); err != nil {
		return nil, fmt.Errorf("open result folder %s: %w", dir, err)
	}
	return f, nil
}

// Dir is the folder's directory, as it was given.
func (f *Folder) Dir() string { return f.dir }

// Path joins elements below the folder.
func (f *Folder) Path(elem ...string) string {
	return filepath.Join(append([]string{f.dir}, elem...)...)
}

// MakeTag makes the folder of one database, if it is not there, and returns its
// directory. A tag that is not the plain name of a folder is an error.
func (f *Folder) MakeTag(tag string) (dir string, err error) {
	if !filepath.IsLocal(tag) || tag == "." || strings.ContainsAny(tag, `/\`) || tag == DirReport || tag == FileManifest {
		return "", fmt.Errorf("tag %q cannot name a folder", tag)
	}
	dir = f.Path(tag)
	if err := os.MkdirAll(dir, dirPerm); err != nil {
		return "", fmt.Errorf("create folder of %q: %w", tag, err)
	}
	return dir, nil
}

// WriteManifest replaces the manifest: a reader sees the old one or the new one,
// also after a crash. It is written as [FormatVersion] whatever m.Format says.
func (f *Folder) WriteManifest(m *Manifest) error {
	written := *m
	written.Format = FormatVersion
	data, err := json.MarshalIndent(&written, "", "  ")
	if err != nil {
		return fmt.Errorf("encode manifest: %w", err)
	}
	return replaceFile(f.Path(FileManifest), append(data, '\n'))
}

// Manifest reads the manifest. One of a newer format is an error, because this
// program would misread its folder.
func (f *Folder) Manifest() (*Manifest, error) {
	path := f.Path(FileManifest)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	// The version is read first and alone: a newer format may not decode at all.
	var version struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	switch {
	case version.Format > FormatVersion:
		return nil, fmt.Errorf("read %s: format %d is newer than this program's %d: use a newer dbtester", path, version.Format, FormatVersion)
	case version.Format < 1:
		return nil, fmt.Errorf("read %s: not a manifest: format is %d", path, version.Format)
	}
	var m Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return &m, nil
}

// slug is a title as a folder's name: lower-case letters, digits and the dots
// inside words, and one dash for whatever lies between.
func slug(title string) string {
	var words []string
	for _, w := range strings.FieldsFunc(strings.ToLower(title), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.' && r != '_'
	}) {
		if w = strings.Trim(w, "."); w != "" {
			words = append(words, w)
		}
	}
	s := strings.Join(words, "-")
	if len(s) > maxSlug {
		s = strings.Trim(s[:maxSlug], "-.")
	}
	if s == "" {
		return "untitled"
	}
	return s
}

// replaceFile writes a file whole: beside it first, then renamed over it, both
// synced, so that a crash leaves the old content or the new.
func replaceFile(path string, data []byte) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", path, bare(err))
		}
	}()
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(filePerm), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes a rename in dir last.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
