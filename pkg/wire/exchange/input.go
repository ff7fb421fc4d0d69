package exchange

import (
	"io"
	"slices"

	"github.com/coreos/dbtester/pkg/wire/buffer"
)

// keepBytes is the first size of a buffer.
const keepBytes = 4 << 10

// Input buffers received bytes. The buffer is as large as [Input.Expect] requested, or 4 KiB
// without a call. An Input that is empty between two exchanges has no buffer.
type Input struct {
	from   io.Reader
	memory *buffer.Buffer
	buf    []byte // in memory
	taken  int    // consumed bytes in buf
	expect int
}

// Reset empties the input and reads from another reader. [Conn.Connect] calls it.
func (in *Input) Reset(from io.Reader) {
	in.from, in.taken = from, len(in.buf)
	in.lend()
}

// Expect announces answers with n bytes. The next buffer holds the largest announced answer, up to
// 4 KiB.
func (in *Input) Expect(n int) { in.expect = min(max(n, in.expect), keepBytes) }

// Empty reports whether all received bytes were taken.
func (in *Input) Empty() bool { return in.taken == len(in.buf) }

// Bytes returns the received bytes that were not taken. They are valid until the
// next read.
func (in *Input) Bytes() []byte { return in.buf[in.taken:] }

// Take drops the first n of Bytes.
func (in *Input) Take(n int) { in.taken += n }

// room returns free space in the buffer, at least one byte.
func (in *Input) room() []byte {
	least := in.expect
	if least == 0 {
		least = keepBytes
	}
	if in.Empty() {
		in.buf, in.taken = in.buf[:0], 0
	}
	if rest := in.buf[in.taken:]; len(in.buf) == cap(in.buf) || cap(in.buf) < least && len(rest) == 0 {
		old := in.memory
		in.memory = buffer.Borrow(max(least, 2*len(rest)))
		in.buf, in.taken = append(in.memory.Bytes, rest...), 0
		old.GiveBack()
	}
	return in.buf[len(in.buf):cap(in.buf)]
}

// added extends the received bytes by n that were read into room.
func (in *Input) added(n int) { in.buf = in.buf[:len(in.buf)+n] }

// Fill reads once. It returns [io.EOF] at the end of the connection.
func (in *Input) Fill() error {
	if p, ok := in.from.(*polled); ok {
		in.lend()
		if err := p.await(); err != nil {
			return err
		}
	}
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

// lend lets others use the memory while it is empty.
func (in *Input) lend() {
	if in.Empty() {
		in.memory.GiveBack()
		in.memory, in.buf, in.taken = nil, nil, 0
	}
}

// Next takes and returns the next n bytes, which are valid until the next read. If
// the connection ends before them, Next and all later reads return
// [io.ErrUnexpectedEOF].
func (in *Input) Next(n int) ([]byte, error) {
	for len(in.buf)-in.taken < n {
		if err := in.Fill(); err != nil {
			return nil, Unexpected(err)
		}
	}
	in.taken += n
	return in.buf[in.taken-n : in.taken], nil
}

// Append takes the next n bytes and appends them to out. Memory grows with the bytes
// that arrive, at most 1 MiB ahead of them.
func (in *Input) Append(out []byte, n int64) ([]byte, error) {
	const step = 1 << 20
	for n > 0 {
		size := int(min(n, step))
		out = slices.Grow(out, size)
		part := out[len(out) : len(out)+size]
		have := copy(part, in.buf[in.taken:])
		in.taken += have
		if _, err := io.ReadFull(in.from, part[have:]); err != nil {
			return out, Unexpected(err)
		}
		out, n = out[:len(out)+size], n-int64(size)
	}
	return out, nil
}

// Skip takes the next n bytes and drops them.
func (in *Input) Skip(n int) error {
	for {
		have := min(n, len(in.buf)-in.taken)
		in.taken += have
		if n -= have; n == 0 {
			return nil
		}
		if err := in.Fill(); err != nil {
			return Unexpected(err)
		}
	}
}

// Unexpected replaces [io.EOF] by [io.ErrUnexpectedEOF].
func Unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
