package figure

import (
	"fmt"
	"io"
)

// fontFamily names a font and substitutes with the same character widths.
const fontFamily = "'Liberation Sans',Arial,Helvetica,sans-serif"

// SVG writes f as an SVG file with a <title>. Each text is set to its measured width, because texts
// might collide if a viewer uses a font outside fontFamily.
func SVG(w io.Writer, f Figure) error {
	c, err := drawCompact(f, true)
	if err != nil {
		return err
	}
	about := "<title>" + escaped(f.Title) + "</title>\n"
	if f.Subtitle != "" {
		about += "<desc>" + escaped(f.Subtitle) + "</desc>\n"
	}
	_, err = fmt.Fprintf(w, "<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%spt\" height=\"%[2]spt\" viewBox=\"0 0 %[1]s %[2]s\" role=\"img\" font-family=\"%[3]s\">\n%[4]s%[5]s%[6]s</svg>\n",
		tenths(c.width), tenths(c.height), fontFamily, about, joined(c.paths, "\n"), joined(c.texts, "\n"))
	if err != nil {
		return fmt.Errorf("write figure %s as svg: %w", f.Name, err)
	}
	return nil
}
