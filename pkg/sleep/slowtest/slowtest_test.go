package slowtest

import "testing"

// skips is a test that remembers whether it was skipped.
type skips struct {
	testing.TB
	skipped bool
}

func (s *skips) Helper()     {}
func (s *skips) Skip(...any) { s.skipped = true }

func TestSkip(t *testing.T) {
	for _, env := range []string{"", "1"} {
		t.Run("fast "+env, func(t *testing.T) {
			t.Setenv(FastEnv, env)
			slow := &skips{TB: t}
			Skip(slow)
			if slow.skipped != Fast() || Fast() != (env == "1") {
				t.Errorf("%s=%q: skipped is %v, Fast is %v", FastEnv, env, slow.skipped, Fast())
			}
		})
	}
}
