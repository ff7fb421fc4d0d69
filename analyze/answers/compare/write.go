package compare

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/pkg/files/wholefile"
)

// Formats returns the report formats by name.
func Formats() map[string]func(*Report) (string, error) {
	return map[string]func(*Report) (string, error){
		"text":      func(r *Report) (string, error) { return r.Text(), nil },
		"markdown":  func(r *Report) (string, error) { return r.Markdown(), nil },
		"benchstat": func(r *Report) (string, error) { return r.Benchstat(), nil },
		"json":      (*Report).JSON,
		"csv":       (*Report).CSV,
	}
}

// Write writes the report into a folder, which it creates if needed: compare.txt, compare.md,
// compare.json, compare.csv, and the picture as compare.svg and compare.png. It overwrites existing
// files.
func (r *Report) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder: %w", err)
	}
	write := func(extension string, do func(io.Writer) error) error {
		if err := wholefile.Write(filepath.Join(dir, "compare."+extension), do); err != nil {
			return fmt.Errorf("write the comparison: %w", err)
		}
		return nil
	}
	for _, one := range []struct{ extension, format string }{{"txt", "text"}, {"md", "markdown"}, {"json", "json"}, {"csv", "csv"}} {
		text, err := Formats()[one.format](r)
		if err != nil {
			return err
		}
		if err := write(one.extension, func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
			return err
		}
	}
	picture := r.Figure()
	if err := write("svg", func(w io.Writer) error { return figure.SVG(w, picture) }); err != nil {
		return err
	}
	return write("png", func(w io.Writer) error { return figure.PNG(w, picture) })
}
