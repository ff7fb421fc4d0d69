package sleep

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestFor(t *testing.T) {
	for name, c := range map[string]struct {
		d, ends time.Duration // 0: the context has ended before
		want    bool
		took    time.Duration
	}{
		"over":                {time.Second, time.Minute, true, time.Second},
		"the context ends":    {time.Minute, time.Second, false, time.Second},
		"the context is over": {time.Second, 0, false, 0},
		"nothing":             {0, time.Second, true, 0},
		"a time that is past": {-time.Second, time.Second, true, 0},
		"nothing, and over":   {0, 0, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), c.ends)
				defer cancel()
				start := time.Now()
				if got := For(ctx, c.d); got != c.want || time.Since(start) != c.took {
					t.Errorf("returned %v after %v, want %v after %v", got, time.Since(start), c.want, c.took)
				}
			})
		})
	}
}
