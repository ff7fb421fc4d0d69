package database

import (
	"context"
	"errors"
	"sync"
)

// AskMembers asks n members in parallel and returns their answers, each zero for a member without
// one, and the errors. Once enough returns true for the answers so far, all pending requests are
// canceled, so a paused member delays nothing. Calls to enough never overlap.
func AskMembers[A any](ctx context.Context, n int, ask func(ctx context.Context, member int) (A, error), enough func([]A) bool) ([]A, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	var asking sync.WaitGroup
	answers, errs := make([]A, n), make([]error, n)
	for member := range n {
		asking.Go(func() {
			answer, err := ask(ctx, member)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs[member] = err
				return
			}
			if answers[member] = answer; enough(answers) {
				cancel()
			}
		})
	}
	asking.Wait()
	return answers, errors.Join(errs...)
}
