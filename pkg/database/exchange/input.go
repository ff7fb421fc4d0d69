package exchange

import (
	"io"
	"slices"
)

// keepBytes bounds the buffer that is kept for the next answer.
const keepBytes = 4 << 10

// Input is what came over a connection and was not taken yet. Its buffer is as large
// as [Input.Expect] said, 4 KiB if it said nothing.
type Input struct {
	from   io.Reader
	buf    []byte
	gone   int // how much of buf was taken
	expect int
}

// NewInput returns an empty input from a reader.
func NewInput(from io.Reader) *Input { return &Input{from: from} }

// Expect says that answers have that many bytes, as far as it is not less than what
// it said before. The next buffer holds as much, up to 4 KiB.
func (in *Input) Expect(n int) { in.expect = min(max(n, in.expect), keepBytes) }

// reset empties the input, for another connection.
func (in *Input) reset(from io.Reader) { in.from, in.buf, in.gone = from, in.buf[:0], 0 }

// Empty says whether everything that came was taken.
func (in *Input) Empty() bool { return in.gone == len(in.buf) }

// Bytes returns what came and was not taken, until more is read.
func (in *Input) Bytes() []byte { return in.buf[in.gone:] }

// Take takes the next n of Bytes.
func (in *Input) Take(n int) { in.gone += n }

// room returns where more can be put.
func (in *Input) room() []byte {
	least := in.expect
	if least == 0 {
		least = keepBytes
	}
	if in.Empty() {
		in.buf, in.gone = in.buf[:0], 0
		if cap(in.buf) < least {
			in.buf = make([]byte, 0, least)
		}
	}
	if len(in.buf) == cap(in.buf) {
		in.buf = append(make([]byte, 0, max(least, 2*(len(in.buf)-in.gone))), in.buf[in.gone:]...)
		in.gone = 0
	}
	return in.buf[len(in.buf):cap(in.buf)]
}

// added says how much was put into room.
func (in *Input) added(n int) { in.buf = in.buf[:len(in.buf)+n] }

// Fill reads more. The end of the connection is [io.EOF].
func (in *Input) Fill() error {
	n, err := in.from.Read(in.room())
	in.added(n)
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// shrink lets go of a buffer that one large answer needed.
func (in *Input) shrink() {
	if cap(in.buf) > keepBytes && in.Empty() {
		in.buf, in.gone = nil, 0
	}
}

// Next takes the next n bytes and returns them, until more is read. The end of the
// connection before them is [io.ErrUnexpectedEOF], as for all that follows.
func (in *Input) Next(n int) ([]byte, error) {
	for len(in.buf)-in.gone < n {
		if err := in.Fill(); err != nil {
			return nil, Unexpected(err)
		}
	}
	in.gone += n
	return in.buf[in.gone-n : in.gone], nil
}

// Append takes the next n bytes and appends them to out.
func (in *Input) Append(out []byte, n int64) ([]byte, error) {
	const step = 1 << 20 // as much as is believed before it comes
	for n > 0 {
		size := int(min(n, step))
		out = slices.Grow(out, size)
		part := out[len(out) : len(out)+size]
		have := copy(part, in.buf[in.gone:])
		in.gone += have
		if _, err := io.ReadFull(in.from, part[have:]); err != nil {
			return out, Unexpected(err)
		}
		out, n = out[:len(out)+size], n-int64(size)
	}
	return out, nil
}

// Skip takes the next n bytes.
func (in *Input) Skip(n int) error {
	for {
		have := min(n, len(in.buf)-in.gone)
		in.gone += have
		if n -= have; n == 0 {
			return nil
		}
		if err := in.Fill(); err != nil {
			return Unexpected(err)
		}
	}
}

// Unexpected returns an error of a read that should have brought more.
func Unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
