/* Files: a figure as SVG, PNG or CSV, made from what is in the page. */

function download(name, type, parts) {
  const address = URL.createObjectURL(new Blob(parts, {type})), link = html('a', {href: address, download: name});
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}

// looks has the attributes that the page's style gives to classes, on white paper.
const looks = {
  grid: {stroke: '#e3e3e3'}, fine: {stroke: '#f2f2f2'}, axis: {stroke: '#222222'}, ground: {fill: '#efefef'}, cells: {fill: '#ffffff'},
  band: {'fill-opacity': .19}, panel: {'font-weight': 'bold'}, label: {'font-size': 11},
};

function withLooks(root) {
  for (const e of root.querySelectorAll('*')) {
    for (const [k, v] of Object.entries(looks[e.getAttribute('class')] || {})) e.setAttribute(k, v);
    if (e.localName === 'text' && !e.hasAttribute('fill')) e.setAttribute('fill', e.closest('.step') ? '#555555' : '#222222');
    if (e.localName === 'text' && !e.hasAttribute('font-size')) e.setAttribute('font-size', e.closest('.step') ? 11 : 12);
  }
  for (const e of root.querySelectorAll('[class]')) e.removeAttribute('class');
  return root;
}

// Sheet is an SVG page that is filled from the top.
class Sheet {
  constructor(width) {
    this.width = width;
    this.y = 14;
    this.root = svg('svg', {width, 'font-family': 'Liberation Sans, Arial, Helvetica, sans-serif'});
    this.paper = svg('rect', {width, fill: '#ffffff'});
    this.root.append(this.paper);
  }

  lines(t, size, attributes) {
    for (const line of folded(t, line => line.length <= Math.floor((this.width - 40) / size / .56))) {
      this.y += Math.round(size * 1.25);
      this.root.append(svg('text', {x: 20, y: this.y, 'font-size': size, ...attributes}, line));
    }
  }

  // keys sets samples with their names side by side.
  keys(all) {
    let x = 20;
    for (const [sample, name] of all) {
      const width = (sample ? Number(sample.getAttribute('width')) + 6 : 0) + name.length * 6.6;
      if (x > 20 && x + width > this.width - 20) { x = 20; this.y += 18; }
      if (sample) {
        const g = svg('g', {transform: 'translate(' + x + ' ' + (this.y + 8) + ')'});
        g.append(...sample.childNodes);
        this.root.append(g);
      }
      this.root.append(svg('text', {x: x + (sample ? Number(sample.getAttribute('width')) + 6 : 0), y: this.y + 18, 'font-size': 12}, name));
      x += width + 18;
    }
    if (all.length) this.y += 24;
  }

  place(root, height) {
    const g = svg('g', {transform: 'translate(0 ' + (this.y + 6) + ')'});
    g.append(...root.childNodes);
    this.root.append(g);
    this.y += height + 6;
  }

  text() {
    const height = Math.ceil(this.y + 14);
    this.root.setAttribute('height', height);
    this.root.setAttribute('viewBox', '0 0 ' + this.width + ' ' + height);
    this.paper.setAttribute('height', height);
    return new XMLSerializer().serializeToString(withLooks(this.root));
  }
}

class Saved extends Live {
  // offerFiles replaces links to files, which may be missing, with buttons.
  offerFiles() {
    const save = (kind, make) => html('button', {type: 'button', 'data-save': kind, 'aria-label': 'save ' + this.data.short + ' as ' + kind, onclick: make}, kind);
    this.figure.querySelector('.files').replaceChildren('Save as ',
      save('CSV', () => download(this.data.name + '.csv', 'text/csv', [this.csv()])), ' ',
      save('SVG', () => download(this.data.name + '.svg', 'image/svg+xml', [this.svg()])), ' ',
      save('PNG', () => this.savePNG()));
  }

  // svg returns the figure as shown, with its titles, legend and notes.
  svg() {
    const d = this.data, sheet = new Sheet(960);
    sheet.lines(d.title, 18, {'font-weight': 'bold'});
    if (d.subtitle) sheet.lines(d.subtitle, 13, {fill: '#555555'});
    const keys = this.names.filter(n => !this.hidden.has(n)).map(n => [this.sample(d.series.find(s => s.name === n)), n]);
    if (d.band) keys.push([null, d.band]);
    if (d.grid) keys.push([this.shades(), this.shadesText()]);
    for (const [label, n] of this.happened()) keys.push([this.eventSample(), label + (n > 1 ? ' (' + n + ')' : '')]);
    sheet.keys(keys);
    const root = this.render(sheet.width);
    sheet.place(root, this.height);
    for (const n of d.notes || []) sheet.lines(n, 11, {fill: '#555555'});
    const out = sheet.text();
    this.draw();
    return out;
  }

