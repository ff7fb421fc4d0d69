package submission

import "github.com/coreos/dbtester/pkg/results/digest"

// renewal makes the digests of one database's packed files, with a list of those that are not
// as they were recorded. It has no digest of what they were before: that would confirm a
// guess of what was scrubbed.
type renewal struct {
	digests map[string]digest.Digest
	change  digest.Change
}

// leaveOut notes a file that is not packed.
func (r *renewal) leaveOut(file string, recorded bool) {
	if recorded {
		r.change.Removed = append(r.change.Removed, file)
	}
}

// pack notes a file and what it was before.
func (r *renewal) pack(file string, recorded bool, before, packed []byte) {
	if !recorded {
		return
	}
	if r.digests == nil {
		r.digests = map[string]digest.Digest{}
	}
	r.digests[file] = digest.OfData(packed)
	switch {
	case string(before) == string(packed):
	case len(packed) < len(before):
		r.change.Shortened = append(r.change.Shortened, file)
	default:
		r.change.Changed = append(r.change.Changed, file)
	}
}

// by is what renews digests here.
const by = "dbtester submit"

// set returns the digests, with the changes that a run has had before. One that had no
// digests says so.
func (r *renewal) set(p *packer, before *digest.Set) *digest.Set {
	s := &digest.Set{ByFile: r.digests}
	if before == nil || len(before.ByFile) == 0 {
		s.Changes = append(s.Changes, digest.Change{By: by})
	} else {
		for _, c := range before.Changes {
			s.Changes = append(s.Changes, digest.Change{By: p.names.text(c.By),
				Changed: p.packedNames(c.Changed), Shortened: p.packedNames(c.Shortened), Removed: p.packedNames(c.Removed), Added: p.packedNames(c.Added)})
		}
	}
	if r.change.By = by; r.change.Files() > 0 {
		s.Changes = append(s.Changes, r.change)
	}
	return s
}

// packedNames are the paths of files in the archive.
func (p *packer) packedNames(files []string) (names []string) {
	for _, file := range files {
		names = append(names, p.packedName(file))
	}
	return names
}
