package control

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/ability/faults"
	"github.com/coreos/dbtester/pkg/fault"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// faulted runs an experiment with n faults, and returns its record and its faults. Its load lasts for a
// rest after them, which is long if something stopped this process until a shorter load was over.
func (r *rig) faulted(n int, file func(rest time.Duration) string) (record, []faults.Happened) {
	r.t.Helper()
	for rest := 2 * time.Second; ; rest *= 6 {
		out, err := r.hurried(file(rest))
		if err != nil {
			r.t.Fatalf("run: %v", err)
		}
		r.mustBeIdle()
		rec := r.read(out.Folders[0], 0)
		list, err := faults.Record().Of(rec.run.Records)
		if err == nil && len(list) == n {
			return rec, list
		}
		if err != nil || len(list) > n || rest > 10*time.Second {
			r.t.Fatalf("%d faults, want %d: %+v, %v", len(list), n, list, err)
		}
		r.t.Logf("this machine is busy: %d of %d faults happened, so all is done again", len(list), n)
	}
}

// Faults are applied, undone and recorded: their members are not lost, the probes leave no keys
// behind, and failures meanwhile do not count against the load.
func TestFaults(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRigOf(t, registry(), fault.Names()...)
	rec, list := r.faulted(2+rigSize, func(rest time.Duration) string {
		return fmt.Sprintf(`
load: {rate: 100, duration: %v, clients: 6, connections: 6, timeout: 1s, key_size: 16, value_size: 32}
faults:
- {kind: kill, member: 2, at: 2s, for: 300ms}
- {kind: pause, member: 3, at: 4s, for: 300ms}
- {kind: restart, member: each, at: 6s, gap: 100ms}
databases: {fake: {}}
`, 9*time.Second+rest)
	})
	kinds := []string{"kill", "pause", "restart", "restart", "restart"}
	var before time.Time // when the previous fault ended
	for i, h := range list {
		if h.Failed != "" || h.Kind != kinds[i] || h.Saw == "" || h.SawOver == "" || h.To.Before(h.From) {
			t.Errorf("fault %d: %+v", i+1, h)
		}
		switch is := h.Recovery; {
		case is == nil && rec.hasLevel(t, before, h.From), is != nil && (is.Level <= 0 || is.Until.Before(h.From)):
			t.Errorf("recovery of fault %d: %+v", i+1, is)
		case is != nil && len(h.Silences) != 1+rigSize:
			t.Errorf("silences of fault %d: %+v", i+1, h.Silences)
		}
		before = h.To
	}
	if list[0].Member != 1 || list[1].Member != 2 || list[2].Member != 0 || list[4].Member != 2 {
		t.Errorf("members of the faults: %+v", list)
	}
	for _, kind := range []string{faults.EventFault, faults.EventOver, faults.EventReadBack} {
		n := 0
		for _, e := range rec.events {
			if e.Kind == kind {
				n++
			}
		}
		if n != len(list) {
			t.Errorf("%d events %q of %d faults: %q", n, kind, len(list), rec.kinds())
		}
	}
	for _, m := range rec.run.Validity {
		if slices.Contains([]string{mark.Lost, mark.FaultFailed, mark.Keys, mark.ProbesMissing}, m.Code) {
			t.Errorf("mark %s: %s", m.Code, m.Text)
		}
	}
}

// hasLevel reports whether a load between two times, the first perhaps zero, was long enough and
// had answers to compare with later ones. On a busy machine it may hardly have begun.
func (rec record) hasLevel(t *testing.T, from, to time.Time) bool {
	t.Helper()
	rows, err := results.ReadProgress(filepath.Join(rec.dir, results.FileProgress))
	if err != nil {
		t.Fatalf("read the ticks: %v", err)
	}
	start := rec.run.Steps[0].Start
	ok, length := int64(0), time.Duration(0)
	for _, row := range rows {
		if !start.Add(time.Duration(row.FromNS)).Before(from) && !start.Add(time.Duration(row.ToNS)).After(to) {
			ok, length = ok+row.OK, length+time.Duration(row.ToNS-row.FromNS)
		}
	}
	return ok > 0 && length >= time.Second
}

// Faults that an agent does not allow are refused before anything starts, with their place in the
// file.
func TestFaultsNotAllowed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	e := r.experiment("load: {rate: 10, duration: 9s}\nfaults: [{kind: kill, at: 2s, for: 1s}]\ndatabases: {fake: {}}\n")
	err := Check(context.Background(), r.options(e, nil))
	if err == nil || !strings.Contains(err.Error(), "may not apply the fault kill (allowed: none)") || !strings.Contains(err.Error(), "test.yaml:") {
		t.Errorf("dry run: %v, want a refusal with the place and the missing right", err)
	}
	if _, err := r.run(e, nil); err == nil || !strings.Contains(err.Error(), "may not apply the fault kill") {
		t.Errorf("run: %v, want a refusal", err)
	}
	r.mustBeIdle()
}

// Times in which an ability disturbed the load are left out when it is judged.
func TestOutside(t *testing.T) {
	start := time.Unix(1, 0)
	run := &results.DatabaseRun{Steps: []results.Step{{Index: 0, Start: start}}}
	rows := []results.Progress{{FromNS: 0, ToNS: 100, OK: 1}, {FromNS: 100, ToNS: 200, Failed: 1}, {FromNS: 200, ToNS: 300, OK: 2}}
	got := outside(rows, run, []results.Stretch{{From: start.Add(150), Length: 20}})
	if len(got) != 2 || got[0].OK != 1 || got[1].OK != 2 {
		t.Errorf("rows %+v, want those that the time does not touch", got)
	}
	if len(rows) != 3 || rows[1].Failed != 1 {
		t.Errorf("the rows were changed: %+v", rows)
	}
	if got := outside(rows, run, nil); len(got) != 3 {
		t.Errorf("rows %+v of a load without disturbances", got)
	}
}

// Connections that failed over are back at their first members before the next fault, whoever
// issues the load.
func TestFaultsFailBack(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	for _, generators := range []int{0, 2} {
		t.Run(fmt.Sprintf("%d generators", generators), func(t *testing.T) {
			t.Parallel()
			r := newRigOf(t, registry(), fault.Names()...)
			keys := ""
			if generators > 0 {
				keys = r.generate(generators, true)
			}
			rec, list := r.faulted(2, func(rest time.Duration) string {
				return keys + fmt.Sprintf(`
load: {rate: 100, duration: %v, clients: 6, connections: 6, timeout: 1s, key_size: 16, value_size: 32, failover: next}
faults:
- {kind: kill, member: 2, at: 2s, for: 300ms}
- {kind: kill, member: 3, at: 11s, for: 300ms}
databases: {fake: {}}
`, 12*time.Second+rest)
			})
			// Each member has two of the six connections.
			soon := false
			if is := list[0].Recovery; is != nil {
				soon = is.Recovered && list[1].From.Sub(is.Until) > 4*time.Second
			}
			switch {
			case list[0].Recovery == nil && rec.hasLevel(t, time.Time{}, list[0].From):
				t.Errorf("the recovery from the first fault is not known")
			case list[0].Returned == nil && soon:
				t.Errorf("no connections failed back, though the load had recovered at %v, long before the next fault at %v", list[0].Recovery.Until, list[1].From)
			case list[0].Returned != nil && *list[0].Returned+list[0].Away != 2:
				t.Errorf("%d connections failed back and %d could not, want the two of the member that was killed", *list[0].Returned, list[0].Away)
			}
			if list[1].Returned != nil {
				t.Errorf("%d connections failed back after the last fault, want that none were asked to", *list[1].Returned)
			}
		})
	}
}
