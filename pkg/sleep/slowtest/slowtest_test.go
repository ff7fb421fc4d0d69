package slowtest

import "testing"

func TestSkip(t *testing.T) {
	for _, env := range []string{"", "1"} {
		t.Run("fast "+env, func(t *testing.T) {
			t.Setenv(FastEnv, env)
			skipped := true
			t.Run("slow", func(t *testing.T) {
				Skip(t)
				skipped = false
			})
			if skipped != Fast() || Fast() != (env == "1") {
				t.Errorf("%s=%q: skipped is %v, Fast is %v", FastEnv, env, skipped, Fast())
			}
		})
	}
}
