package database

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestAskMembers: a member that does not answer delays the result only if the other answers are not
// enough.
func TestAskMembers(t *testing.T) {
	for _, c := range []struct {
		name   string
		enough int
		took   time.Duration
	}{
		{"two are enough", 2, 20 * time.Millisecond},
		{"all are asked for", 3, 2 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				start := time.Now()
				ask := func(ctx context.Context, member int) (int, error) {
					if member == 1 { // is paused
						<-ctx.Done()
						return 0, ctx.Err()
					}
					time.Sleep(time.Duration(10*member) * time.Millisecond)
					return member + 1, nil
				}
				enough := func(answers []int) bool {
					n := 0
					for _, a := range answers {
						if a != 0 {
							n++
						}
					}
					return n >= c.enough
				}
				answers, err := AskMembers(ctx, 3, ask, enough)
				if answers[0] != 1 || answers[1] != 0 || answers[2] != 3 || err == nil || errors.Is(err, context.Canceled) != (c.enough == 2) {
					t.Errorf("answers %v, error %v; want those of members 0 and 2, and the error of member 1", answers, err)
				}
				if took := time.Since(start); took != c.took {
					t.Errorf("it took %v, want %v", took, c.took)
				}
			})
		})
	}
}
