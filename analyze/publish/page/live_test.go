package page

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/analyze/figure"
)

// TestInBrowser shows the page in one headless Chromium and uses it as a reader does.
// Nothing waits for time: each query is sent after the browser has answered the previous
// one.
func TestInBrowser(t *testing.T) {
	b := newBrowser(t)
	path := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(path, []byte(written(t, pageOf())), 0o644); err != nil {
		t.Fatalf("write the page: %v", err)
	}
	b.size(1200, 900)
	b.open(path)
	l := live{t, b}
	l.want("the script ran", `document.documentElement.dataset.ready`, "true")
	l.want("figures that are not drawn", `[...document.querySelectorAll('.figure')].filter(f => f.querySelector('.canvas').clientWidth && !f.querySelector('.live')).length`, 0.0)
	for _, part := range []struct {
		name string
		use  func(live)
	}{
		{"hover", live.hover}, {"toggle", live.toggle}, {"zoom", live.zoom}, {"scales", live.scales}, {"keys", live.keys},
		{"panels", live.panels}, {"boxes", live.boxes}, {"dots", live.dots}, {"labels", live.labels}, {"units", live.units}, {"save", live.save},
		{"sort", live.sort}, {"search", live.search}, {"search texts", live.searchTexts}, {"touch", live.touch}, {"links", live.links}, {"dark", live.darkness}, {"widths", live.widths}, {"print", live.paper},
	} {
		t.Run(part.name, func(t *testing.T) { part.use(live{t, b}) })
	}
	if len(b.Console) > 0 {
		t.Errorf("the page must not report anything on the console, got %q", b.Console)
	}
	if want := []string{"file://" + path}; !slices.Equal(b.Requests, want) {
		t.Errorf("the page must ask for itself alone, got %q", b.Requests)
	}
	l.want("elements made of hostile texts", `document.querySelectorAll('img, [onerror], [onload]').length`, 0.0)
}

// live is a page in a browser under a test.
type live struct {
	*testing.T
	b *browser
}

func (l live) want(what, expression string, want any) {
	l.Helper()
	if got := l.b.eval(expression); got != want {
		l.Errorf("%s: want %v, got %v", what, want, got)
	}
}

// in is a place inside the figure with a name: shares of its plot from the left and top.
func (l live) in(name string, across, down float64) (x, y float64) {
	l.Helper()
	l.b.eval(fmt.Sprintf(`document.getElementById('figure-%s').scrollIntoView({block: 'center', behavior: 'instant'})`, name))
	at, ok := l.b.eval(fmt.Sprintf(`(() => { const r = document.querySelector('#figure-%s .live > svg > svg').getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; })()`, name)).([]any)
	if !ok || len(at) != 4 {
		l.Fatalf("no plot of %s", name)
	}
	number := func(i int) float64 { v, _ := at[i].(float64); return v }
	return number(0) + across*number(2), number(1) + down*number(3)
}

const tip = `document.querySelector('#figure-throughput .tip')`

func (l live) hover() {
	x, y := l.in("throughput", 30.0/59, 0.5)
	l.b.mouse("mouseMoved", x, y, false)
	l.want("the values under the pointer", tip+`.innerText.replace(/\s+/g, ' ')`, "Second: 30 etcd 130 requests/s "+hostile+" 1,700 requests/s (130 to 1,700)")
	l.want("a cursor in a figure of the same axis", `document.querySelectorAll('#figure-cpu .cursor').length`, 1.0)
	l.want("the names of events", `[...document.querySelectorAll('#figure-throughput .event-kind')].map(e => e.textContent).join()`, " leader lost (3), fault "+hostile)
	l.want("the first note", `document.querySelector('#figure-throughput p.note').textContent`, "noted "+hostile)
	l.want("none in one of another axis", `document.querySelectorAll('#figure-clients .cursor').length`, 0.0)
	l.b.mouse("mouseMoved", 2, 2, false)
	l.want("the values after the pointer left", tip+`.hidden`, true)
}

