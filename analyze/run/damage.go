package run

import (
	"strings"

	"github.com/coreos/dbtester/pkg/ability/capacity"
	"github.com/coreos/dbtester/pkg/files/linefile"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/digest"
)

// mostDamaged limits the files of one kind that get a mark each.
const mostDamaged = 5

// damageOf returns marks on files that differ from the manifest, and on deliberate changes.
// Manifests by older releases have no digests, hence no marks.
func damageOf(s *digest.Set, dir string) []results.Mark {
	switch {
	case s == nil:
		return nil
	case len(s.ByFile) == 0 && len(s.Changes) == 0:
		return []results.Mark{results.NewMark(mark.NoDigests, false, nil, nil)}
	}
	var requests, others []digest.Difference
	for _, d := range s.Check(dir) {
		if results.OfRequests(d.File) || strings.TrimSuffix(d.File, linefile.Compressed) == capacity.File {
			requests = append(requests, d)
		} else {
			others = append(others, d)
		}
	}
	marks := append(damageMarks(mark.RequestsDamaged, true, requests), damageMarks(mark.RecordsDamaged, false, others)...)
	for _, c := range s.Changes {
		marks = append(marks, changeMark(c))
	}
	return marks
}

// damageMarks returns a mark for each file up to a bound, and one for the rest.
func damageMarks(code string, invalid bool, damaged []digest.Difference) (marks []results.Mark) {
	for i, d := range damaged {
		if i == mostDamaged {
			return append(marks, results.NewMark(code, invalid, mark.Values{"more": float64(len(damaged) - i)}, nil))
		}
		values, words := mark.Values{}, mark.Words{"file": d.File}
		switch {
		case d.Err != nil:
			words["why"] = Cause(d.Err).Error()
		case d.Is.Bytes == d.Was.Bytes:
			values["same_bytes"] = float64(d.Is.Bytes)
		default:
			values["bytes"], values["recorded_bytes"] = float64(d.Is.Bytes), float64(d.Was.Bytes)
		}
		marks = append(marks, results.NewMark(code, invalid, values, words))
	}
	return marks
}

func changeMark(c digest.Change) results.Mark {
	if c.Files() == 0 {
		return results.NewMark(mark.RecordsChanged, false, nil, mark.Words{"by": c.By})
	}
	return results.NewMark(mark.RecordsChanged, false, mark.Values{"files": float64(c.Files())}, mark.Words{"by": c.By, "what": c.String()})
}
