// Command screens takes pictures of published reports with a headless Chromium: the first screen on
// a desktop and on a phone, light and dark, and the first printed page. Run it with `make screens`.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/publish/chromium"
)

func main() {
	reports := flag.String("reports", "test-results", "folder of the reports' folders")
	names := flag.String("names", "stepped,all-five,leader-killed,quickstart", "reports, by the names of their folders")
	out := flag.String("out", "test-results/screens", "folder to write")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *reports, strings.Split(*names, ","), *out); err != nil {
		fmt.Fprintln(os.Stderr, "screens:", err)
		os.Exit(1)
	}
}

// view is one way to look at a report.
type view struct {
	name, title   string
	width, height int
	chromium.Media
}

// views returns all views. The last one is the area inside the A4 margins.
func views() []view {
	return []view{
		{name: "1440-light", title: "Desk, 1440 x 800", width: 1440, height: 800},
		{name: "1440-dark", title: "Desk, dark", width: 1440, height: 800, Media: chromium.Media{Dark: true}},
		{name: "390-light", title: "Telephone, 390 x 844", width: 390, height: 844},
		{name: "390-dark", title: "Telephone, dark", width: 390, height: 844, Media: chromium.Media{Dark: true}},
		{name: "print", title: "First page on paper", width: 703, height: 1016, Media: chromium.Media{Paper: true}},
	}
}

// run writes the report pictures and an index to them.
func run(ctx context.Context, reports string, names []string, out string) error {
	path, err := chromium.Find()
	if err != nil {
		return err
	}
	profile, err := os.MkdirTemp("", "screens-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(profile)
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	b, err := chromium.Start(ctx, path, profile)
	if err != nil {
		return err
	}
	defer b.Close()
	for _, name := range names {
		page, err := filepath.Abs(filepath.Join(reports, name, "report.html"))
		if err != nil {
			return err
		}
		if _, err := os.Stat(page); err != nil {
			return err
		}
		for _, v := range views() {
			data, err := v.take(b, page)
			if err != nil {
				return fmt.Errorf("take a picture of %s: %w", page, err)
			}
			if err := os.WriteFile(filepath.Join(out, v.file(name)), data, 0o644); err != nil {
				return err
			}
		}
	}
	_, err = os.Stat(filepath.Join(out, terminal))
	return os.WriteFile(filepath.Join(out, "README.md"), list(names, err == nil), 0o644)
}

func (v view) file(name string) string { return name + "-" + v.name + ".png" }

// settled resolves once two frames have been drawn.
const settled = `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))`

// take opens the page and returns a small picture of the window.
func (v view) take(b *chromium.Browser, page string) ([]byte, error) {
	if err := b.Size(v.width, v.height); err != nil {
		return nil, err
	}
	if err := b.Show(v.Media); err != nil {
		return nil, err
	}
	if err := b.Open(page); err != nil {
		return nil, err
	}
	if v.Paper { // printing is the only way to find out
		if _, err := b.Eval(`dispatchEvent(new Event('beforeprint'))`); err != nil {
			return nil, err
		}
	}
	if _, err := b.Eval(settled); err != nil {
		return nil, err
	}
	data, err := b.Picture(false)
	if err != nil {
		return nil, err
	}
	return small(data)
}

// colors is the number of colours in a picture. Text needs shades at its edges.
const colors = 256

// small returns a PNG file with fewer colours.
func small(data []byte) ([]byte, error) {
	decoded, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("read a picture: %w", err)
	}
	picture := image.NewRGBA(decoded.Bounds())
	draw.Draw(picture, picture.Rect, decoded, picture.Rect.Min, draw.Src)
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&b, figure.Paletted(picture, colors)); err != nil {
		return nil, fmt.Errorf("write a picture: %w", err)
	}
	return b.Bytes(), nil
}

// terminal is the file with the terminal output when the quickstart ends.
const terminal = "quickstart.txt"

// list returns the README for the folder.
func list(names []string, withTerminal bool) []byte {
	var b bytes.Buffer
	b.WriteString("# Screens\n\nWhat reports look like, by `make screens`: the first screen of each, and its first page on paper.\n")
	if withTerminal {
		fmt.Fprintf(&b, "\n[%s](%s) is what a terminal shows at the end of the quickstart.\n", terminal, terminal)
	}
	for _, name := range names {
		fmt.Fprintf(&b, "\n## [%s](../%s/README.md)\n", name, name)
		for _, v := range views() {
			fmt.Fprintf(&b, "\n%s:\n\n![%s, %s](%s)\n", v.title, name, strings.ToLower(v.title[:1])+v.title[1:], v.file(name))
		}
	}
	return b.Bytes()
}
