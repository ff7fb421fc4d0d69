package results

import (
	"path"
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/files/linefile"
	"github.com/coreos/dbtester/pkg/results/digest"
)

// Recorded reports whether a file in a tag folder was recorded, by its slash-separated path: a
// recorded file cannot be made again. The files made by [Derive], and those next to them for
// programs that read classic files, can.
func Recorded(file string) bool {
	if path.Dir(file) != "." {
		return true
	}
	_, name, numbered := strings.Cut(file, "-")
	switch {
	case slices.Contains([]string{FileDisk, FileClientInterpolated, FileManifest}, file), numbered && name == FileServerInterpolated:
		return false
	case strings.HasPrefix(file, "client-latency-"): // five files, and a manifest for one
		return false
	}
	return true
}

// OfRequests reports whether numbers about requests are computed from a recorded file in a tag
// folder.
func OfRequests(file string) bool {
	file = strings.TrimSuffix(file, linefile.Compressed)
	return slices.Contains([]string{FileIntervals, FileProgress, FileMembers, FileMembersLatency, FileErrors, FileLatency, FileMinutes, FileTotal}, file)
}

// Digest returns the digests of the recorded files in a tag folder.
func Digest(dir string) (map[string]digest.Digest, error) { return digest.OfFolder(dir, Recorded) }
