package main

import (
	"runtime"
	"sync"
)

// inParallel calls do once for each number from 0 to n - 1, on every processor, and returns the
// results in this order. Random numbers in do must depend on i alone.
func inParallel[T any](n int, do func(i int) T) []T {
	made := make([]T, n)
	workers := runtime.GOMAXPROCS(0)
	var wg sync.WaitGroup
	for first := range workers {
		wg.Go(func() {
			for i := first; i < n; i += workers {
				made[i] = do(i)
			}
		})
	}
	wg.Wait()
	return made
}
