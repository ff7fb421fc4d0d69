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

	"github.com/coreos/dbtester/pkg/files/linefile"
	"github.com/coreos/dbtester/pkg/files/regularfile"
	"github.com/coreos/dbtester/pkg/files/wholefile"
)

const (
	dirPerm = 0o755

	// maxSlug keeps paths short; titles are sentences.
	maxSlug = 80

	// maxManifest is the largest manifest read, in bytes.
	maxManifest = 64 << 20
)

// Folder accesses one result folder. Its methods are safe for concurrent use, except that
// manifests must be written one after the other.
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

// Dir returns the directory, as it was given.
func (f *Folder) Dir() string { return f.dir }

// Path joins elements below the folder.
func (f *Folder) Path(elem ...string) string {
	return filepath.Join(append([]string{f.dir}, elem...)...)
}

// MakeTag makes the folder of one database, if it is missing, and returns its directory. A tag must
// be a plain folder name, else it is an error.
func (f *Folder) MakeTag(tag string) (dir string, err error) {
	if err := checkTag(tag); err != nil {
		return "", err
	}
	dir = f.Path(tag)
	if err := os.MkdirAll(dir, dirPerm); err != nil {
		return "", fmt.Errorf("create folder of %q: %w", tag, err)
	}
	return dir, nil
}

// checkTag refuses a tag that is not a plain folder name.
func checkTag(tag string) error {
	if !filepath.IsLocal(tag) || tag == "." || strings.ContainsAny(tag, `/\`) || tag == DirReport || tag == FileManifest {
		return fmt.Errorf("tag %q cannot name a folder", tag)
	}
	return nil
}

// WriteManifest replaces the manifest: a reader sees the old one or the new one,
// also after a crash. Its format is [FormatVersion]; m.Format is ignored.
func (f *Folder) WriteManifest(m *Manifest) error {
	written := *m
	written.Format = FormatVersion
	data, err := json.MarshalIndent(&written, "", "  ")
	if err != nil {
		return fmt.Errorf("encode manifest: %w", err)
	}
	return replaceFile(f.Path(FileManifest), append(data, '\n'))
}

// Manifest reads the manifest. A newer format is an error, because this program would
// misread its folder.
func (f *Folder) Manifest() (*Manifest, error) {
	path := f.Path(FileManifest)
	data, err := regularfile.Read(path, maxManifest)
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
	for i, d := range m.Databases {
		if d == nil {
			return nil, fmt.Errorf("read %s: database %d must be an object, got null", path, i+1)
		}
		if err := checkTag(d.Tag); err != nil {
			return nil, fmt.Errorf("read %s: database %d: %w", path, i+1, err)
		}
	}
	return &m, nil
}

// slug makes a folder name from a title: lower-case letters, digits and the dots inside words,
// and one dash for everything between them.
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

// replaceFile replaces a file, which stays whole even after a crash.
func replaceFile(path string, data []byte) error {
	if err := wholefile.Write(path, wholefile.Bytes(data)); err != nil {
		return fmt.Errorf("write %s: %w", path, linefile.Bare(err))
	}
	return nil
}
