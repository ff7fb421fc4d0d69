package http2

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2/hpack"
)

// TestReplyHeads decodes blocks from an encoder whose table changes all the time: a block that came
// before may mean something else now.
func TestReplyHeads(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var out bytes.Buffer
	encoder, heads := hpack.NewEncoder(&out), newReplyHeads()
	seen, changed, again := map[string]ReplyHead{}, 0, 0
	for n := range 5000 {
		want := ReplyHead{http: "200"}
		fields := []hpack.HeaderField{{Name: ":status", Value: "200"}}
		if random.IntN(2) == 0 {
			want = ReplyHead{grpc: strconv.Itoa(random.IntN(3)), message: strings.Repeat("m", random.IntN(2))}
			fields = []hpack.HeaderField{{Name: "grpc-status", Value: want.grpc}, {Name: "grpc-message", Value: want.message}}
		}
		switch random.IntN(40) {
		case 0: // moves all other indexes, or drives them out
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

func TestGRPCDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0n", 0: "0n", 1: "1n", 99_999_999: "99999999n", 100_000_000: "100000u", 100_000_001: "100001u",
		5 * time.Second: "5000000u", 100 * time.Second: "100000m", 30 * time.Hour: "108000S", 3 * 365 * 24 * time.Hour: "94608000S",
		200 * 365 * 24 * time.Hour: "1752001H",
	} {
		if got := string(appendGRPCDuration(nil, d)); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

// TestBuffers: a connection with nothing to send holds no buffer, and data appended while a batch
// is written has its own memory.
func TestBuffers(t *testing.T) {
	w := Writer{refill: func() {}}
	send := func(size int) (batch []byte) {
		w.Reserve(size)
		w.Pending = append(w.Pending, make([]byte, size)...)
		return w.take()
	}
	batch := send(20 << 10)
	w.Reserve(3)
	w.Pending = append(w.Pending, "two"...) // while the batch is written
	if &w.Pending[0] == &batch[0] {
		t.Error("requests are appended to the batch that is being written")
	}
	w.written()
	if second := w.take(); string(second) != "two" {
		t.Errorf("the second batch is %q", second)
	} else {
		w.written()
	}
	if w.Pending != nil || w.memory != nil || w.sending != nil {
		t.Errorf("a connection with nothing to send holds %d bytes, %v and %v", cap(w.Pending), w.memory, w.sending)
	}
}
