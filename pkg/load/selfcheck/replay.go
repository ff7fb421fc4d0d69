package selfcheck

import "container/heap"

// replay returns the response times that ideal clients measure at a rate, in request order. The
// first free client takes the next request and sends it when it is due, or at once if that time has
// passed. End returns when a request is answered. All times are nanoseconds after the load started.
func replay(n int64, rate float64, clients int, end func(number, sent int64) int64) []int64 {
	free := make(moments, clients)
	responses := make([]int64, n)
	for i := range n {
		due := int64(float64(i) * 1e9 / rate)
		free[0] = end(i, max(due, free[0]))
		responses[i] = free[0] - due
		heap.Fix(&free, 0)
	}
	return responses
}

// moments is a heap with the earliest first.
type moments []int64

func (m moments) Len() int { return len(m) }

func (m moments) Less(i, j int) bool { return m[i] < m[j] }

func (m moments) Swap(i, j int) { m[i], m[j] = m[j], m[i] }

// Push and Pop are never called: the client count does not change.
func (m moments) Push(any) {}

func (m moments) Pop() any { return nil }
