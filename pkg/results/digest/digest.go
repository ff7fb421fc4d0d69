// Package digest keeps the sizes and hashes that files had when recorded, so that lost and
// damaged files show. It does not protect against changes to both files and digests.
package digest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/files/regularfile"
)

// Largest is the size above which a file has no hash, in bytes: no record is as large, and
// hashing a file made by others must end.
const Largest = 16 << 30

// Digest is a file's size and hash.
type Digest struct {
	Bytes int64 `json:"bytes"`
	// SHA256 is in hexadecimal; "" for a file above [Largest].
	SHA256 string `json:"sha256"`
}

// Set has the digests of files in one folder, by slash-separated path below it.
type Set struct {
	// ByFile is empty as long as the files are being written.
	ByFile map[string]Digest `json:"by_file,omitempty"`
	// Changes are the deliberate changes to the files since then, oldest first.
	Changes []Change `json:"changes,omitempty"`
}

// Change lists files changed on purpose, with renewed digests.
type Change struct {
	// By is the command that changed the files, such as "submit".
	By      string   `json:"by"`
	Changed []string `json:"changed,omitempty"`
	// Shortened are files smaller than before.
	Shortened []string `json:"shortened,omitempty"`
	Removed   []string `json:"removed,omitempty"`
	Added     []string `json:"added,omitempty"`
}

// Files returns how many files changed.
func (c Change) Files() int { return len(c.Changed) + len(c.Shortened) + len(c.Removed) + len(c.Added) }

// String lists the changes, such as "shortened logs/1-etcd.log; removed a.csv, b.csv".
func (c Change) String() string {
	var parts []string
	for _, part := range []struct {
		verb  string
		files []string
	}{{"changed", c.Changed}, {"shortened", c.Shortened}, {"removed", c.Removed}, {"added", c.Added}} {
		if len(part.files) > 0 {
			parts = append(parts, part.verb+" "+strings.Join(part.files, ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// Difference is a file not as recorded.
type Difference struct {
	File string
	Was  Digest
	// Is is zero for a file that cannot be read; Err is the reason.
	Is  Digest
	Err error
}

// OfData returns the digest of a file's contents.
func OfData(data []byte) Digest {
	sum := sha256.Sum256(data)
	return Digest{int64(len(data)), hex.EncodeToString(sum[:])}
}

// OfFile returns the digest of a regular file, reading it piece by piece.
func OfFile(path string) (Digest, error) {
	f, err := regularfile.Open(path)
	if err != nil {
		return Digest{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Digest{}, err
	}
	if info.Size() > Largest {
		return Digest{Bytes: info.Size()}, nil
	}
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(f, Largest+1))
	if err != nil {
		return Digest{}, err
	}
	return Digest{n, hex.EncodeToString(sum.Sum(nil))}, nil
}

// OfFolder returns the digests of the regular files in a folder and below it that keep accepts,
// by path. Hidden files are left out.
func OfFolder(dir string, keep func(file string) bool) (map[string]Digest, error) {
	all := map[string]Digest{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		file, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if file = filepath.ToSlash(file); keep(file) {
			all[file], err = OfFile(path)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a folder without files may be missing
		return nil, fmt.Errorf("hash records: %w", err)
	}
	return all, nil
}

// Check returns the files in a folder that are not as recorded, in name order. Files without a
// digest do not count.
func (s *Set) Check(dir string) (list []Difference) {
	for _, file := range slices.Sorted(maps.Keys(s.ByFile)) {
		d := Difference{File: file, Was: s.ByFile[file]}
		if filepath.IsLocal(file) && fs.ValidPath(file) { // the set may come from others
			d.Is, d.Err = OfFile(filepath.Join(dir, filepath.FromSlash(file)))
		} else {
			d.Err = errors.New("the name leads out of the folder")
		}
		if d.Err != nil || d.Is != d.Was {
			list = append(list, d)
		}
	}
	return list
}

// Renew replaces the digests by now, the digests of the current files, and lists the differences as
// a change. A set without digests gets them without a list.
func (s *Set) Renew(by string, now map[string]Digest) {
	change := Change{By: by}
	for _, file := range slices.Sorted(maps.Keys(s.ByFile)) {
		was := s.ByFile[file]
		is, there := now[file]
		switch {
		case !there:
			change.Removed = append(change.Removed, file)
		case is.Bytes < was.Bytes:
			change.Shortened = append(change.Shortened, file)
		case is != was:
			change.Changed = append(change.Changed, file)
		}
	}
	for _, file := range slices.Sorted(maps.Keys(now)) {
		if _, known := s.ByFile[file]; !known && len(s.ByFile) > 0 {
			change.Added = append(change.Added, file)
		}
	}
	if change.Files() > 0 || len(s.ByFile) == 0 && by != "" {
		s.Changes = append(s.Changes, change)
	}
	s.ByFile = now
}

// Amend renews the digests of some files in a folder. All other digests stay, so that damage
// still shows.
func (s *Set) Amend(by, dir string, files []string) error {
	now := maps.Clone(s.ByFile)
	if now == nil {
		now = map[string]Digest{}
	}
	for _, file := range files {
		d, err := OfFile(filepath.Join(dir, filepath.FromSlash(file)))
		switch {
		case err == nil:
			now[file] = d
		case errors.Is(err, fs.ErrNotExist):
			delete(now, file)
		default:
			return fmt.Errorf("hash a record: %w", err)
		}
	}
	s.Renew(by, now)
	return nil
}

// Intact reports whether a file in a folder is as recorded.
func (s *Set) Intact(dir, file string) bool {
	was, known := s.ByFile[file]
	is, err := OfFile(filepath.Join(dir, filepath.FromSlash(file)))
	return known && err == nil && is == was
}
