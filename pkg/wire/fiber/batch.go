package fiber

// Work is left by a function to the goroutine that runs it, such as a write. On the function's own
// stack it would make the stacks of all fibers larger, and several functions may need it just once.
type Work interface {
	// Work must not wait.
	Work()
}

// Batch is the work left to a goroutine, which continues functions with [Fiber.ContinueIn] and then
// calls Run. It is for one goroutine at a time.
type Batch struct{ left []Work }

// Later leaves work to the goroutine that runs the function, which does it when this function and
// others wait. It reports whether there is such a goroutine; without one, the caller must do the work.
func (f *Fiber) Later(w Work) bool {
	if f.batch == nil {
		return false
	}
	f.batch.left = append(f.batch.left, w)
	return true
}

// Run does the work. Functions may leave more work meanwhile.
func (b *Batch) Run() {
	for n := 0; n < len(b.left); n++ {
		b.left[n].Work()
	}
	clear(b.left)
	b.left = b.left[:0]
}
