package submission

import "github.com/coreos/dbtester/pkg/results/digest"

// renewal makes the digests for the packed files of one database, with a list of the files that
// differ from the records. The archive has no digests for the original files: they would confirm a
// guess about the scrubbed text.
type renewal struct{ before, packed map[string]digest.Digest }

func newRenewal() renewal {
	return renewal{map[string]digest.Digest{}, map[string]digest.Digest{}}
}

// leaveOut records a file that is not packed.
func (r renewal) leaveOut(file string, recorded bool) {
	if recorded {
		r.before[file] = digest.Digest{}
	}
}

// pack records a packed file and its original content.
func (r renewal) pack(file string, recorded bool, before, packed []byte) {
	if recorded {
		r.before[file], r.packed[file] = digest.OfData(before), digest.OfData(packed)
	}
}

// by names the program that renews digests.
const by = "dbtester submit"

// set returns the digests, with the earlier changes to the run. The result states if the run had no
// digests.
func (r renewal) set(p *packer, before *digest.Set) *digest.Set {
	s := &digest.Set{ByFile: r.before}
	if before == nil || len(before.ByFile) == 0 {
		s.Changes = append(s.Changes, digest.Change{By: by})
	} else {
		for _, c := range before.Changes {
			s.Changes = append(s.Changes, digest.Change{By: p.names.text(c.By),
				Changed: p.packedNames(c.Changed), Shortened: p.packedNames(c.Shortened), Removed: p.packedNames(c.Removed), Added: p.packedNames(c.Added)})
		}
	}
	if len(r.before) > 0 {
		s.Renew(by, r.packed)
	}
	return s
}

// packedNames are the file paths in the archive.
func (p *packer) packedNames(files []string) (names []string) {
	for _, file := range files {
		names = append(names, p.packedName(file))
	}
	return names
}
