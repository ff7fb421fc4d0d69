// Package sidecar keeps the manifest of a run next to its classic files, which have no place for
// versions, marks and totals.
package sidecar

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/coreos/dbtester/pkg/files/linefile"
	"github.com/coreos/dbtester/pkg/files/regularfile"
	"github.com/coreos/dbtester/pkg/files/wholefile"
	"github.com/coreos/dbtester/pkg/results"
)

// maxSize is the largest file read, in bytes.
const maxSize = 64 << 20

// ErrOtherRun is the error for a manifest next to another run's classic files.
var ErrOtherRun = errors.New("the classic summary of this manifest does not exist any more")

// record is the manifest for the run of one database, with the summary to which it belongs.
type record struct {
	// Summary is the hexadecimal SHA-256 of the summary next to which the manifest was written:
	// the next run overwrites classic files.
	Summary string `json:"summary_sha256"`
	results.Manifest
}

// Path returns where the manifest next to a classic summary lies.
func Path(summary string) string {
	return strings.TrimSuffix(summary, filepath.Ext(summary)) + ".run.json"
}

// Write writes the manifest for one database next to an existing classic summary.
func Write(summary string, m *results.Manifest) error {
	hash, err := hashOf(summary)
	if err != nil {
		return fmt.Errorf("write the manifest of classic files: %w", err)
	}
	s := record{Summary: hash, Manifest: *m}
	s.Format = results.FormatVersion
	data, err := json.MarshalIndent(&s, "", "  ")
	if err != nil {
		return fmt.Errorf("encode manifest: %w", err)
	}
	path := Path(summary)
	if err := wholefile.Write(path, wholefile.Bytes(append(data, '\n'))); err != nil {
		return fmt.Errorf("write %s: %w", path, linefile.Bare(err))
	}
	return nil
}

// Read reads the manifest next to a classic summary, for one database, as it was in the result
// folder. The error is [os.ErrNotExist] without a manifest, and [ErrOtherRun] if the manifest was
// written next to another summary.
func Read(summary string) (*results.Manifest, error) {
	path := Path(summary)
	data, err := regularfile.Read(path, maxSize)
	if err != nil {
		return nil, fmt.Errorf("read the manifest of classic files: %w", err)
	}
	var s record
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if s.Format < 1 || s.Format > results.FormatVersion || len(s.Databases) != 1 || s.Databases[0] == nil {
		return nil, fmt.Errorf("read %s: not the manifest of one database in a format up to %d", path, results.FormatVersion)
	}
	hash, err := hashOf(summary)
	if err != nil || hash != s.Summary {
		return nil, fmt.Errorf("read %s: %w", path, errors.Join(ErrOtherRun, err))
	}
	return &s.Manifest, nil
}

// hashOf returns the SHA-256 of a small file in hexadecimal.
func hashOf(path string) (string, error) {
	data, err := regularfile.Read(path, maxSize)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
