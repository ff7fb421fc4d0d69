package linefile

import (
	"encoding/csv"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// The row reader agrees with the reader in the library, in records, errors and lines, for any text.
func TestRowReaderIsTheLibrary(t *testing.T) {
	noise := rand.New(rand.NewPCG(1, 2))
	texts := []string{"", "a", "a,b\n1,2\n", "a,b\r\n1,2\r\n\r\n3,4", "a,b\n1\n", "a,\"b\"\n1,2\n", "a,b\n1,\"2\n3\"\n4,5\n6\n", "a\n\n\n\"x"}
	for range 3000 {
		var b strings.Builder
		for range noise.IntN(30) {
			b.WriteString([]string{"a", "1", ",", ",", "\n", "\r\n", "\"", "\"\"", " ", "x,y\n"}[noise.IntN(10)])
		}
		texts = append(texts, b.String())
	}
	for _, text := range texts {
		ours, library := newRowReader(strings.NewReader(text)), csv.NewReader(strings.NewReader(text))
		for n := 0; ; n++ {
			got, err := ours.read()
			want, wantErr := library.Read()
			var e, wantE *csv.ParseError
			if errors.As(err, &e) != errors.As(wantErr, &wantE) || e != nil && (e.Line != wantE.Line || !errors.Is(e.Err, wantE.Err)) || (err == io.EOF) != (wantErr == io.EOF) {
				t.Fatalf("%q, record %d: error %v, want %v", text, n, err, wantErr)
			}
			if err != nil {
				break
			}
			if line, _ := library.FieldPos(0); !slices.Equal(got, want) || ours.line != line {
				t.Fatalf("%q, record %d: %q in line %d, want %q in line %d", text, n, got, ours.line, want, line)
			}
		}
	}
}
