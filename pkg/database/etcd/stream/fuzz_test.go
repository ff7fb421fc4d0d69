package stream

import (
	"bytes"
	"slices"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	own "github.com/coreos/dbtester/pkg/database/etcd/http2"
)

// Whatever a server sends, in whatever pieces, every stream ends once, and the messages do not
// depend on the pieces.
func FuzzServer(f *testing.F) {
	for _, seed := range seeds() {
		f.Add(seed, uint8(255), uint16(1000))
		f.Add(seed, uint8(0), uint16(20))
	}
	f.Fuzz(func(t *testing.T, said []byte, cut uint8, window uint16) {
		whole := hears(t, said, window, func(left int) int { return left })
		for i, got := range hears(t, said, window, func(int) int { return int(cut) + 1 }) {
			if !slices.Equal(got.texts, whole[i].texts) || (got.why == nil) != (whole[i].why == nil) {
				t.Errorf("stream %d hears %q, %v; in one piece %q, %v", i, got.texts, got.why, whole[i].texts, whole[i].why)
			}
		}
	})
}

// story records the events on one stream.
type story struct {
	texts []string
	ends  int
	why   error
}

// hears plays bytes from a server to four streams.
func hears(t *testing.T, said []byte, window uint16, cut func(int) int) [4]*story {
	t.Helper()
	nc := &canned{settings: slices.Clone(emptySettings), opened: make(chan struct{}), said: slices.Clone(said), cut: cut}
	var kept [][2]string // until a read ends: a message, and its copy
	read := func() {
		for _, one := range kept {
			if one[0] != one[1] {
				t.Errorf("the memory of the message %q has %q at the end of the read", one[1], one[0])
			}
		}
		kept = nil
	}
	c, err := serve(t.Context(), nc, Config{Address: "a:1", Window: int(window) + 1, MaxMessage: 100_000, Read: read}, quick())
	if err != nil {
		t.Fatalf("handshake with the canned server: %v", err)
	}
	var stories [4]*story
	for i := range stories {
		one := &story{}
		stories[i] = one
		s, err := c.Open("/s/m", func(_ time.Time, m []byte) error {
			if one.ends > 0 {
				t.Error("a message after the end")
			}
			kept = append(kept, [2]string{unsafe.String(unsafe.SliceData(m), len(m)), string(m)})
			if one.texts = append(one.texts, string(m)); string(m) == "fail" {
				return errMine
			}
			return nil
		}, func(err error) { one.ends, one.why = one.ends+1, err })
		if err == nil {
			err = s.Send(make([]byte, i*10_000)) // little enough that all are opened at once
		}
		if err != nil {
			t.Fatalf("open stream %d: %v", i, err)
		}
	}
	close(nc.opened)
	<-c.over
	c.Close()
	if len(kept) > 0 {
		t.Errorf("a read with %d messages has no end", len(kept))
	}
	for i, one := range stories {
		if one.ends != 1 || one.why == nil {
			t.Errorf("stream %d ended %d times, with %v", i, one.ends, one.why)
		}
	}
	if open, waiting := c.streams.Count(); open+waiting+len(c.finished) > 0 {
		t.Errorf("the closed connection keeps %d streams, %d that wait and %d that have ended", open, waiting, len(c.finished))
	}
	return stories
}

// seeds are things that servers say.
func seeds() [][]byte {
	var out bytes.Buffer
	framer := http2.NewFramer(&out, nil)
	framer.AllowIllegalWrites = true
	block := func(pairs ...string) []byte {
		var b bytes.Buffer
		e := hpack.NewEncoder(&b)
		for i := 0; i < len(pairs); i += 2 {
			_ = e.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
		}
		return b.Bytes()
	}
	begin, end := block(":status", "200"), block("grpc-status", "0")
	headers := func(id uint32, block []byte, last bool) {
		_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block, EndHeaders: true, EndStream: last})
	}
	two := encode("first", "second")
	steps := []func(){
		func() { headers(1, begin, false) },
		func() { headers(3, begin, false) },
		func() { _ = framer.WriteData(1, false, encode("yes", "", "no")) },
		func() { _ = framer.WriteData(1, false, two[:7]) },
		func() { _ = framer.WriteData(3, false, encode("other")) },
		func() { _ = framer.WriteDataPadded(1, false, two[7:], []byte{0, 0}) },
		func() { _ = framer.WriteWindowUpdate(0, 1<<20) },
		func() { _ = framer.WriteWindowUpdate(7, 1<<20) },
		func() {
			_ = framer.WriteSettings(http2.Setting{ID: 4, Val: 10}, http2.Setting{ID: 3, Val: 1}, http2.Setting{ID: 1, Val: 0})
		},
		func() { _ = framer.WriteSettings(http2.Setting{ID: 4, Val: own.MaxWindow}) },
		func() { _ = framer.WritePing(false, [8]byte{}) },
		func() { _ = framer.WriteData(3, false, encode("fail", "late")) },
		func() { headers(1, end, true) },
		func() { _ = framer.WriteRSTStream(7, http2.ErrCodeRefusedStream) },
		func() { _ = framer.WriteGoAway(5, http2.ErrCodeNo, []byte("bye")) },
		func() { _ = framer.WriteData(5, false, encode("no headers")) },
	}
	var all [][]byte
	for _, step := range steps {
		step()
		all = append(all, slices.Clone(out.Bytes())) // with all before it
	}
	return all
}
