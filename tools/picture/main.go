// Command picture draws how dbtester is built, as docs/architecture.svg. Run it by
// `make picture`. The same program gives the same bytes.
package main

import (
	"bytes"
	"encoding/xml"
	"flag"
	"fmt"
	"os"
)

func main() {
	out := flag.String("out", "docs/architecture.svg", "file to write")
	flag.Parse()
	if err := os.WriteFile(*out, draw(), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

// box is a rectangle with a title and lines below it, in pixels. A machine has its title at
// the top left, others in the middle.
type box struct {
	x, y, w, h int
	class      string // machine, part or file
	title      string
	lines      []string
}

// arrow leads from one point to another, straight. Both has a head at each end.
type arrow struct {
	x1, y1, x2, y2 int
	both           bool
	above, below   string // labels of a horizontal one
}

// The size of the picture in pixels.
const width, height = 960, 456

func boxes() []box {
	all := []box{
		{x: 20, y: 64, w: 310, h: 252, class: "machine", title: "client machine"},
		{x: 460, y: 64, w: 480, h: 252, class: "machine", title: "database machines"},
		{x: 75, y: 16, w: 200, h: 30, class: "file", title: "experiment.yaml"},
		{x: 38, y: 102, w: 274, h: 80, class: "part", title: "control", lines: []string{"conducts the run step by step,", "judges which marks it deserves"}},
		{x: 38, y: 216, w: 274, h: 80, class: "part", title: "load engine", lines: []string{"sends each request when it is due,", "counts every outcome and latency"}},
		{x: 20, y: 356, w: 310, h: 80, class: "file", title: "result folder", lines: []string{"manifest, requests by second, histograms,", "events, samples and logs of members"}},
		{x: 460, y: 356, w: 200, h: 80, class: "part", title: "analyze, compare", lines: []string{"read the records alone,", "give the same bytes twice"}},
		{x: 740, y: 356, w: 200, h: 80, class: "file", title: "report", lines: []string{"verdict, marks, tables,", "figures, page, JSON"}},
	}
	for i := range 3 {
		x := 474 + 156*i
		all = append(all,
			box{x: x, y: 102, w: 140, h: 80, class: "part", title: "agent", lines: []string{"starts, samples", "and stops it"}},
			box{x: x, y: 216, w: 140, h: 80, class: "file", title: fmt.Sprintf("member %d", i+1), lines: []string{"of etcd, ZooKeeper,", "Consul, zetcd, cetcd"}},
		)
	}
	return all
}

func arrows() []arrow {
	all := []arrow{
		{x1: 175, y1: 46, x2: 175, y2: 100},
		{x1: 175, y1: 182, x2: 175, y2: 214},
		{x1: 312, y1: 128, x2: 472, y2: 128, above: "gRPC, TLS 1.3"},
		{x1: 472, y1: 158, x2: 314, y2: 158, below: "samples, logs"},
		{x1: 314, y1: 256, x2: 472, y2: 256, both: true, above: "requests"},
		{x1: 175, y1: 316, x2: 175, y2: 354},
		{x1: 330, y1: 396, x2: 458, y2: 396, above: "only files"},
		{x1: 660, y1: 396, x2: 738, y2: 396},
	}
	for i := range 3 {
		x := 544 + 156*i
		all = append(all, arrow{x1: x, y1: 182, x2: x, y2: 214})
	}
	return append(all,
		arrow{x1: 616, y1: 256, x2: 628, y2: 256}, arrow{x1: 772, y1: 256, x2: 784, y2: 256})
}

// style has the colours of light and dark pages. The picture has a ground of its own, so
// that it can be read on any page.
const style = `
.ground { fill: #ffffff; stroke: #d0d7de }
.machine { fill: #f3f5f7; stroke: #8c959f; stroke-dasharray: 5 4 }
.part { fill: #ddf0ff; stroke: #0969da }
.file { fill: #fff8e0; stroke: #9a6700 }
text { font: 12.5px -apple-system, "Segoe UI", "Liberation Sans", Arial, Helvetica, sans-serif; fill: #24292f; text-anchor: middle }
.title { font-size: 15px; font-weight: 600 }
.where { font-weight: 600; text-anchor: start; fill: #57606a }
line { stroke: #57606a; stroke-width: 1.6 }
.head { fill: #57606a }
@media (prefers-color-scheme: dark) {
.ground { fill: #0d1117; stroke: #30363d }
.machine { fill: #161b22; stroke: #6e7681 }
.part { fill: #0c2d4d; stroke: #58a6ff }
.file { fill: #2e2508; stroke: #d29922 }
text { fill: #e6edf3 }
.where { fill: #9da7b1 }
line { stroke: #9da7b1 }
.head { fill: #9da7b1 }
}
`

// about describes the picture to those who cannot see it.
const about = "Control, on the client machine, reads an experiment file, has agents on the database machines start one member each, and drives the load engine, which sends requests to the members. " +
	"What was recorded goes into a result folder. Analyze and compare read nothing else and write the report."

func draw() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="title about">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, "<title id=\"title\">How dbtester is built</title>\n<desc id=\"about\">%s</desc>\n<style>%s</style>\n", text(about), style)
	b.WriteString(`<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path class="head" d="M0 0L8 4L0 8z"/></marker></defs>` + "\n")
	fmt.Fprintf(&b, `<rect class="ground" x=".5" y=".5" width="%d" height="%d" rx="10"/>`+"\n", width-1, height-1)
	for _, one := range boxes() {
		one.draw(&b)
	}
	for _, one := range arrows() {
		one.draw(&b)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func (o box) draw(b *bytes.Buffer) {
	fmt.Fprintf(b, `<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="6"/>`+"\n", o.class, o.x, o.y, o.w, o.h)
	if o.class == "machine" {
		fmt.Fprintf(b, `<text class="where" x="%d" y="%d">%s</text>`+"\n", o.x+18, o.y+24, text(o.title))
		return
	}
	const step = 18
	y := o.y + o.h/2 + 5 - step*len(o.lines)/2
	fmt.Fprintf(b, `<text class="title" x="%d" y="%d">%s</text>`+"\n", o.x+o.w/2, y, text(o.title))
	for i, line := range o.lines {
		fmt.Fprintf(b, `<text x="%d" y="%d">%s</text>`+"\n", o.x+o.w/2, y+2+step*(i+1), text(line))
	}
}

func (o arrow) draw(b *bytes.Buffer) {
	start := ""
	if o.both {
		start = ` marker-start="url(#head)"`
	}
	fmt.Fprintf(b, `<line x1="%d" y1="%d" x2="%d" y2="%d" marker-end="url(#head)"%s/>`+"\n", o.x1, o.y1, o.x2, o.y2, start)
	middle := (o.x1 + o.x2) / 2
	if o.above != "" {
		fmt.Fprintf(b, `<text x="%d" y="%d">%s</text>`+"\n", middle, o.y1-7, text(o.above))
	}
	if o.below != "" {
		fmt.Fprintf(b, `<text x="%d" y="%d">%s</text>`+"\n", middle, o.y1+17, text(o.below))
	}
}

// text is a text as XML has it.
func text(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // a buffer takes all
	return b.String()
}
