package loadwire

// Decoders decode records from many streams in the memory of a few decoders: a stream needs one
// only while it handles a record. It is safe for concurrent use.
type Decoders struct{ free chan *Decoder }

// NewDecoders returns n decoders.
func NewDecoders(n int) *Decoders {
	d := &Decoders{free: make(chan *Decoder, n)}
	for range n {
		d.free <- new(Decoder)
	}
	return d
}

// Use calls a function with a decoder for its exclusive use, for which it may wait.
func (d *Decoders) Use(do func(*Decoder) error) error {
	one := <-d.free
	defer func() { d.free <- one }()
	return do(one)
}
