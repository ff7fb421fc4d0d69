package unary

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"
)

// TestReplyHeads decodes blocks of an encoder whose table changes all the time: a block
// that came before may mean something else now.
func TestReplyHeads(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var out bytes.Buffer
	encoder, heads := hpack.NewEncoder(&out), newReplyHeads()
	seen, changed, again := map[string]replyHead{}, 0, 0
	for n := range 5000 {
		want := replyHead{http: "200"}
		fields := []hpack.HeaderField{{Name: ":status", Value: "200"}}
		if random.IntN(2) == 0 {
			want = replyHead{grpc: strconv.Itoa(random.IntN(3)), message: strings.Repeat("m", random.IntN(2))}
			fields = []hpack.HeaderField{{Name: "grpc-status", Value: want.grpc}, {Name: "grpc-message", Value: want.message}}
		}
		switch random.IntN(40) {
		case 0: // moves the indexes of all others, or drives them out
			fields = append(fields, hpack.HeaderField{Name: "x-" + strconv.Itoa(n), Value: strings.Repeat("v", random.IntN(2000))})
		case 1:
			fields = append(fields, hpack.HeaderField{Name: "secret", Value: strconv.Itoa(n), Sensitive: true})
		case 2:
			encoder.SetMaxDynamicTableSize(uint32(random.IntN(usualTable)))
		}
		out.Reset()
		for _, f := range fields {
			if err := encoder.WriteField(f); err != nil {
				t.Fatalf("encode a field: %v", err)
			}
		}
		got, err := heads.decode(out.Bytes())
		if err != nil || got != want {
			t.Fatalf("block %d, %x: %+v, %v, want %+v", n, out.Bytes(), got, err, want)
		}
		if before, ok := seen[out.String()]; ok && indexed(out.Bytes()) {
			again++
			if before != want {
				changed++
			}
		}
		seen[out.String()] = want
		if len(heads.known) > mostKnown {
			t.Fatalf("%d blocks are kept, more than %d", len(heads.known), mostKnown)
		}
	}
	if again < 1000 || changed == 0 {
		t.Errorf("%d blocks came again and %d of them meant something else, want 1000 and more, and some", again, changed)
	}
}

func TestReplyHeadsMalformed(t *testing.T) {
	const noSuchIndex, indexZero, cut = "\xfe", "\x80", "\x40\x05gr"
	for _, block := range []string{noSuchIndex, indexZero, cut} {
		heads := newReplyHeads()
		for range 2 { // the error does not become known as a head
			if head, err := heads.decode([]byte(block)); err == nil {
				t.Errorf("block %x is %+v, want an error", block, head)
			}
		}
	}
}

// TestReuse: a buffer that grew for a burst is the only large one.
func TestReuse(t *testing.T) {
	var w writer
	w.pending = append(w.pending, make([]byte, 20<<10)...)
	w.reuse(w.take())
	if cap(w.pending) < 20<<10 || cap(w.spare) > 0 {
		t.Errorf("after a burst the buffers have %d and %d bytes, want one buffer", cap(w.pending), cap(w.spare))
	}
	w.pending = append(w.pending, "one"...)
	batch := w.take()
	w.pending = append(w.pending, "two"...) // while the batch is written
	w.reuse(batch)
	if string(w.pending) != "two" || cap(w.pending) > 64 || cap(w.spare) < 20<<10 || string(batch) != "one" {
		t.Errorf("pending is %q in %d bytes beside %d, want the second request in a buffer of its own", w.pending, cap(w.pending), cap(w.spare))
	}
	w.pending = make([]byte, 0, 2*idleBuffer)
	w.spare = nil
	w.reuse(w.take())
	if cap(w.pending)+cap(w.spare) > 0 {
		t.Errorf("%d and %d bytes are kept of a buffer of %d", cap(w.pending), cap(w.spare), 2*idleBuffer)
	}
}