func (l live) toggle() {
	lines := `document.querySelectorAll('#figure-throughput [data-series]').length`
	key := func(n int) string {
		return fmt.Sprintf(`document.querySelectorAll('#figure-throughput .legend button')[%d]`, n)
	}
	l.want("lines", lines, 2.0)
	l.b.eval(key(1) + `.click()`)
	l.want("lines without the second", lines, 1.0)
	l.want("its key", key(1)+`.getAttribute('aria-pressed')`, "false")
	l.want("lines of another figure", `document.querySelectorAll('#figure-cpu [data-series]').length`, 2.0)
	l.b.eval(key(1) + `.click()`)
	l.want("lines again", lines, 2.0)
	l.b.eval(key(0) + `.dispatchEvent(new MouseEvent('click', {shiftKey: true}))`)
	l.want("etcd in all figures", `document.querySelectorAll('[data-series=etcd]').length`, 0.0)
	l.b.eval(key(0) + `.dispatchEvent(new MouseEvent('click', {shiftKey: true}))`)
}

func (l live) zoom() {
	from, y := l.in("throughput", 10.0/59, 0.5)
	to, _ := l.in("throughput", 20.0/59, 0.5)
	l.b.mouse("mouseMoved", from, y, false)
	l.b.mouse("mousePressed", from, y, true)
	l.b.mouse("mouseMoved", to, y, true)
	l.b.mouse("mouseReleased", to, y, true)
	first := func(name string) string {
		return fmt.Sprintf(`[...document.querySelectorAll('#figure-%s .live > svg > text')].map(t => t.textContent).join(' ')`, name)
	}
	for _, name := range []string{"throughput", "cpu", "stairs"} {
		l.want(name+" shows seconds 10 to 20", first(name)+`.match(/ 10 .* 20 Second/) !== null`, true)
	}
	l.want("another axis is as before", first("clients")+`.includes('100')`, true)
	x, y := l.in("cpu", 0.5, 0.5)
	for _, kind := range []string{"mousePressed", "mouseReleased", "mousePressed", "mouseReleased"} {
		l.b.mouse(kind, x, y, true)
	}
	l.b.eval(`document.querySelector('#figure-cpu .live > svg').dispatchEvent(new MouseEvent('dblclick', {bubbles: true}))`)
	l.want("a double click shows all", first("throughput")+`.includes(' 50 ')`, true)
	l.want("and the switch goes", `document.querySelector('#figure-throughput .switches button').hidden`, true)
}

func (l live) scales() {
	path := `document.querySelector('#figure-cpu [data-series=etcd] path').getAttribute('d')`
	before := l.b.eval(path)
	button := `[...document.querySelectorAll('#figure-cpu .switches button')].find(b => b.textContent === 'log')`
	l.b.eval(button + `.click()`)
	if l.b.eval(path) == before {
		l.Error("a logarithmic axis must change the line")
	}
	l.want("the switch", button+`.getAttribute('aria-pressed')`, "true")
	l.b.eval(button + `.click()`)
	l.want("the line on a linear axis again", path, before)
}

func (l live) keys() {
	svg := `document.querySelector('#figure-throughput .live > svg')`
	l.b.eval(svg + `.focus()`)
	for range 3 {
		l.b.key("ArrowRight")
	}
	l.want("the third point", tip+`.innerText.includes('Second: 2')`, true)
	l.b.key("+")
	l.want("the part that is shown", `[...`+svg+`.querySelectorAll('text')].some(t => t.textContent === '50')`, false)
	l.b.key("0")
	l.want("all of it", `[...`+svg+`.querySelectorAll('text')].some(t => t.textContent === '50')`, true)
	l.b.key("2")
	l.want("series without the second", `document.querySelectorAll('#figure-throughput [data-series]').length`, 1.0)
	l.b.key("2")
	l.want("the figure keeps the focus", `document.activeElement === `+svg, true)
	l.b.key("j")
	l.want("the next figure", `document.activeElement.closest('figure').id`, "figure-cpu")
	l.b.eval(`document.activeElement.blur()`)
	l.b.key("?")
	l.want("the list of keys", `document.getElementById('help').open`, true)
	l.b.eval(`document.getElementById('help').close()`)
}

