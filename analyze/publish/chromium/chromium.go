// Package chromium drives a headless Chromium to test pages and take pictures of them.
package chromium

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Browser is a running Chromium with one page, controlled through its debugging pipe. It is not
// safe for concurrent use.
type Browser struct {
	command *exec.Cmd
	to      *os.File
	from    *os.File
	reader  *bufio.Reader
	session string
	id      int
	loaded  bool
	// Console holds errors and warnings on the page, Requests the addresses it requested.
	Console, Requests []string
}

// ErrMissing means that [Find] found no browser.
var ErrMissing = errors.New("no Chromium, which shows the page (apt-get install -y chromium)")

// Find returns Chromium's path: DBTESTER_CHROMIUM, or the first one in PATH.
func Find() (string, error) {
	if path := os.Getenv("DBTESTER_CHROMIUM"); path != "" {
		return path, nil
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome-headless-shell"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrMissing
}

// Start starts Chromium with its settings in an empty folder. It is killed when ctx ends; Close
// ends it cleanly.
func Start(ctx context.Context, path, folder string) (*Browser, error) {
	fromUs, toThem, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	defer fromUs.Close()
	fromThem, toUs, err := os.Pipe()
	if err != nil {
		toThem.Close()
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	defer toUs.Close()
	c := exec.CommandContext(ctx, path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--no-first-run", "--hide-scrollbars", "--remote-debugging-pipe", "--user-data-dir="+folder)
	c.ExtraFiles = []*os.File{fromUs, toUs}
	c.WaitDelay = 10 * time.Second
	b := &Browser{command: c, to: toThem, from: fromThem, reader: bufio.NewReaderSize(fromThem, 1<<20)}
	if err := c.Start(); err != nil {
		toThem.Close()
		fromThem.Close()
		return nil, fmt.Errorf("start Chromium: %w", err)
	}
	// Close the child ends of the pipes here, or its exit would go unnoticed.
	fromUs.Close()
	toUs.Close()
	if err := b.attach(); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// attach opens the page that all later calls use.
func (b *Browser) attach() error {
	var target struct{ TargetID string }
	if err := b.Call("Target.createTarget", map[string]any{"url": "about:blank"}, &target); err != nil {
		return err
	}
	var attached struct{ SessionID string }
	if err := b.Call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached); err != nil {
		return err
	}
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		if err := b.Call(domain+".enable", nil, nil); err != nil {
			return err
		}
	}
	return nil
}

func (b *Browser) Close() error {
	b.to.Close() // Chromium exits when its pipe closes
	err := b.command.Wait()
	b.from.Close()
	if err != nil {
		return fmt.Errorf("end Chromium: %w", err)
	}
	return nil
}

// message is read from the debugging pipe: a reply has an id, an event a method.
type message struct {
	ID     int
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct{ Message string }
}

// Call sends a command, handles events until the reply arrives, and decodes the reply.
func (b *Browser) Call(method string, params, into any) error {
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
		return fmt.Errorf("encode %s: %w", method, err)
	}
	if _, err := b.to.Write(append(data, 0)); err != nil {
		return fmt.Errorf("send %s: %w", method, err)
	}
	for {
		m, err := b.read()
		if err != nil {
			return err
		}
		if m.ID != b.id {
			if err := b.event(m); err != nil {
				return err
			}
			continue
		}
		if m.Error != nil {
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		}
		if into == nil {
			return nil
		}
		if err := json.Unmarshal(m.Result, into); err != nil {
			return fmt.Errorf("decode the reply to %s: %w", method, err)
		}
		return nil
	}
}

func (b *Browser) read() (m message, err error) {
	data, err := b.reader.ReadBytes(0)
	if err != nil {
		return m, fmt.Errorf("read from Chromium: %w", err)
	}
	if err := json.Unmarshal(data[:len(data)-1], &m); err != nil {
		return m, fmt.Errorf("decode what Chromium sent: %w", err)
	}
	return m, nil
}

// event records the events that callers ask for.
func (b *Browser) event(m message) error {
	switch m.Method {
	case "Page.loadEventFired":
		b.loaded = true
	case "Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled":
		b.Console = append(b.Console, string(m.Params))
	case "Network.requestWillBeSent":
		var p struct{ Request struct{ URL string } }
		if err := json.Unmarshal(m.Params, &p); err != nil {
			return fmt.Errorf("decode a request: %w", err)
		}
		if !strings.HasPrefix(p.Request.URL, "data:") {
			b.Requests = append(b.Requests, p.Request.URL)
		}
	}
	return nil
}
