package install

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Release describes an obtained release. Its JSON form is release.json in its directory, where
// paths are relative so that a cache can be moved.
type Release struct {
	// Name and Version are as requested; the version has no leading "v".
	Name    string `json:"name"`
	Version string `json:"version"`
	// Kind says how it was obtained, in the words that [recipe.Recipe] uses.
	Kind string `json:"kind"`
	// Source is where it came from: a URL, a package with its version, or a path.
	Source string `json:"source"`
	// Documented is where the facts in the recipe are documented, see [recipe.About].
	Documented string `json:"documented,omitempty"`
	// Dir is the absolute path to the release directory.
	Dir string `json:"-"`
	// Files maps each tool, including Needs, to the absolute path of its executable or directory.
	Files map[string]string `json:"files"`
	// SHA256 maps each tool in the release to its hash in hex. The hash of a directory covers "HASH
	// PATH" lines, sorted by path.
	SHA256 map[string]string `json:"sha256"`
	// Needs are the tools that belong to the machine instead of the release.
	Needs []string `json:"needs,omitempty"`
	// Bytes is the total size of the release files.
	Bytes int64 `json:"bytes"`
	// Obtained is the time at which the release was obtained.
	Obtained time.Time `json:"obtained"`
	// Notes must be printed wherever a result names the release.
	Notes []string `json:"notes,omitempty"`
}

// Verify compares the release files with their recorded hashes. It reads every file, and every file
// must have a hash.
func (r Release) Verify() error {
	var problems []error
	if len(r.Files) == 0 {
		problems = append(problems, errors.New("release.json must name files, got none"))
	}
	for _, tool := range slices.Sorted(maps.Keys(r.Files)) {
		if r.SHA256[tool] == "" && !slices.Contains(r.Needs, tool) {
			problems = append(problems, fmt.Errorf("release.json must have the SHA-256 of %s, got none", tool))
		}
	}
	for _, tool := range slices.Sorted(maps.Keys(r.SHA256)) {
		got, _, err := hashTree(r.Files[tool])
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("hash %s: %w", tool, err))
		case got != r.SHA256[tool]:
			problems = append(problems, fmt.Errorf("%s has SHA-256 %s, but %s was installed", r.Files[tool], got, r.SHA256[tool]))
		}
	}
	return errors.Join(problems...)
}

// hashTree returns the hash of the file at path, or of its hash and path lines if it is a
// directory, and the number of hashed bytes.
func hashTree(path string) (sum string, bytes int64, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", 0, err
	}
	if !info.IsDir() {
		return hashFile(path)
	}
	all := sha256.New()
	// WalkDir proceeds in lexical order, so the hash is deterministic.
	err = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		one, n, err := hashEntry(p, d)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(path, p)
		if err != nil {
			return err
		}
		bytes += n
		fmt.Fprintf(all, "%s  %s\n", one, filepath.ToSlash(rel))
		return nil
	})
	return hex.EncodeToString(all.Sum(nil)), bytes, err
}

// hashEntry hashes the content of a file or the target of a link.
func hashEntry(path string, d fs.DirEntry) (string, int64, error) {
	if d.Type()&fs.ModeSymlink == 0 {
		return hashFile(path)
	}
	target, err := os.Readlink(path)
	if err != nil {
		return "", 0, err
	}
	sum := sha256.Sum256([]byte("link " + target))
	return hex.EncodeToString(sum[:]), 0, nil
}

func hashFile(path string) (string, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), n, err
}
