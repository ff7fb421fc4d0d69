package install

import (
	"fmt"
	"path/filepath"
	"strings"
)

// id identifies a release. Both parts are safe as path elements.
type id struct{ name, version string }

// newID checks name and version, and drops a leading "v" from the version.
func newID(name, version string) (id, error) {
	if len(version) > 1 && version[0] == 'v' && isDigit(version[1]) {
		version = version[1:]
	}
	if err := checkElement("name", name); err != nil {
		return id{}, err
	}
	if err := checkElement("version", version); err != nil {
		return id{}, err
	}
	return id{name, version}, nil
}

// checkElement rejects names that are not a single plain path element.
func checkElement(kind, s string) error {
	ok := len(s) > 0 && len(s) <= 100
	for i := range len(s) {
		c := s[i]
		letter := isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		ok = ok && (letter || i > 0 && strings.IndexByte("._+-", c) >= 0)
	}
	if !ok {
		return fmt.Errorf("%s %q: want a letter or digit, then letters, digits and \"._+-\", at most 100", kind, s)
	}
	return nil
}

// checkInside rejects a path outside the release directory, and the path to its record.
func checkInside(rel string) error {
	if !filepath.IsLocal(rel) || filepath.Clean(rel) == "." || filepath.Clean(rel) == releaseFile {
		return fmt.Errorf("the path %q is not inside a release", rel)
	}
	return nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func (i id) String() string { return i.name + " " + i.version }

// key returns the id as a single path element. Neither part contains "@".
func (i id) key() string { return i.name + "@" + i.version }

func (in *Installer) dir(i id) string { return filepath.Join(in.Cache, i.name, i.version) }

// Entries in a cache apart from the releases' NAME/VERSION/ directories.
const (
	stagingFolder = ".tmp"   // NAME@VERSION/ for releases in the making
	lockFolder    = ".locks" // NAME@VERSION files, which are never removed
	releaseFile   = "release.json"
)