// panels have the same values, switches and zoom as other figures.
func (l live) panels() {
	l.want("plots", `document.querySelectorAll('#figure-panels .live > svg > svg').length`, 2.0)
	x, y := l.in("panels", 30.0/59, 0.5)
	l.b.mouse("mouseMoved", x, y, false)
	l.want("the values of all panels", `document.querySelector('#figure-panels .tip').innerText.replace(/\s+/g, ' ')`, "Second: 30 etcd 130 requests/s consul 1,700 requests/s stall, "+hostile)
	l.want("strips", `document.querySelectorAll('#figure-panels .strip').length`, 2.0)
	l.want("one cursor through all", `document.querySelectorAll('#figure-panels .cursor').length`, 1.0)
	l.want("a cursor in a figure of the same axis", `document.querySelectorAll('#figure-cpu .cursor').length`, 1.0)
	l.b.mouse("mouseMoved", 2, 2, false)
	lines := `document.querySelectorAll('#figure-panels [data-series]').length`
	l.want("lines", lines, 2.0)
	detail := `[...document.querySelectorAll('#figure-panels .switches button')].find(b => b.textContent === 'each trial')`
	l.b.eval(detail + `.click()`)
	l.want("lines with each trial", lines, 3.0)
	first := `document.querySelector('#figure-panels .legend button')`
	l.b.eval(first + `.click()`)
	l.want("lines without etcd and its trials", lines, 1.0)
	l.b.eval(first + `.click(); ` + detail + `.click()`)
	l.want("lines again", lines, 2.0)
	l.b.eval(`document.querySelector('#figure-panels .live > svg').focus()`)
	l.b.key("+")
	l.want("a part of the axis, in linked figures too", `[...document.querySelectorAll('#figure-panels .live > svg > text, #figure-cpu .live > svg > text')].some(t => t.textContent === '50')`, false)
	l.b.key("0")
	l.b.eval(`document.activeElement.blur()`)
	l.want("a name that panels repeat", `document.querySelectorAll('#figure-repeats .legend button').length`, 1.0)
	l.b.eval(`document.querySelector('#figure-repeats .live > svg').focus()`)
	l.b.key("ArrowRight")
	l.want("the details of a point", `document.querySelector('#figure-repeats .tip').innerText.replace(/\s+/g, ' ')`, "Start: 1 etcd fault 2 with "+hostile+" consul fault –")
	l.b.eval(`document.activeElement.blur()`)
}

func (l live) boxes() {
	svg := `document.querySelector('#figure-boxes .live > svg')`
	values := `document.querySelector('#figure-boxes .tip').innerText.replace(/\s+/g, ' ')`
	const want = "all requests etcd median 4 ms, half 2 to 8, p99 20, all 1 to 50"
	l.b.eval(svg + `.scrollIntoView({block: 'center', behavior: 'instant'})`)
	at, _ := l.b.eval(`(() => { const r = document.querySelector('#figure-boxes g[data-series]').getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]; })()`).([]any)
	if len(at) != 2 {
		l.Fatal("no box was drawn")
	}
	x, _ := at[0].(float64)
	y, _ := at[1].(float64)
	l.b.mouse("mouseMoved", x, y, false)
	l.want("the values of a box", values, want)
	l.b.mouse("mouseMoved", 2, 2, false)
	l.b.eval(svg + `.focus()`)
	l.b.key("ArrowDown")
	l.want("by key", values, want)
	l.b.key("1")
	l.want("boxes without the series", `document.querySelectorAll('#figure-boxes g[data-series]').length`, 0.0)
	l.b.key("1")
	l.b.eval(`document.activeElement.blur()`)
	l.want("the values when the figure has no focus", `document.querySelector('#figure-boxes .tip').hidden`, true)
	l.b.eval(`document.querySelector('#figure-bars .live > svg').focus()`)
	l.b.key("ArrowDown")
	l.want("the value of a bar", `document.querySelector('#figure-bars .tip').innerText.replace(/\s+/g, ' ')`, "etcd sent 5 MB")
	l.b.eval(`document.activeElement.blur()`)
}

