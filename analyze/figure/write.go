package figure

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Write draws f as NAME.svg, and with png as NAME.png, into the folder pictures and as NAME.csv
// into the folder data, and returns the paths. The folders must exist and may be the same. Existing
// files are overwritten.
func Write(pictures, data string, f Figure, png bool) ([]string, error) {
	if f.Name == "" || f.Name != filepath.Base(f.Name) || strings.HasPrefix(f.Name, ".") {
		return nil, fmt.Errorf("write figure: %q is not a file name", f.Name)
	}
	formats := []struct {
		dir, extension string
		draw           func(io.Writer, Figure) error
	}{{pictures, ".svg", SVG}, {pictures, ".png", PNG}, {data, ".csv", CSV}}
	var paths []string
	for _, format := range formats {
		if format.extension == ".png" && !png {
			continue
		}
		var b bytes.Buffer
		if err := format.draw(&b, f); err != nil {
			return paths, err
		}
		path := filepath.Join(format.dir, f.Name+format.extension)
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			return paths, fmt.Errorf("write figure: %w", err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}
