package runtest

import (
	"path/filepath"
	"time"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// progress writes the ticks of a load, spread evenly over the part of the step in each interval.
func (f *Fixture) progress(dir string, run *results.DatabaseRun) {
	f.t.Helper()
	intervals, err := results.ReadIntervals(filepath.Join(dir, results.FileIntervals))
	f.Ok(err)
	w, err := results.NewProgressWriter(filepath.Join(dir, results.FileProgress))
	f.Ok(err)
	for _, v := range intervals {
		s := run.Steps[v.Step]
		from := max(time.Unix(v.Second, 0).Sub(s.Start), 0)
		to := min(time.Unix(v.Second+1, 0).Sub(s.Start), s.End.Sub(s.Start))
		n := int64((to - from) / results.ProgressTick)
		for i := range n {
			part := func(of int64) int64 { return of*(i+1)/n - of*i/n }
			at := from + time.Duration(i)*results.ProgressTick
			f.Ok(w.Write([]results.Progress{{
				Step: v.Step, FromNS: int64(at), ToNS: int64(at + results.ProgressTick), Operation: v.Operation,
				Due: part(v.Due), OK: part(v.OK), Failed: part(v.Failed), Unsent: part(v.Unsent),
			}}))
		}
	}
	f.Ok(w.Close())
}

// places writes where a load with two members sent its requests: a third to the first member.
func (f *Fixture) places(dir string, run *results.DatabaseRun) {
	f.t.Helper()
	intervals, err := results.ReadIntervals(filepath.Join(dir, results.FileIntervals))
	f.Ok(err)
	w, err := results.NewMemberWriter(filepath.Join(dir, results.FileMembers))
	f.Ok(err)
	for _, v := range intervals {
		all := v.Latency(results.TimingService, workload.OK)
		row := func(member int, ok, failed int64) results.MemberSecond {
			of := results.Extent{SumNS: all.SumNS * ok / v.OK, MinNS: all.MinNS, MaxNS: all.MaxNS}
			return results.MemberSecond{Second: v.Second, Step: v.Step, Phase: v.Phase, Member: member, OK: ok, Failed: failed, Service: of, Response: of}
		}
		f.Ok(w.Write([]results.MemberSecond{row(0, v.OK/3, v.Failed), row(1, v.OK-v.OK/3, 0)}))
	}
	f.Ok(w.Close())
	run.Steps[0].WaitingNS, run.Steps[0].ConnectionsLost, run.Steps[0].Reconnects = int64(800*time.Millisecond), 3, 2
	run.Steps[0].LargestGap = &results.Gap{FromNS: int64(1500 * time.Millisecond), ToNS: int64(1750 * time.Millisecond)}
	run.Steps[1].LargestGap = &results.Gap{ToNS: int64(20 * time.Millisecond)}
}
