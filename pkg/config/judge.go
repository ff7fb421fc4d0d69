package config

import (
	"fmt"

	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// verdict declares the bounds on one share.
type verdict struct {
	name, meaning string
	// low means that a share must not be below its bounds. Other shares must not be above.
	low  bool
	spec func(*judgeSpec) *written[workload.Bounds]
	at   func(*workload.Judge) *workload.Bounds
}

// verdicts lists the shares by which a load is judged.
func verdicts() []verdict {
	return []verdict{
		{"achieved", "share of the requests due at the rate that were answered; lower is worse", true,
			func(j *judgeSpec) *written[workload.Bounds] { return &j.achieved },
			func(j *workload.Judge) *workload.Bounds { return &j.Achieved }},
		{"failed", "share of the due requests that failed", false,
			func(j *judgeSpec) *written[workload.Bounds] { return &j.failed },
			func(j *workload.Judge) *workload.Bounds { return &j.Failed }},
		{"unknown", "share of the due requests with an unknown outcome", false,
			func(j *judgeSpec) *written[workload.Bounds] { return &j.unknown },
			func(j *workload.Judge) *workload.Bounds { return &j.Unknown }},
		{"unsent", "share of the due requests that were not sent by the end of the `drain`", false,
			func(j *judgeSpec) *written[workload.Bounds] { return &j.unsent },
			func(j *workload.Judge) *workload.Bounds { return &j.Unsent }},
		{"waiting", "share of the clients' time without a server", false,
			func(j *judgeSpec) *written[workload.Bounds] { return &j.waiting },
			func(j *workload.Judge) *workload.Bounds { return &j.Waiting }},
		{"client_delay", "share of the response times that the client itself caused", false,
			func(j *judgeSpec) *written[workload.Bounds] { return &j.clientDelay },
			func(j *workload.Judge) *workload.Bounds { return &j.ClientDelay }},
	}
}

// verdictFields declares the keys for verdicts on a load.
func verdictFields() []field[loadSpec] {
	return []field[loadSpec]{
		part[loadSpec, judgeSpec]{
			Row: row{Name: "judge", Usually: "[below](#keys-of-judge)",
				Meaning: "bounds of the [verdicts](#verdicts); a database's replaces the file's key by key"},
			Section: judgeSection(), At: func(l *loadSpec) *written[judgeSpec] { return &l.judge }, Merged: true,
			Node: func(l *loadSpec) *yamlfile.Node { return judgeSection().Show(&l.judge.Is).Node() },
		}.Field(),
		part[loadSpec, workload.Expect]{
			Row: row{Name: "expect", Usually: "no failures",
				Meaning: "[failures](#keys-of-expect) that are part of the load and do not make it invalid"},
			Section: expectSection(), At: func(l *loadSpec) *written[workload.Expect] { return &l.expect }, Merged: true,
			Node: func(l *loadSpec) *yamlfile.Node {
				if l.expect.Is == (workload.Expect{}) {
					return nil
				}
				return expectSection().Show(&l.expect.Is).Flow()
			},
		}.Field(),
	}
}

// judgeSection declares the bounds for every verdict.
func judgeSection() section[judgeSpec] {
	var s section[judgeSpec]
	preset := workload.DefaultJudge()
	for _, v := range verdicts() {
		bounds := boundsSection(v, *v.at(&preset))
		s.Fields = append(s.Fields, part[judgeSpec, workload.Bounds]{
			Row: row{Name: v.name, Meaning: v.meaning,
				Usually: fmt.Sprintf("`{mark: %v, invalid: %v}`", v.at(&preset).Mark, v.at(&preset).Invalid)},
			Section: bounds, At: v.spec, Merged: true,
			Node: func(j *judgeSpec) *yamlfile.Node { return bounds.Show(&v.spec(j).Is).Flow() },
		}.Field())
	}
	return s
}

// boundsSection declares the two bounds in a verdict.
func boundsSection(v verdict, preset workload.Bounds) section[workload.Bounds] {
	bound := func(name, meaning string, is workload.Percent, at func(*workload.Bounds) *workload.Percent) field[workload.Bounds] {
		return key[workload.Bounds, workload.Percent]{
			Row: row{Name: name, Preset: is.String(), Meaning: meaning}, Kind: ability.PercentKind(), At: at,
		}.Field()
	}
	return section[workload.Bounds]{Fields: []field[workload.Bounds]{
		bound("mark", "beyond it, the numbers are marked", preset.Mark, func(b *workload.Bounds) *workload.Percent { return &b.Mark }),
		bound("invalid", "beyond it, the run is invalid", preset.Invalid, func(b *workload.Bounds) *workload.Percent { return &b.Invalid }),
	}}
}

// expectSection declares the failures that a load expects.
func expectSection() section[workload.Expect] {
	share := func(name, meaning string, at func(*workload.Expect) *workload.Percent) field[workload.Expect] {
		return key[workload.Expect, workload.Percent]{
			Row: row{Name: name, Preset: "0%", Meaning: meaning}, Kind: ability.PercentKind(), At: at,
		}.Field()
	}
	return section[workload.Expect]{Fields: []field[workload.Expect]{
		share("failed", "largest share of requests that may fail", func(e *workload.Expect) *workload.Percent { return &e.Failed }),
		share("unknown", "largest share of requests whose outcome may be unknown", func(e *workload.Expect) *workload.Percent { return &e.Unknown }),
		key[workload.Expect, int]{
			Row:  row{Name: "lost_servers", Unit: "servers", Preset: "0", Meaning: "how many servers may be lost during the load"},
			Kind: yamlfile.SmallKind(), At: func(e *workload.Expect) *int { return &e.LostServers },
			Shown: func(e *workload.Expect) bool { return e.LostServers > 0 },
		}.Field(),
	}}
}

// judge resolves the bounds for a load and reports those that exclude one another.
func (r *loadResolver) judge() workload.Judge {
	spec := r.spec.Is.judge.Is
	is := workload.DefaultJudge()
	for _, v := range verdicts() {
		w := *v.spec(&spec)
		b := boundsSection(v, *v.at(&is)).Filled(w)
		*v.at(&is) = b
		at := w.NodeOf("invalid")
		if at == nil {
			at = w.NodeOf("mark")
		}
		switch {
		case v.low && b.Invalid > b.Mark:
			r.Errorf(at, "judge: %s: invalid must not be above mark, got %v and %v", v.name, b.Invalid, b.Mark)
		case !v.low && b.Invalid < b.Mark:
			r.Errorf(at, "judge: %s: invalid must not be below mark, got %v and %v", v.name, b.Invalid, b.Mark)
		}
	}
	return is
}

// judgeSpecOf returns the mapping for bounds; it is the inverse of judge.
func judgeSpecOf(j workload.Judge) judgeSpec {
	var spec judgeSpec
	for _, v := range verdicts() {
		v.spec(&spec).Is = *v.at(&j)
	}
	return spec
}
