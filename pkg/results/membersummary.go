package results

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// MemberSummary is one member's measured population in one step.
type MemberSummary struct {
	// MemberSecond has the counts and latencies for the whole step; its Second is 0.
	MemberSecond
	// Histogram covers the ok requests, by the [DatabaseRun.Timing] of the step; nil if not
	// recorded, such as after a killed run.
	Histogram *hdrhistogram.Histogram
}

// SummarizeMembers sums up each member's answers, by step and member. Format 1 records lack them:
// missing is then [NotRecorded]. It calls each with the rows of members.csv, including the rows
// before an error; a row is valid until the next.
func SummarizeMembers(dir string, run *DatabaseRun, each func(*MemberSecond)) (members []MemberSummary, missing Reason, err error) {
	type place struct{ step, member int }
	all := map[place]*MemberSummary{}
	err = EachMemberSecond(filepath.Join(dir, FileMembers), len(run.Members), func(m *MemberSecond) {
		each(m)
		if m.Phase != PhaseMeasure {
			return
		}
		p := place{m.Step, m.Member}
		if all[p] == nil {
			all[p] = &MemberSummary{MemberSecond: MemberSecond{Step: m.Step, Phase: m.Phase, Member: m.Member}}
		}
		all[p].Merge(m)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, NotRecorded, nil
	}
	if err != nil && !errors.Is(err, ErrTruncated) {
		return nil, "", err
	}
	histograms, err := ReadMemberHistograms(filepath.Join(dir, FileMembersLatency), len(run.Members))
	if err != nil && !errors.Is(err, ErrTruncated) && !errors.Is(err, fs.ErrNotExist) {
		return nil, "", err
	}
	order := func(a, b place) int { return (a.step-b.step)<<20 + a.member - b.member }
	for _, p := range slices.SortedFunc(maps.Keys(all), order) {
		all[p].Histogram = histograms[MemberSeries{run.Timing(p.step), p.step, p.member}]
		members = append(members, *all[p])
	}
	return members, "", nil
}
