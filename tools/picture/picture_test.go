package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The committed picture is the one that this program draws, and documents show it.
func TestCommitted(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	data, err := os.ReadFile(filepath.Join(root, "docs", "architecture.svg"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(data, draw()) {
		t.Error("docs/architecture.svg is another picture: run make picture")
	}
	for _, name := range []string{"README.md", "ARCHITECTURE.md"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "](docs/architecture.svg)") {
			t.Errorf("%s must show docs/architecture.svg", name)
		}
	}
}

// The picture is XML, its boxes lie inside it, texts fit into their boxes, and arrows are
// horizontal or vertical.
func TestPicture(t *testing.T) {
	t.Parallel()
	for d := xml.NewDecoder(bytes.NewReader(draw())); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the picture must be XML: %v", err)
		}
	}
	for _, o := range boxes() {
		if o.x < 0 || o.y < 0 || o.x+o.w > width || o.y+o.h > height {
			t.Errorf("box %q leaves the picture: %+v", o.title, o)
		}
		for _, line := range o.lines { // a letter is some 6.5 pixels wide
			if len(line)*13/2 > o.w {
				t.Errorf("box %q is too narrow for %q", o.title, line)
			}
		}
	}
	for _, o := range arrows() {
		if (o.x1 == o.x2) == (o.y1 == o.y2) {
			t.Errorf("arrow %+v must be horizontal or vertical", o)
		}
	}
}
