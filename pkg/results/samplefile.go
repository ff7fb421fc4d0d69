package results

// SampleWriter appends to a system-metrics CSV. It is not safe for concurrent
// use.
type SampleWriter struct{ rows *rowFile }

// NewSampleWriter opens or creates the file; a new one gets its header at once.
func NewSampleWriter(path string) (*SampleWriter, error) { panic("todo") }

// Write appends one row, its DELTA columns against the row written before, and
// returns when the kernel has it. After an error every Write returns that error.
func (w *SampleWriter) Write(s Sample) error { panic("todo") }

// Close closes the file.
func (w *SampleWriter) Close() error { panic("todo") }

// ReadSamples reads a system-metrics CSV, ours or the classic tool's
// ([Sample.Classic] tells which). DELTA columns and texts made from numbers are
// not read. Its errors are those of [ReadIntervals].
func ReadSamples(path string) ([]Sample, error) { panic("todo") }

// Interpolate returns exactly one sample per unix second from the first sample's
// to the last one's.
func Interpolate(samples []Sample) []Sample { panic("todo") }

// WriteInterpolated writes the file of [Interpolate]'s samples, replacing it
// whole.
func WriteInterpolated(path string, samples []Sample) error { panic("todo") }
