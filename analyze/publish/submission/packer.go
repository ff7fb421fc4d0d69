package submission

import (
	"path"
	"strings"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/digest"
)

// packer makes the files for an archive. It reads all files twice. The first pass finds all names,
// so a name that only occurs late is also replaced in earlier files.
type packer struct {
	*checked
	names *names
	known vocabulary
	// unknown are fields without a treatment. lostLines are log lines that would no longer match
	// their rules.
	unknown, lostLines map[string]bool
	// digests are the digests of packed files, by packed tag.
	digests map[string]*digest.Set
	// leftOut maps file paths to reasons. strays are the paths to files that do not belong to the
	// record. unlisted are the logs that the manifest does not list.
	leftOut                   map[string]string
	strays, unlisted, reduced []string
}

// packedName is the path of a file in the archive. Names in it are replaced, except in the part
// that selects the rule.
func (p *packer) packedName(file string) string {
	if ruleOf(file).form == "" {
		return p.names.word(file)
	}
	dir, name := path.Split(file)
	if m := numbered().FindStringSubmatch(name); m != nil && m[1] != results.FileServer && m[1] != results.FileDatabase {
		name = strings.TrimSuffix(name, m[1]) + p.names.word(m[1]) // a log named by a driver
	}
	return p.names.word(dir) + name
}