// dots are trials on the database bars, each in its own colour.
func (l live) dots() {
	l.want("dots", `document.querySelectorAll('#figure-dots .live circle').length`, 3.0)
	l.want("colours of bars", `new Set([...document.querySelectorAll('#figure-dots rect[data-series]')].map(r => r.getAttribute('fill'))).size`, 2.0)
	l.want("keys in the legend", `document.querySelectorAll('#figure-dots .legend button').length`, 0.0)
	l.b.eval(`document.querySelector('#figure-dots .live > svg').focus()`)
	l.b.key("ArrowDown")
	l.want("the values of a bar", `document.querySelector('#figure-dots .tip').innerText.replace(/\s+/g, ' ')`, "etcd Throughput 300 requests/s trial 1 300 requests/s trial 2 400 requests/s")
	l.b.eval(`document.activeElement.blur()`)
}

// labels on points, ticks and titles are as complete as in the picture.
func (l live) labels() {
	texts := `[...document.querySelectorAll('#figure-clients .live > svg > text')].map(t => t.textContent).join()`
	l.want("labels of points", `['one', 'ten', '=many'].every(t => `+texts+`.split(',').includes(t))`, true)
	l.want("ticks", texts+`.includes('1,10,100,Clients')`, true)
	l.want("the short title", `document.querySelector('#figure-boxes h4').textContent`, "Spread")
	for _, width := range []int{390, 1200} {
		l.b.size(width, 900)
		l.b.eval(`new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))`)
		l.want(fmt.Sprintf("the last tick at %d", width), texts+`.includes('100,Clients')`, true)
		l.want("small texts in figures", `[...document.querySelectorAll('.live text')].filter(t => t.getScreenCTM() && parseFloat(getComputedStyle(t).fontSize) * Math.hypot(t.getScreenCTM().a, t.getScreenCTM().b) < 10.9).map(t => t.textContent).join()`, "")
	}
}

func (l live) units() {
	l.want("ticks of bytes", `[...document.querySelectorAll('#figure-bars .live > svg > text')].some(t => t.textContent === '5 MB')`, true)
	l.want("powers of two", `document.body.textContent.includes('MiB')`, false)
}

// save presses the buttons on figures, and compares the tables with those that Go writes.
func (l live) save() {
	l.want("links to files beside the page", `document.querySelectorAll('.files a').length`, 0.0)
	l.b.eval(`(() => {
		window.kept = {make: URL.createObjectURL, click: HTMLAnchorElement.prototype.click, saved: null};
		URL.createObjectURL = blob => { kept.blob = blob; return 'data:,'; };
		HTMLAnchorElement.prototype.click = function() { kept.saved({name: this.download, blob: kept.blob}); };
		window.press = (figure, kind) => new Promise(done => { kept.saved = done; document.querySelector('#figure-' + figure + ' [data-save=' + kind + ']').click(); });
		return true;
	})()`)
	for _, f := range figures() {
		var table bytes.Buffer
		if err := figure.CSV(&table, f); err != nil {
			l.Fatal(err)
		}
		got := l.b.eval(fmt.Sprintf(`press('%s', 'CSV').then(async s => s.name + '\n' + await s.blob.text())`, strings.ToLower(f.Name)))
		if diff := cmp.Diff(f.Name+".csv\n"+table.String(), got); diff != "" {
			l.Errorf("the table of %s that the page saves (-want +got):\n%s", f.Name, diff)
		}
		picture := l.b.eval(fmt.Sprintf(`press('%s', 'SVG').then(async s => { const d = new DOMParser().parseFromString(await s.blob.text(), 'image/svg+xml'); return s.name + ' ' + d.querySelectorAll('parsererror, [class]').length + ' ' + [...d.querySelectorAll('text')].map(t => t.textContent).join(' '); })`, strings.ToLower(f.Name)))
		if text, _ := picture.(string); !strings.HasPrefix(text, f.Name+".svg 0 "+strings.Fields(f.Title)[0]) {
			l.Errorf("the picture of %s that the page saves: %.200q", f.Name, text)
		}
	}
	l.want("the start of a PNG", `press('panels', 'PNG').then(async s => s.name + ' ' + [...new Uint8Array(await s.blob.slice(1, 4).arrayBuffer())].map(c => String.fromCharCode(c)).join(''))`, "PANELS.png PNG")
	l.want("what a saved picture is drawn with", `press('throughput', 'SVG').then(s => s.blob.text()).then(t => [...new DOMParser().parseFromString(t, 'image/svg+xml').querySelectorAll('path, rect, text')].filter(e => !e.closest('[fill], [stroke]')).length)`, 0.0)
	l.b.eval(`(() => { URL.createObjectURL = kept.make; HTMLAnchorElement.prototype.click = kept.click; return true; })()`)
	l.want("the figure as wide as before", `(() => { const s = document.querySelector('#figure-panels .live > svg'); return Math.abs(s.viewBox.baseVal.width - s.clientWidth) <= 1; })()`, true)
}

