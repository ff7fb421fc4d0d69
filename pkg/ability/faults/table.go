package faults

import (
	"time"

	"github.com/coreos/dbtester/pkg/files/linefile"
)

// Row is one fault in numbers: a row in faults.csv. Its times are those in [Happened] and its
// recovery. Times that did not come are -1, and all times are 0 for a fault without a recovery.
type Row struct {
	// Fault, Repeat, Turn and Member count from 1. Member is 0 if the fault has no member.
	Fault, Repeat, Turn, Member int
	Kind, Target                string
	From, To, Until             time.Time
	// Failed is 1 if the fault did not take effect or could not be undone. Recovered is 1 if the
	// load had recovered at Until.
	Failed, Recovered                                                              int
	Level                                                                          float64
	BlackoutNS, BlackoutAtNS, SilenceNS, BelowNS, To95NS, BacklogNS, BackNS, P99NS int64
	FailedRequests, UnknownRequests                                                int64
	Leaders                                                                        int
}

// rowOf returns a fault as a row.
func rowOf(h Happened) Row {
	row := Row{
		Fault: h.Number + 1, Repeat: h.Repeat + 1, Turn: h.Turn + 1, Member: h.Member + 1, Kind: h.Kind, Target: h.Target,
		From: h.From, To: h.To, Until: h.Cut().To(), BackNS: int64(h.Back), P99NS: int64(h.P99), Leaders: h.Leaders,
	}
	if h.Failed != "" {
		row.Failed = 1
	}
	for _, s := range h.Silences {
		if s.Member == 0 {
			row.SilenceNS = int64(s.Longest)
		}
	}
	if r := h.Recovery; r != nil {
		row.Level, row.BlackoutNS, row.BlackoutAtNS = r.Level, int64(r.Blackout), int64(r.BlackoutAt)
		row.BelowNS, row.To95NS, row.BacklogNS = int64(r.Below), int64(r.To95), int64(r.BacklogGone)
		row.FailedRequests, row.UnknownRequests = r.Failed, r.Unknown
		if r.Recovered {
			row.Recovered = 1
		}
	}
	return row
}

func rowColumns() []linefile.Column[Row] {
	return []linefile.Column[Row]{
		linefile.IntColumn("fault", func(r *Row) *int { return &r.Fault }),
		linefile.IntColumn("repeat", func(r *Row) *int { return &r.Repeat }),
		linefile.IntColumn("turn", func(r *Row) *int { return &r.Turn }),
		linefile.IntColumn("member", func(r *Row) *int { return &r.Member }),
		linefile.TextColumn("kind", func(r *Row) *string { return &r.Kind }),
		linefile.TextColumn("target", func(r *Row) *string { return &r.Target }),
		linefile.TimeColumn("from", func(r *Row) *time.Time { return &r.From }),
		linefile.TimeColumn("to", func(r *Row) *time.Time { return &r.To }),
		linefile.TimeColumn("until", func(r *Row) *time.Time { return &r.Until }),
		linefile.IntColumn("failed", func(r *Row) *int { return &r.Failed }),
		linefile.IntColumn("recovered", func(r *Row) *int { return &r.Recovered }),
		linefile.FloatColumn("level_per_s", func(r *Row) *float64 { return &r.Level }),
		linefile.IntColumn("blackout_ns", func(r *Row) *int64 { return &r.BlackoutNS }),
		linefile.IntColumn("blackout_at_ns", func(r *Row) *int64 { return &r.BlackoutAtNS }),
		linefile.IntColumn("silence_ns", func(r *Row) *int64 { return &r.SilenceNS }),
		linefile.IntColumn("below_ns", func(r *Row) *int64 { return &r.BelowNS }),
		linefile.IntColumn("to_95_ns", func(r *Row) *int64 { return &r.To95NS }),
		linefile.IntColumn("backlog_gone_ns", func(r *Row) *int64 { return &r.BacklogNS }),
		linefile.IntColumn("failed_requests", func(r *Row) *int64 { return &r.FailedRequests }),
		linefile.IntColumn("unknown_requests", func(r *Row) *int64 { return &r.UnknownRequests }),
		linefile.IntColumn("leader_changes", func(r *Row) *int { return &r.Leaders }),
		linefile.IntColumn("back_ns", func(r *Row) *int64 { return &r.BackNS }),
		linefile.IntColumn("p99_ns", func(r *Row) *int64 { return &r.P99NS }),
	}
}

// WriteTable writes faults as a table.
func WriteTable(path string, list []Happened) error {
	w, err := linefile.NewTableWriter(path, rowColumns())
	if err != nil {
		return err
	}
	rows := make([]Row, len(list))
	for i, h := range list {
		rows[i] = rowOf(h)
	}
	if err := w.Write(rows); err != nil {
		_ = w.Close() // the first error is more specific
		return err
	}
	return w.Close()
}
