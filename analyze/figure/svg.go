package figure

import (
	"errors"
	"io"
)

// SVG writes f as a picture of XML with a <title>.
func SVG(w io.Writer, f Figure) error { return errors.ErrUnsupported }
