package chromium

import (
	"fmt"
)

// Open opens a file by its absolute path, and returns once it has loaded.
func (b *Browser) Open(path string) error { return b.Visit("file://" + path) }

// Visit opens an address, and returns once its page has loaded.
func (b *Browser) Visit(address string) error {
	b.loaded = false
	if err := b.Call("Page.navigate", map[string]any{"url": address}, nil); err != nil {
		return err
	}
	for !b.loaded {
		m, err := b.read()
		if err != nil {
			return err
		}
		if err := b.event(m); err != nil {
			return err
		}
	}
	return nil
}

// Eval evaluates an expression in the page, awaiting it if it is a promise, and returns its
// JSON-decoded value.
func (b *Browser) Eval(expression string) (any, error) {
	var reply struct {
		Result           struct{ Value any }
		ExceptionDetails *struct {
			Exception struct{ Description string }
		}
	}
	err := b.Call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &reply)
	if err != nil {
		return nil, err
	}
	if reply.ExceptionDetails != nil {
		return nil, fmt.Errorf("%s: %s", expression, reply.ExceptionDetails.Exception.Description)
	}
	return reply.Result.Value, nil
}

// Size sets the window size in pixels.
func (b *Browser) Size(width, height int) error {
	return b.Call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
}

// Media is how a page is viewed.
type Media struct{ Dark, Paper bool }

// Show switches the page to a medium.
func (b *Browser) Show(m Media) error {
	scheme, media := "light", "screen"
	if m.Dark {
		scheme = "dark"
	}
	if m.Paper {
		media = "print"
	}
	return b.Call("Emulation.setEmulatedMedia", map[string]any{"media": media, "features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// Picture returns a PNG showing the window, or the whole page.
func (b *Browser) Picture(whole bool) ([]byte, error) {
	var reply struct{ Data []byte }
	err := b.Call("Page.captureScreenshot", map[string]any{"captureBeyondViewport": whole}, &reply)
	return reply.Data, err
}

// Print returns the page as PDF.
func (b *Browser) Print() ([]byte, error) {
	var reply struct{ Data []byte }
	err := b.Call("Page.printToPDF", map[string]any{"preferCSSPageSize": true}, &reply)
	return reply.Data, err
}
