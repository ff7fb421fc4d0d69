package page

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// browser drives a headless Chromium through the pipe of its debugging protocol. One
// goroutine uses it.
type browser struct {
	t       *testing.T
	to      *os.File
	from    *bufio.Reader
	session string
	id      int
	// console holds errors and warnings of the page, requests the addresses it asked for.
	console, requests []string
	loaded            bool
}

// findBrowser returns Chromium's path: DBTESTER_CHROMIUM, or the one in PATH.
func findBrowser(t *testing.T) string {
	if path := os.Getenv("DBTESTER_CHROMIUM"); path != "" {
		return path
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome-headless-shell"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const missing = "no Chromium, which shows the page (apt-get install -y chromium)"
	if os.Getenv("CI") == "true" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

// newBrowser starts Chromium, which ends with the test. Waiting for it has one bound, of
// the whole test.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	path := findBrowser(t)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	fromUs, toThem := pipe(t)
	fromThem, toUs := pipe(t)
	c := exec.CommandContext(ctx, path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--no-first-run", "--hide-scrollbars", "--remote-debugging-pipe", "--user-data-dir="+t.TempDir())
	c.ExtraFiles = []*os.File{fromUs, toUs}
	c.WaitDelay = 10 * time.Second
	if err := c.Start(); err != nil {
		t.Fatalf("start Chromium: %v", err)
	}
	fromUs.Close()
	toUs.Close()
	b := &browser{t: t, to: toThem, from: bufio.NewReaderSize(fromThem, 1<<20)}
	t.Cleanup(func() {
		toThem.Close() // Chromium ends when its pipe does
		if err := c.Wait(); err != nil {
			t.Logf("Chromium ended: %v", err)
		}
		fromThem.Close()
	})
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatalf("make a pipe: %v", err)
	}
	return r, w
}

// message is one of the protocol: a reply has an id, an event a method.
type message struct {
	ID     int
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct{ Message string }
}

// call sends a command, takes in events until its reply comes, and decodes that.
func (b *browser) call(method string, params any, into any) {
	b.t.Helper()
	b.id++
	command := map[string]any{"id": b.id, "method": method}
	if params != nil {
		command["params"] = params
	}
	if b.session != "" {
		command["sessionId"] = b.session
	}
	data, err := json.Marshal(command)
	if err != nil {
		b.t.Fatalf("encode %s: %v", method, err)
	}
	if _, err := b.to.Write(append(data, 0)); err != nil {
		b.t.Fatalf("send %s: %v", method, err)
	}
	for {
		m := b.read()
		if m.ID != b.id {
			b.event(m)
			continue
		}
		if m.Error != nil {
			b.t.Fatalf("%s: %s", method, m.Error.Message)
		}
		if into != nil {
			if err := json.Unmarshal(m.Result, into); err != nil {
				b.t.Fatalf("decode the reply to %s: %v", method, err)
			}
		}
		return
	}
}

func (b *browser) read() message {
	b.t.Helper()
	data, err := b.from.ReadBytes(0)
	if err != nil {
		b.t.Fatalf("Chromium ended: %v", err)
	}
	var m message
	if err := json.Unmarshal(data[:len(data)-1], &m); err != nil {
		b.t.Fatalf("read from Chromium: %v", err)
	}
	return m
}

// event keeps what the tests ask about.
func (b *browser) event(m message) {
	switch m.Method {
	case "Page.loadEventFired":
		b.loaded = true
	case "Runtime.exceptionThrown", "Log.entryAdded":
		b.console = append(b.console, string(m.Params))
	case "Runtime.consoleAPICalled":
		b.console = append(b.console, string(m.Params))
	case "Network.requestWillBeSent":
		var p struct{ Request struct{ URL string } }
		if err := json.Unmarshal(m.Params, &p); err != nil {
			b.t.Fatalf("read a request: %v", err)
		}
		if !strings.HasPrefix(p.Request.URL, "data:") {
			b.requests = append(b.requests, p.Request.URL)
		}
	}
}

// open shows a file and returns when it has loaded.
func (b *browser) open(path string) {
	b.t.Helper()
	b.loaded = false
	b.call("Page.navigate", map[string]any{"url": "file://" + path}, nil)
	for !b.loaded {
		b.event(b.read())
	}
}

// eval runs an expression in the page and returns its value, as JSON decodes it.
func (b *browser) eval(expression string) any {
	b.t.Helper()
	var reply struct {
		Result           struct{ Value any }
		ExceptionDetails *struct {
			Exception struct{ Description string }
		}
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &reply)
	if reply.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, reply.ExceptionDetails.Exception.Description)
	}
	return reply.Result.Value
}

// size sets the width of the window.
func (b *browser) size(width, height int) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
}

// dark asks for a dark page, or for a light one.
func (b *browser) dark(dark bool) {
	b.t.Helper()
	scheme := map[bool]string{true: "dark", false: "light"}[dark]
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// mouse sends an event of the mouse at a place of the window.
func (b *browser) mouse(kind string, x, y float64, pressed bool) {
	b.t.Helper()
	p := map[string]any{"type": kind, "x": x, "y": y, "button": "none", "buttons": 0}
	if pressed {
		p["button"], p["buttons"], p["clickCount"] = "left", 1, 1
	}
	b.call("Input.dispatchMouseEvent", p, nil)
}

// key presses a key.
func (b *browser) key(key string) {
	b.t.Helper()
	text := ""
	if len(key) == 1 {
		text = key
	}
	b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": key, "text": text}, nil)
	b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key}, nil)
}

// picture returns a PNG of the window, or with whole of all of the page.
func (b *browser) picture(whole bool) []byte {
	b.t.Helper()
	var reply struct{ Data []byte }
	b.call("Page.captureScreenshot", map[string]any{"captureBeyondViewport": whole}, &reply)
	return reply.Data
}

// print returns the page as PDF.
func (b *browser) print() []byte {
	b.t.Helper()
	var reply struct{ Data []byte }
	b.call("Page.printToPDF", map[string]any{"preferCSSPageSize": true}, &reply)
	return reply.Data
}
