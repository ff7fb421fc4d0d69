package fake

import (
	"bufio"
	"bytes"
	"testing"
)

// FuzzAnswer: whatever a server answers, reading a frame and its version takes only as much
// memory as was sent.
func FuzzAnswer(f *testing.F) {
	for _, data := range [][]byte{nil, []byte("value"), make([]byte, versionSize)} {
		var b bytes.Buffer
		if err := writeFrame(bufio.NewWriter(&b), byte(codeOK), nil, data); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{1, 0, 0, 0, 0, 3, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, answer []byte) {
		kind, _, value, err := readFrame(bufio.NewReader(bytes.NewReader(answer)))
		if err != nil {
			return
		}
		r := &reply{code: code(kind), data: value}
		_, _ = r.result()
		if n, err := r.version(); err == nil && len(value) != versionSize {
			t.Errorf("an answer of %d bytes has version %d", len(value), n)
		}
	})
}