  savePNG() {
    const image = new Image(), name = this.data.name + '.png';
    image.addEventListener('load', () => {
      const canvas = html('canvas', {width: image.width * 2, height: image.height * 2});
      canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob(blob => download(name, 'image/png', [blob]));
    });
    image.src = 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(this.svg());
  }

  csv() {
    const columns = this.columns(), rows = [[titleOf(this.data.x), ...columns.map(c => c.name)]];
    for (const [first, at] of this.rows()) rows.push([first, ...columns.map(c => { const i = at(c.series); return i === undefined ? '' : c.text(i); })]);
    return rows.map(r => r.map(field).join(',') + '\n').join('');
  }

  // columns returns the columns for each series, with its band, boxes and marks, and for a grid.
  columns() {
    const d = this.data, out = [];
    const repeats = d.panels && !d.panelY && d.series.some(s => d.series.some(o => o.name === s.name && (o.panel || 0) !== (s.panel || 0)));
    d.series.forEach((s, series) => {
      const name = (repeats ? d.panels[s.panel || 0] + ', ' : '') + s.name + (d.panelY ? ', ' + d.panels[s.panel || 0] : '');
      const add = (of, text) => out.push({name: of ? name + ' ' + of : name, series, text});
      const list = (of, values) => { if (values) add(of, i => digits(values[i])); };
      const value = of => (s.statistic ? s.statistic + ' ' : '') + of;
      list(s.statistic, s.y);
      if (s.labels) add(value('label'), i => s.labels[i]);
      if (s.boxes) ['least', 'p25', 'p75', 'p99', 'most'].forEach((of, n) => add(of, i => digits(s.boxes[i][n])));
      list(s.statistic ? 'least' : 'low', s.low);
      list(s.statistic ? 'most' : 'high', s.high);
      if (s.doubt) add(value('uncertain'), i => String(s.doubt.includes(i)));
      if (s.partial) add(value('partial'), i => String(s.partial.includes(i)));
    });
    const g = d.grid;
    if (g) g.y.slice(1).forEach((to, r) => out.push({name: (g.of + ' from ' + g.y[r] + ' to ' + to + ' ' + (d.y.unit || '')).trim(), series: 0, text: i => digits(g.cells[i][r] || 0)}));
    return out;
  }

  // rows returns each row's first field, and which point of a series belongs in it.
  rows() {
    const d = this.data;
    if (d.grid) return d.grid.cells.map((c, i) => [digits(d.grid.x[i]), () => i]);
    if (this.isBars()) return d.categories.map((c, i) => [c, () => i]);
    const places = new Map(); // by x and how often it occurred before
    d.series.forEach((s, series) => {
      const seen = new Map();
      this.xs(s).forEach((x, i) => {
        if (x === null) return;
        const nth = seen.get(x) || 0, key = x + ' ' + nth;
        seen.set(x, nth + 1);
        if (!places.has(key)) places.set(key, {x, nth, points: new Map()});
        places.get(key).points.set(series, i);
      });
    });
    return [...places.values()].sort((a, b) => a.x - b.x || a.nth - b.nth).map(p => [digits(p.x), series => p.points.get(series)]);
  }
}

const digits = v => v === null || v === undefined ? '' : String(v);

// field quotes a CSV field. No text becomes a spreadsheet formula.
function field(t) {
  if (t.length > 1 && /^[=+@\t\n＝＋－＠-]/.test(t) && !Number.isFinite(Number(t))) t = "'" + t;
  return /[",\r\n]|^\s/.test(t) ? '"' + t.replaceAll('"', '""') + '"' : t;
}

for (const figure of document.querySelectorAll('.figure')) {
  charts.push(new Saved(figure, JSON.parse(figure.querySelector('script[type="application/json"]').textContent)));
}
const drawAll = () => { for (const c of charts) if (c.canvas.clientWidth && Math.round(c.canvas.clientWidth) !== c.width) c.draw(); };

// fitFirst makes the first screen's plots as high as the tables below them leave room for, where
// both plots stand side by side.
function fitFirst() {
  const low = document.querySelector('.low'), all = charts.filter(c => c.leads && c.root && !c.isBars());
  if (!low || !all.length) return;
  const redraw = () => { for (const c of all) c.draw(); };
  leadHeight = mostLead;
  redraw();
  const over = low.getBoundingClientRect().bottom + scrollY + 8 - Math.max(innerHeight, 700);
  if (over <= 0 || !matchMedia('(min-width: 64.01rem)').matches) return;
  leadHeight = Math.max(leastLead, mostLead - Math.ceil(over));
  redraw();
}