func (l live) sort() {
	names := `[...document.querySelectorAll('#section-first tbody tr')].map(r => r.id).join(' ')`
	head := `document.querySelectorAll('#section-first thead th')[1]`
	l.b.eval(head + `.querySelector('button').click()`)
	l.want("rows by the first column", names, "row-failed row-latency row-throughput")
	l.want("the head", head+`.getAttribute('aria-sort')`, "ascending")
	l.b.eval(head + `.querySelector('button').click()`)
	l.want("and down", names, "row-throughput row-latency row-failed")
	l.b.eval(head + `.querySelector('button').click()`)
	l.want("and as they were", names, "row-throughput row-latency row-failed")
}

func (l live) search() {
	l.b.eval(`document.activeElement.blur()`)
	l.b.key("/")
	l.want("the search has the focus", `document.activeElement.id`, "search")
	l.b.call("Input.insertText", map[string]any{"text": "disk"})
	l.want("what was found", `document.getElementById('found').textContent`, "4 rows")
	l.want("a folded section opens", `document.getElementById('section-third').open`, true)
	l.want("others go", `document.getElementById('row-latency').hidden`, true)
	l.b.key("Escape")
	l.want("all again", `document.getElementById('row-latency').hidden || document.getElementById('section-third').open`, false)
}

// searchTexts finds text outside tables: the first screen, doubts, notes and settings.
func (l live) searchTexts() {
	search := func(text string) {
		l.b.eval(fmt.Sprintf(`(() => { const s = document.getElementById('search'); s.value = %q; s.dispatchEvent(new Event('input')); return true; })()`, text))
	}
	visible := func(selector string) string {
		return fmt.Sprintf(`[...document.querySelectorAll(%q)].filter(e => e.offsetParent).length`, selector)
	}
	for text, selector := range map[string]string{
		"etcd answered more": "#headline .verdict", "fsync": "#headline li", "shared host": "#marks li", "a note": "#notes li", "described": ".description",
		"what cpu means": "#meaning tr", "leader lost": "#figure-throughput", "dbtester analyze": "#how pre",
	} {
		search(text)
		if n, _ := l.b.eval(visible(selector)).(float64); n < 1 {
			l.Errorf("a search for %q must show %s", text, selector)
		}
	}
	search("shared host")
	l.want("sections without what was found", visible("#section-first, #notes, #figures, #figure-cpu"), 0.0)
	search("nowhere to be found")
	l.want("what was found", `document.getElementById('found').textContent`, "nothing found")
	l.want("sections that are empty", visible("details.section, .figure, h2"), 0.0)
	search("")
	l.want("all again", visible("#headline .verdict, #marks, #figure-throughput"), 3.0)
}

// touch looks for targets that a finger would miss.
func (l live) touch() {
	l.b.size(390, 844)
	l.b.eval(`new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))`)
	l.want("targets below 24 pixels", `[...document.querySelectorAll('button, summary, input, nav a, figcaption a')].filter(e => e.offsetParent && (e.getBoundingClientRect().height < 23.5 || e.getBoundingClientRect().width < 23.5)).map(e => e.outerHTML.slice(0, 80)).join()`, "")
	l.b.eval(`document.getElementById('meaning').scrollIntoView()`)
	l.want("the navigation stays in view", `(() => { const r = document.querySelector('nav').getBoundingClientRect(); return r.top === 0 && r.height < 90; })()`, true)
	l.b.eval(`scrollTo(0, 0)`)
	l.b.size(1200, 900)
}

