package fleet

import (
	"slices"
	"testing"
)

// The reason from an agent why its member is lost replaces the observation by control, and nothing
// replaces the former. Each loss is reported once.
func TestLosses(t *testing.T) {
	var reported []string
	l := NewLosses(3, func(_ int, why string) { reported = append(reported, why) })
	l.Suspect(0, "refused")
	l.Suspect(0, "refused again")
	l.Add(0, "killed")
	l.Add(0, "stopped")
	l.Add(1, "ended")
	l.Suspect(1, "refused")
	if got, want := l.Reasons(), []string{"killed", "ended", ""}; !slices.Equal(got, want) {
		t.Errorf("the reasons are %q, want %q", got, want)
	}
	if want := []string{"refused", "ended"}; !slices.Equal(reported, want) || !l.Has(0) || l.Has(2) {
		t.Errorf("reported %q, want %q", reported, want)
	}
}
