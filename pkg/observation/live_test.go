package observation

import (
	"errors"
	"io/fs"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/coreos/dbtester/pkg/files/linefile"
)

// Seconds that are over are written while others are recorded, late observations follow as further
// rows, and they all add up to the seconds in a recorder.
func TestLive(t *testing.T) {
	g, dir := scratch(), t.TempDir()
	now := time.Now()
	old := now.Add(-time.Hour)
	l, whole := newLive(g, dir, old, time.Millisecond), NewRecorder(g)
	add := func(name string, at time.Time, number int64) {
		l.Add(name, at, 1, number)
		whole.Add(name, at, 1, number)
	}
	add("events", old, 3)
	add("delay", old, 1_000_000)
	for written(t, g, dir) == nil {
		time.Sleep(time.Millisecond) // the test's own limit ends it
	}
	add("events", now.Add(time.Hour), 2) // stays open until Close
	var wg sync.WaitGroup
	for range 4 { // late observations for a second that is written
		wg.Go(func() {
			for n := range int64(100) {
				add("events", old, 1)
				add("delay", old, n*1000)
			}
		})
	}
	wg.Wait()
	if s := written(t, g, dir); len(s) != 1 {
		t.Errorf("before Close %+v are written, want the first second alone", s)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	want := whole.Take(now.Add(2 * time.Hour).Unix())
	if diff := cmp.Diff(want, written(t, g, dir), cmpopts.IgnoreFields(Number{}, "N", "Times")); diff != "" {
		t.Errorf("the seconds (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(g.Total(want), l.Stream().Totals()); diff != "" {
		t.Errorf("the totals (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(timesOf(want)[old.Unix()], logged(t, g, dir)[old.Unix()]); diff != "" {
		t.Errorf("the histogram (-want +got):\n%s", diff)
	}
}

// written returns the readable seconds of g; nil before its file exists.
func written(t *testing.T, g Group, dir string) []Second {
	t.Helper()
	seconds, err := Read(g, dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, linefile.ErrTruncated) { // a row is being written
		t.Fatal(err)
	}
	return seconds
}

// Without an observation there are no files. A write error comes from Close, with the totals.
func TestLiveWithoutFiles(t *testing.T) {
	g, dir := scratch(), t.TempDir()
	l := NewLive(g, dir, time.Now())
	if err := l.Close(); err != nil || len(l.Stream().Totals()) > 0 || written(t, g, dir) != nil {
		t.Errorf("without an observation: %v, totals %+v", err, l.Stream().Totals())
	}
	l = newLive(g, filepath.Join(dir, "missing"), time.Now(), time.Millisecond)
	l.Add("events", time.Now(), 0, 7)
	l.Add("events", time.Now().Add(-time.Hour), 0, 7)
	if err := l.Close(); !errors.Is(err, fs.ErrNotExist) || l.Stream().Totals()["events"].Value != 14 {
		t.Errorf("into a missing folder: %v, totals %+v, want an error and 14 events", err, l.Stream().Totals())
	}
}
