package install

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"path"
	"strings"
)

// sums are the lines in a checksum file.
type sums []sum

// sum is one line: a hash in lower-case hex and the name of the hashed file, which is empty if the
// checksum file contains only a hash.
type sum struct{ hex, name string }

// parseSums parses lines "HASH", "HASH FILE" and "HASH *FILE" with SHA-256 or SHA-512 hashes. It
// rejects weaker hashes.
func parseSums(text string) (sums, error) {
	var list sums
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		digest, name, _ := strings.Cut(line, " ")
		name = strings.TrimPrefix(strings.TrimSpace(name), "*")
		raw, err := hex.DecodeString(digest)
		if err != nil || len(raw) != sha256.Size && len(raw) != sha512.Size {
			return nil, fmt.Errorf("%.80q is not a line with a SHA-256 or SHA-512 hash", line)
		}
		list = append(list, sum{hex: strings.ToLower(digest), name: name})
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("it holds no hash")
	}
	return list, nil
}

// of returns the sum for the file with this base name.
func (s sums) of(name string) (sum, error) {
	for _, line := range s {
		if path.Base(line.name) == name || len(s) == 1 && line.name == "" {
			return line, nil
		}
	}
	return sum{}, fmt.Errorf("no checksum is given for %s", name)
}

func (s sum) newHash() hash.Hash {
	if len(s.hex) == 2*sha512.Size {
		return sha512.New()
	}
	return sha256.New()
}

// check compares the hash h with the sum. name is that of the hashed file.
func (s sum) check(name string, h hash.Hash) error {
	if got := hex.EncodeToString(h.Sum(nil)); got != s.hex {
		return fmt.Errorf("bad checksum: %s has SHA-%d %s, but %s was published", name, 8*h.Size(), got, s.hex)
	}
	return nil
}

// checkFile compares a file with the sum.
func (s sum) checkFile(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("hash a file: %w", err)
	}
	defer f.Close()
	h := s.newHash()
	if _, err := io.Copy(h, f); err != nil {
		return fmt.Errorf("hash a file: %w", err)
	}
	return s.check(path.Base(file), h)
}
