package setting

import (
	"maps"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
)

// SameProgram reports whether two runs surely ran the same program: executables with equal hashes,
// or the same server in the same dbtester version. It is false if the records do not show that.
func SameProgram(a, b *run.Run) bool {
	x := Program(a)
	return x != "" && x == Program(b)
}

// Program identifies the program that the members ran, "" if the records do not show it.
func Program(r *run.Run) string {
	var parts []string
	for _, m := range r.Info.Record.Members {
		switch {
		case m.Release != nil && len(m.Release.SHA256) > 0:
			for _, tool := range slices.Sorted(maps.Keys(m.Release.SHA256)) {
				parts = append(parts, tool+" sha256 "+m.Release.SHA256[tool])
			}
		case m.Release == nil && r.Info.Record.Built == run.BuiltIn && r.Info.Manifest != nil && r.Info.Manifest.Tool.Version != "":
			tool := r.Info.Manifest.Tool
			parts = append(parts, "built into dbtester "+strings.TrimSpace(tool.Version+" "+tool.Commit))
		default:
			return ""
		}
	}
	parts = run.Distinct(parts)
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(append([]string{r.Info.Record.Database}, parts...), ", ")
}
