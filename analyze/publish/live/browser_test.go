package live

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/publish/chromium/chromiumtest"
)

// until is an expression that is true as soon as a condition holds. The browser's time limit ends
// the wait.
func until(condition string) string {
	return fmt.Sprintf(`new Promise(done => { const look = () => { if (%s) done(true); else setTimeout(look, 50); }; look(); })`, condition)
}

// A browser shows seconds as they arrive, keeps the reader's choices, and finally shows the report.
func TestInBrowser(t *testing.T) {
	b := chromiumtest.Start(t, 10*time.Minute)
	const hostile = `<img src=x onerror="document.title='owned'">`
	r := around(time.Now())
	r.Say(Of{1, 1, hostile}, hostile, false)
	r.Say(Of{1, 1, "consul"}, "load", true)
	s, at := served(t, r)
	want := func(what, expression string, want any) {
		t.Helper()
		if got, err := b.Eval(expression); err != nil || got != want {
			t.Errorf("%s: want %v, got %v, %v", what, want, got, err)
		}
	}
	if err := b.Size(1200, 900); err != nil {
		t.Fatal(err)
	}
	if err := b.Visit(at + "/"); err != nil {
		t.Fatal(err)
	}
	want("a second comes", until(`document.documentElement.dataset.second`), true)
	want("figures", `[...document.querySelectorAll('.figure')].filter(f => f.querySelector('.live svg')).map(f => f.id).join(' ')`,
		"figure-live-throughput figure-live-latency figure-live-failures figure-live-processors figure-live-memory figure-live-written")
	want("the step", `document.getElementById('step').textContent`, "consul: load")
	want("rows of machines", `document.querySelectorAll('#machines tbody tr').length`, 2.0)
	want("what happened", `document.getElementById('said').textContent.includes('<img src=x')`, true)
	want("elements made of hostile texts", `document.querySelectorAll('img, [onerror]').length`, 0.0)

	want("a series is hidden", `(() => { const b = document.querySelector('#figure-live-throughput .legend button'); b.click(); return b.getAttribute('aria-pressed'); })()`, "false")
	r.mu.Lock()
	r.clock = time.Now
	r.mu.Unlock()
	r.Load(Of{1, 1, "consul"}, progress(4, 200, 0), Ahead{Requests: 1000, Length: 10 * time.Second})
	want("the next second comes", until(`document.querySelector('#loads tbody tr:last-child td:nth-child(3)').textContent === '200'`), true)
	want("it stays hidden", `document.querySelector('#figure-live-throughput .legend button').getAttribute('aria-pressed')`, "false")
	want("lines that are drawn", `document.querySelectorAll('#figure-live-throughput .live [data-series]').length`, 3.0)
	if dir := os.Getenv("DBTESTER_PICTURES"); dir != "" {
		picture, err := b.Picture(true)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "live.png"), picture, 0o644)
		}
		if err != nil {
			t.Error(err)
		}
	}

	page := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(page, []byte(`<!DOCTYPE html><link rel="icon" href="data:,"><title>the report</title>`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Finish(page); err != nil {
		t.Fatal(err)
	}
	s.linger = 5 * time.Minute // Chromium may be late on a busy machine
	if err := s.Close(context.Background()); err != nil {
		t.Error(err)
	}
	for range 3000 { // between the two pages there is no page, or one without a title
		if title, err := b.Eval(`document.title`); err == nil && title == "the report" {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	want("the page becomes the report", `document.title`, "the report")
	if len(b.Console) > 0 {
		t.Errorf("the page must not report anything on the console, got %q", b.Console)
	}
	if i := slices.IndexFunc(b.Requests, func(address string) bool { return len(address) < len(at) || address[:len(at)] != at }); i >= 0 {
		t.Errorf("the page asked for %s", b.Requests[i])
	}
}
