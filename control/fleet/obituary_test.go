package fleet

import "testing"

func TestEndOf(t *testing.T) {
	for reason, want := range map[string]string{
		"child died":    "it ended by itself",
		"lease expired": "its agent stopped it: lease expired",
		"asked":         "its agent stopped it: asked",
		"agent closed":  "its agent stopped it: agent closed",
	} {
		if got := endOf(reason); got != want {
			t.Errorf("a session that ended because %q: %q, want %q", reason, got, want)
		}
	}
}
