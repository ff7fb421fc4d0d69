package install

import "time"

// Release is an obtained release. Its JSON form is release.json in its
// directory; there, paths are relative, so that a cache can be moved.
type Release struct {
	// Name and Version are as asked for; the version has no leading "v".
	Name    string `json:"name"`
	Version string `json:"version"`
	// Kind is how it was obtained, in the words of [Recipe.Kind].
	Kind string `json:"kind"`
	// Source is where it came from: a URL, a package path, coordinates.
	Source string `json:"source"`
	// Dir is the release's directory, absolute.
	Dir string `json:"-"`
	// Files maps each tool to its executable or directory, absolute.
	Files map[string]string `json:"files"`
	// SHA256 maps each tool that is part of the release to its hash in hex; of a
	// directory, the hash of its sorted "HASH  PATH" lines.
	SHA256 map[string]string `json:"sha256"`
	// Needs are the tools that are of the machine, not of the release.
	Needs []string `json:"needs,omitempty"`
	// Bytes is the size of what was kept.
	Bytes int64 `json:"bytes"`
	// Obtained is when.
	Obtained time.Time `json:"obtained"`
	// Notes are to be printed wherever the release is named in a result.
	Notes []string `json:"notes,omitempty"`
}