func (l live) links() {
	shown := func(id string) string { return fmt.Sprintf(`document.getElementById('%s').offsetParent !== null`, id) }
	l.want("a row that is zero everywhere", shown("row-failed"), false)
	l.b.eval(`document.querySelector('#section-first .zeros').click()`)
	l.want("unfolded", shown("row-failed"), true)
	l.b.eval(`new Promise(done => { addEventListener('hashchange', () => requestAnimationFrame(done), {once: true}); location.hash = '#row-disk'; })`)
	l.want("a link opens the section of its row", `document.getElementById('section-third').open`, true)
	l.b.eval(`new Promise(done => { addEventListener('hashchange', () => requestAnimationFrame(done), {once: true}); location.hash = '#figure-more'; })`)
	l.want("and of a figure", `document.getElementById('other-figures').open`, true)
	l.want("which is drawn", `document.querySelectorAll('#figure-more .live').length`, 1.0)
	l.want("ids that occur twice", `(() => { const all = [...document.querySelectorAll('[id]')].map(e => e.id); return all.length - new Set(all).size; })()`, 0.0)
	l.want("links to no place of the page", `[...document.querySelectorAll('a[href^="#"]')].filter(a => !document.getElementById(a.getAttribute('href').slice(1))).length`, 0.0)
}

func (l live) darkness() {
	paper := `getComputedStyle(document.body).backgroundColor`
	l.want("a light page", paper, "rgb(255, 255, 255)")
	l.b.dark(true)
	l.want("a dark page", paper, "rgb(21, 24, 27)")
	line := `getComputedStyle(document.querySelector('#figure-cpu [data-series=etcd] path')).stroke`
	dark := l.b.eval(line)
	l.b.eval(`document.getElementById('theme').click()`)
	l.want("light on demand", paper, "rgb(255, 255, 255)")
	if light := l.b.eval(line); light == dark {
		l.Errorf("lines must be lighter on a dark page, got %v on both", light)
	}
	l.b.eval(`delete document.documentElement.dataset.theme`)
	l.b.dark(false)
}

// widths checks a phone, a tablet and a desktop: nothing is wider than the window.
func (l live) widths() {
	for _, width := range []int{390, 800, 1400} {
		l.b.size(width, 900)
		l.b.eval(`new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))`)
		l.want(fmt.Sprintf("the width of the page at %d", width), `document.documentElement.scrollWidth <= innerWidth`, true)
		l.want("figures drawn for it", `[...document.querySelectorAll('.live > svg')].filter(s => s.clientWidth && Math.abs(s.viewBox.baseVal.width - s.clientWidth) > 1).length`, 0.0)
	}
	l.b.size(1200, 900)
}

func (l live) paper() {
	open := `document.querySelectorAll('details.section[open]').length`
	before := l.b.eval(open)
	if pdf := l.b.print(); !bytes.HasPrefix(pdf, []byte("%PDF")) {
		l.Error("the page must print")
	}
	l.want("sections open after printing", open, before)
}

// TestLook takes pictures of the report DBTESTER_PAGE into the folder DBTESTER_PAGE_DIR, for
// inspection: three widths, dark, and paper.
func TestLook(t *testing.T) {
	path := os.Getenv("DBTESTER_PAGE")
	if path == "" {
		t.Skip("DBTESTER_PAGE names no report")
	}
	b := newBrowser(t)
	for _, width := range []int{390, 820, 1400} {
		b.size(width, 900)
		b.open(path)
		keep(t, fmt.Sprintf("%d.png", width), b.picture(true))
	}
	b.dark(true)
	keep(t, "dark.png", b.picture(true))
	b.dark(false)
	keep(t, "paper.pdf", b.print())
	if len(b.Console) > 0 {
		t.Errorf("the page reported %q", b.Console)
	}
}
