/* Figures */

const charts = [];

class Chart {
  constructor(figure, data) {
    this.figure = figure;
    this.data = data;
    this.canvas = figure.querySelector('.canvas');
    this.hidden = new Set();
    this.logY = !!data.y.log;
    this.logX = !!data.x.log;
    this.range = null; // of x, null for all
    this.at = null; // x of the cursor
    this.width = 0;
    // Figures with the same axis move together.
    this.group = ['lines', 'stairs', 'heat'].includes(data.kind) ? titleOf(data.x) : null;
  }

  visible() { return this.data.series.filter((s, i) => !this.hidden.has(i)); }
  xs(s) { return this.data.xs[s.at]; }
  linked() { return this.group === null ? [this] : charts.filter(c => c.group === this.group); }

  // draw draws the figure as wide as its place, or on paper as wide as a column there.
  draw(paper) {
    const width = paper || Math.round(this.canvas.clientWidth);
    if (!width) return; // folded away
    this.width = width;
    this.height = this.data.kind === 'bars' ? this.barsHeight() : Math.round(Math.min(400, Math.max(230, width * .5)));
    this.root = svg('svg', {viewBox: '0 0 ' + width + ' ' + this.height, role: 'img', tabindex: 0, 'aria-label': this.canvas.dataset.alt});
    this.live = svg('g', {'class': 'cursor-layer'});
    if (this.data.kind === 'bars') this.drawBars();
    else this.drawPlane();
    this.root.append(this.live);
    this.listen();
    if (!this.head) this.makeHead();
    const focused = this.canvas.contains(document.activeElement);
    this.canvas.replaceChildren(this.root);
    this.canvas.classList.add('live');
    if (focused) this.root.focus({preventScroll: true});
    this.showHead();
    if (this.at !== null) this.point(this.at, false);
  }

  // makeHead makes the title, the switches and the legend, once.
  makeHead() {
    const d = this.data;
    this.switches = html('span', {'class': 'switches'});
    this.logButton = html('button', {type: 'button', onclick: () => this.toggleLog()}, 'log');
    this.resetButton = html('button', {type: 'button', onclick: () => this.zoom(null)}, 'show all');
    this.switches.append(this.resetButton, this.logButton);
    if (d.kind === 'points') {
      this.logXButton = html('button', {type: 'button', onclick: () => { this.logX = !this.logX; this.draw(); }}, 'log x');
      this.switches.append(this.logXButton);
    }
    this.legend = html('div', {'class': 'legend', role: 'group', 'aria-label': 'series'});
    this.keys = d.series.map((s, i) => {
      const sample = svg('svg', {width: 34, height: 12, 'aria-hidden': 'true'});
      if (d.kind === 'bars') sample.append(svg('rect', {x: 8, y: 1, width: 18, height: 10, fill: s.color}));
      else sample.append(s.loose ? '' : svg('path', this.stroke(s, 'M1 6H33')), d.kind === 'heat' ? '' : svg('path', {d: s.marker, transform: 'translate(17 6)', fill: s.color}));
      const b = html('button', {type: 'button', 'aria-pressed': 'true', onclick: e => this.toggle(i, e.shiftKey)}, sample, s.name);
      this.legend.append(b);
      return b;
    });
    if (d.band) this.legend.append(html('span', {'class': 'note'}, d.band));
    if (d.grid) this.legend.append(this.shades());
    for (const [label, n] of this.happened()) {
      const sample = svg('svg', {width: 12, height: 12, 'aria-hidden': 'true'}, svg('path', {d: 'M2.5 2h7l-3.5 6zM6 8v4', stroke: '#777777', fill: 'none'}));
      this.legend.append(html('span', {'class': 'note event-kind'}, sample, ' ' + label + (n > 1 ? ' (' + n + ')' : '')));
    }
    this.head = html('div', {}, this.switches, html('h4', {}, d.title));
    if (d.subtitle) this.head.append(html('p', {'class': 'sub'}, d.subtitle));
    this.head.append(this.legend);
    this.canvas.before(this.head);
    for (const n of [...(d.notes || [])].reverse()) this.canvas.after(html('p', {'class': 'note'}, n));
    this.tip = html('div', {'class': 'tip', role: 'status', hidden: ''});
    this.figure.append(this.tip);
  }

  // happened counts the events by their names.
  happened() {
    const kinds = new Map();
    for (const e of this.data.events || []) kinds.set(e.label, (kinds.get(e.label) || 0) + (e.n || 1));
    return kinds;
  }

  shades() {
    const g = this.data.grid, all = g.cells.flat().filter(n => n > 0);
    const sample = svg('svg', {width: 6 * g.colors.length, height: 12, 'aria-hidden': 'true'});
    g.colors.forEach((c, i) => sample.append(svg('rect', {x: 6 * i, width: 6, height: 12, fill: c})));
    const least = all.reduce((a, b) => Math.min(a, b), Infinity), most = all.reduce((a, b) => Math.max(a, b), 0);
    return html('span', {'class': 'note'}, sample, all.length ? ' ' + text(least, '', 4) + ' to ' + text(most, '', 4) + ' ' + g.of + ' in a cell' : ' no data');
  }

  showHead() {
    this.keys.forEach((k, i) => k.setAttribute('aria-pressed', String(!this.hidden.has(i))));
    this.logButton.setAttribute('aria-pressed', String(this.logY));
    if (this.logXButton) this.logXButton.setAttribute('aria-pressed', String(this.logX));
    this.resetButton.hidden = !this.range;
  }

  toggle(i, everywhere) {
    const name = this.data.series[i].name, hide = !this.hidden.has(i);
    for (const c of everywhere ? charts : [this]) {
      c.data.series.forEach((s, n) => {
        if (c === this ? n === i : s.name === name) hide ? c.hidden.add(n) : c.hidden.delete(n);
      });
      c.draw();
    }
  }

  toggleLog() { this.logY = !this.logY; this.draw(); }

  // zoom shows a part of the x axis in all figures that share it, or with null all.
  zoom(range) {
    for (const c of this.linked()) { c.range = range; c.draw(); }
  }

  stroke(s, d) {
    const dash = [null, '7 4', '1.8 2.6'][s.dash || 0];
    return {d, fill: 'none', stroke: s.color, 'stroke-width': s.thin ? 1 : 1.7, 'stroke-dasharray': dash, 'stroke-linejoin': 'round'};
  }
}
