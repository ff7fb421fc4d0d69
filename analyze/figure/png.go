package figure

import (
	"errors"
	"io"
)

// PNG writes f as a picture of 150 dots per inch.
func PNG(w io.Writer, f Figure) error { return errors.ErrUnsupported }
