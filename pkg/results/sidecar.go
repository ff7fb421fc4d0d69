package results

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ErrOtherRun is that a manifest lies beside the classic files of another run.
var ErrOtherRun = errors.New("the summary that it was written beside is not there any more")

// sidecar is a manifest beside the classic files of one database's run, which have
// no place for versions, marks and totals.
type sidecar struct {
	// Summary is the SHA-256, in hexadecimal, of the summary it was written beside:
	// classic files are overwritten by whoever runs next.
	Summary string `json:"summary_sha256"`
	Manifest
}

// SidecarPath is where the manifest beside a classic summary lies.
func SidecarPath(summary string) string {
	return strings.TrimSuffix(summary, filepath.Ext(summary)) + ".run.json"
}

// WriteSidecar writes a manifest of one database beside a classic summary that
// lies there already.
func WriteSidecar(summary string, m *Manifest) error {
	hash, err := hashOf(summary)
	if err != nil {
		return fmt.Errorf("write manifest beside classic files: %w", err)
	}
	s := sidecar{Summary: hash, Manifest: *m}
	s.Format = FormatVersion
	data, err := json.MarshalIndent(&s, "", "  ")
	if err != nil {
		return fmt.Errorf("encode manifest: %w", err)
	}
	return replaceFile(SidecarPath(summary), append(data, '\n'))
}

// ReadSidecar reads the manifest beside a classic summary: of one database, as it
// was in the result folder. Without one the error is [os.ErrNotExist], and
// [ErrOtherRun] if it was written beside another summary.
func ReadSidecar(summary string) (*Manifest, error) {
	path := SidecarPath(summary)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read manifest beside classic files: %w", err)
	}
	var s sidecar
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if s.Format != FormatVersion || len(s.Databases) != 1 {
		return nil, fmt.Errorf("read %s: not the manifest of one database in format %d", path, FormatVersion)
	}
	hash, err := hashOf(summary)
	if err != nil || hash != s.Summary {
		return nil, fmt.Errorf("read %s: %w", path, errors.Join(ErrOtherRun, err))
	}
	return &s.Manifest, nil
}

// hashOf is the SHA-256 of a small file in hexadecimal.
func hashOf(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
