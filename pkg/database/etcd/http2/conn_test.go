package http2

import (
	"encoding/binary"
	"testing"
)

// nothing implements Streams for a connection without streams.
type nothing struct{}

func (nothing) Count() (open, waiting int) { return 0, 0 }
func (nothing) Refill()                    {}
func (nothing) Fail(error)                 {}

// A connection window is renewed by exactly the bytes that arrived: the server is never given more
// than the largest window, and never less than half.
func TestConnectionWindow(t *testing.T) {
	c := New(UsualTiming(), NewRequestHeads("http", "a:1", nil), nothing{})
	left, updates := int64(MaxWindow), 0
	for n := range 400_000 { // 5 GiB
		f := Frame{Kind: FrameData, Stream: 1, Payload: make([]byte, 0, MaxFrame)[:MaxFrame-n%5000]}
		left -= int64(len(f.Payload))
		if err := c.Control(f); err != nil {
			t.Fatal(err)
		}
		if b := c.Out.Pending; len(b) > 0 {
			f, size, err := nextFrame(b)
			if err != nil || size != len(b) || f.Kind != FrameWindowUpdate || f.Stream != 0 {
				t.Fatalf("the connection sends %x, %v", b, err)
			}
			left += int64(binary.BigEndian.Uint32(f.Payload))
			c.Out.Pending, updates = nil, updates+1
		}
		if left > MaxWindow || left < MaxWindow/2 {
			t.Fatalf("the server may send %d bytes after %d frames", left, n+1)
		}
	}
	if updates < 4 {
		t.Errorf("%d updates for 5 GiB, want at least 4", updates)
	}
}

// A reader hands out the same frames however they arrive, and has no memory when nothing is left.
func TestReader(t *testing.T) {
	var b []byte
	sizes := []int{0, 1, 100, MaxFrame, 7, MaxFrame}
	for i, size := range sizes {
		kind := byte(FrameData)
		if i == 0 {
			kind = FrameSettings
		}
		b = append(AppendHead(b, size, kind, 0, uint32(i)), make([]byte, size)...)
	}
	for _, cut := range []int{1, 5, 9, 10, 1000, 4096, len(b)} {
		r := Reader{Usual: usualRead}
		got, rest := 0, b
		for len(rest) > 0 {
			n := copy(r.Room(), rest[:min(cut, len(rest))])
			rest = rest[n:]
			r.Add(n)
			for {
				f, ok, err := r.Next()
				if err != nil {
					t.Fatalf("pieces of %d bytes: %v", cut, err)
				}
				if !ok {
					break
				}
				if r.settled = true; int(f.Stream) != got || len(f.Payload) != sizes[got] {
					t.Fatalf("pieces of %d bytes: frame %d is of stream %d and has %d bytes, want %d", cut, got, f.Stream, len(f.Payload), sizes[got])
				}
				got++
			}
			r.Compact()
		}
		if got != len(sizes) || r.buf != nil || r.memory != nil {
			t.Errorf("pieces of %d bytes: %d frames, want %d; it holds %d bytes", cut, got, len(sizes), len(r.buf))
		}
	}
}
