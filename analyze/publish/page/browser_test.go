package page

import (
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/publish/chromium"
	"github.com/coreos/dbtester/analyze/publish/chromium/chromiumtest"
)

// browser is a headless Chromium that ends with the test, and whose errors end it.
type browser struct {
	*chromium.Browser
	t *testing.T
}

// newBrowser starts Chromium. One bound limits all waiting for it in the test.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	return &browser{chromiumtest.Start(t, 10*time.Minute), t}
}

func (b *browser) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *browser) call(method string, params any) {
	b.t.Helper()
	b.must(b.Call(method, params, nil))
}

// open shows a file and returns when it has loaded.
func (b *browser) open(path string) {
	b.t.Helper()
	b.must(b.Open(path))
}

// eval runs an expression in the page and returns its value, as JSON decodes it.
func (b *browser) eval(expression string) any {
	b.t.Helper()
	value, err := b.Eval(expression)
	b.must(err)
	return value
}

// size sets the window size.
func (b *browser) size(width, height int) {
	b.t.Helper()
	b.must(b.Size(width, height))
}

// dark requests a dark page, or a light one.
func (b *browser) dark(dark bool) {
	b.t.Helper()
	b.must(b.Show(chromium.Media{Dark: dark}))
}

// mouse sends a mouse event at a place in the window.
func (b *browser) mouse(kind string, x, y float64, pressed bool) {
	b.t.Helper()
	p := map[string]any{"type": kind, "x": x, "y": y, "button": "none", "buttons": 0}
	if pressed {
		p["button"], p["buttons"], p["clickCount"] = "left", 1, 1
	}
	b.call("Input.dispatchMouseEvent", p)
}

// key presses a key.
func (b *browser) key(key string) {
	b.t.Helper()
	text := ""
	if len(key) == 1 {
		text = key
	}
	b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": key, "text": text})
	b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key})
}

// picture returns a PNG showing the window, or with whole the whole page.
func (b *browser) picture(whole bool) []byte {
	b.t.Helper()
	data, err := b.Picture(whole)
	b.must(err)
	return data
}

// print returns the page as PDF.
func (b *browser) print() []byte {
	b.t.Helper()
	data, err := b.Print()
	b.must(err)
	return data
}
