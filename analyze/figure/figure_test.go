package figure

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"
)

var out = flag.String("out", "", "directory to keep the sample figures in, to look at them")

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	if *out != "" {
		dir = *out
	}
	for _, f := range samples() {
		t.Run(f.Name, func(t *testing.T) {
			paths, err := Write(dir, f)
			if err != nil {
				t.Fatal(err)
			}
			if len(paths) != 3 {
				t.Fatalf("wrote %v, want three files", paths)
			}
			for _, path := range paths {
				info, err := os.Stat(path)
				if err != nil {
					t.Fatal(err)
				}
				if info.Size() > 200<<10 && filepath.Ext(path) != ".csv" {
					t.Errorf("%s has %d bytes, more than 200 KiB", path, info.Size())
				}
			}
		})
	}
}

func BenchmarkPNG(b *testing.B) {
	for _, bench := range []struct {
		name   string
		figure Figure
	}{{"60 s", overTime(60)}, {"3 x 3600", long(false)}, {"3 x 3600 with bands", long(true)}} {
		b.Run(bench.name, func(b *testing.B) {
			for b.Loop() {
				if err := PNG(io.Discard, bench.figure); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
