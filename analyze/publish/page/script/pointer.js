/* Pointer and keys */

class Live extends Chart {
  listen() {
    const r = this.root;
    r.addEventListener('keydown', e => this.key(e));
    r.addEventListener('pointermove', e => this.move(e));
    r.addEventListener('pointerleave', () => { if (!this.dragged()) this.leave(); });
    r.addEventListener('pointerdown', e => {
      if (this.isBars() || e.button || e.pointerType === 'touch') { this.move(e); return; }
      this.drag = this.across(e);
      r.setPointerCapture(e.pointerId);
    });
    r.addEventListener('pointerup', e => this.drop(e));
    r.addEventListener('pointercancel', () => { this.drag = null; });
    r.addEventListener('dblclick', () => this.zoom(null));
    r.addEventListener('blur', () => this.leave());
  }

  dragged() { return this.drag !== null && this.drag !== undefined; }

  // across returns where an event is in the figure's units.
  across(e) {
    const b = this.root.getBoundingClientRect();
    return (e.clientX - b.left) / b.width * this.width;
  }

  move(e) {
    if (this.isBars()) {
      const b = this.root.getBoundingClientRect(), n = this.bars.at((e.clientY - b.top) / b.height * this.height);
      if (n < 0) this.leave(); else this.point(n, true);
      return;
    }
    const p = this.across(e), b = this.box;
    if (this.dragged()) {
      const from = Math.max(b.left, Math.min(p, this.drag)), to = Math.min(b.right, Math.max(p, this.drag));
      this.live.replaceChildren(svg('rect', {'class': 'box', x: from, y: b.top, width: Math.max(0, to - from), height: b.bottom - b.top}));
      return;
    }
    if (p < b.left - 4 || p > b.right + 4) { this.leave(); return; }
    const near = this.nearest(p);
    if (near !== null) this.point(near, true);
  }

  drop(e) {
    const from = this.drag, to = this.across(e);
    this.drag = null;
    if (this.isBars() || from === null || from === undefined || Math.abs(from - to) < 6) return;
    const b = this.box, clip = p => Math.max(b.left, Math.min(b.right, p));
    this.zoom([this.x.value(clip(Math.min(from, to))), this.x.value(clip(Math.max(from, to)))]);
  }

  // places returns all x in the visible series, the middles of a grid's columns, or the category
  // numbers.
  places() {
    if (this.isBars()) return this.data.categories.map((c, i) => i);
    const g = this.data.grid;
    if (g) return g.x.slice(1).map((v, i) => (v + g.x[i]) / 2);
    const all = new Set();
    for (const s of this.visible()) this.xs(s).forEach((v, i) => { if (this.x.has(v) && s.y[i] !== null) all.add(v); });
    return [...all].sort((a, b) => a - b);
  }

  nearest(p) {
    let best = null, distance = Infinity;
    for (const v of this.places()) {
      if (v < this.x.low || v > this.x.high) continue;
      const d = Math.abs(this.x.place(v) - p);
      if (d < distance) { best = v; distance = d; }
    }
    return best;
  }

  // point sets the cursor to x in all linked figures; this one shows the values.
  point(x, spread) {
    this.at = x;
    if (this.isBars()) {
      const row = this.bars.rows[x];
      this.live.replaceChildren(svg('rect', {'class': 'box', x: 0, y: row.top, width: this.width, height: row.height}));
      if (spread) this.showValues(this.barValues(x), this.width / 2, row.top + row.height);
      return;
    }
    const p = this.x.place(x);
    this.live.replaceChildren(this.cursor(p));
    if (!spread) return;
    for (const c of this.linked()) if (c !== this) c.follow(x);
    this.showValues(this.valuesAt(x, p), p, this.box.top);
  }

  cursor(p) { return svg('path', {'class': 'cursor', d: 'M' + p.toFixed(1) + ' ' + this.box.top + 'V' + this.box.bottom}); }

  follow(x) {
    if (!this.box || !this.root) return;
    this.tip.hidden = true;
    if (!(x >= this.x.low && x <= this.x.high)) { this.live.replaceChildren(); return; }
    this.live.replaceChildren(this.cursor(this.x.place(x)));
  }

  leave() {
    this.at = null;
    for (const c of this.linked()) {
      if (c.live) c.live.replaceChildren();
      if (c.tip) c.tip.hidden = true;
    }
  }

  valueRow(s, value) {
    const key = svg('svg', {width: 12, height: 10}, svg('path', {d: s.marker, transform: 'translate(6 5)', fill: s.color}));
    return html('tr', {}, html('th', {}, key, ' ' + s.name + (s.trial ? ', trial ' + s.trial : '')), html('td', {}, value));
  }

  barValues(n) {
    return html('table', {}, html('caption', {}, this.data.categories[n]), ...this.bars.values(n).map(([s, value]) => this.valueRow(s, value)));
  }

  // valuesAt lists the visible series' values at x, by panel where panels do not have their series'
  // names, and rings their points.
  valuesAt(x, p) {
    const d = this.data, table = html('table', {}), at = isSeconds(d.x) ? clock(x, this.x.high) : text(x, d.x.unit, 6);
    table.append(html('caption', {}, titleOf(d.x) + ': ' + at));
    for (const plane of this.planes) {
      const shown = plane.shown(), title = d.panels && d.panels[plane.number];
      if (title && shown.some(s => s.name !== title)) table.append(html('tr', {}, html('th', {'class': 'panel', colspan: 2}, title)));
      for (const s of shown) {
        const i = this.place(s, x, p);
        table.append(this.valueRow(s, i < 0 ? '–' : this.valueOf(s, i, plane.axis.unit)));
        if (i >= 0 && s.details) table.append(html('tr', {}, html('td', {'class': 'detail', colspan: 2}, s.details[i])));
        plane.ring(this.live, s, i);
      }
      for (const text of this.stripsAt(plane, x)) table.append(html('tr', {}, html('td', {'class': 'detail', colspan: 2}, text)));
    }
    if (d.grid) {
      const c = d.grid.x.findIndex((v, i) => x >= v && x < d.grid.x[i + 1]);
      const sum = (d.grid.cells[c] || []).reduce((a, b) => a + b, 0);
      table.append(html('tr', {}, html('th', {}, d.grid.of), html('td', {}, text(sum, '', 6))));
    }
    return table;
  }

  // stripsAt returns the texts of strips that touch x's place: half the way to the points beside it.
  // If there are many, it returns the first few.
  stripsAt(plane, x) {
    const most = 3, all = plane.own(this.data.strips);
    if (!all.length) return [];
    const places = this.places(), i = places.indexOf(x), before = places[i - 1] ?? x - (places[i + 1] - x), after = places[i + 1] ?? x + (x - places[i - 1]);
    const near = all.filter(s => s.at[0] < (x + after) / 2 && s.at[1] > (x + before) / 2).map(s => s.text);
    return near.length > most ? [...near.slice(0, most), 'and ' + (near.length - most) + ' more'] : near;
  }

  valueOf(s, i, unit) {
    let value = withUnit(s.y[i], unit);
    if (s.low && s.low[i] !== null) value += ' (' + text(s.low[i], unit, 4) + ' to ' + text(s.high[i], unit, 4) + ')';
    if (s.labels && s.labels[i]) value += ', ' + s.labels[i];
    if ((s.doubt || []).includes(i)) value += ' (few samples)';
    if ((s.partial || []).includes(i)) value += ' (of a part)';
    return value;
  }

  // showValues shows a table beside a place in the figure.
  showValues(table, x, y) {
    this.tip.replaceChildren(table);
    this.tip.hidden = false;
    const ratio = this.canvas.clientWidth / this.width, room = this.figure.clientWidth - this.tip.offsetWidth;
    const right = x * ratio + 14, left = x * ratio - this.tip.offsetWidth - 14;
    this.tip.style.left = Math.max(0, right <= room || left < 0 ? Math.min(right, room) : left) + 'px';
    this.tip.style.top = this.canvas.offsetTop + y * ratio + 'px';
  }

  // place returns the index of a series' point at x, or near enough to be meant; else -1.
  place(s, x, p) {
    const xs = this.xs(s);
    let low = 0, high = xs.length - 1;
    while (low < high) {
      const middle = low + high >> 1;
      if (xs[middle] < x) low = middle + 1; else high = middle;
    }
    let best = -1, distance = 8;
    for (const i of [low - 1, low, low + 1]) {
      if (i < 0 || i >= xs.length || !this.x.has(xs[i]) || s.y[i] === null) continue;
      const d = Math.abs(this.x.place(xs[i]) - p);
      if (d < distance) { best = i; distance = d; }
    }
    return best;
  }

  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const n = Number(e.key);
    if (n >= 1 && n <= this.names.length) this.toggle(n - 1, false);
    else if (e.key === 'l') this.toggleLog();
    else if (e.key === 'Escape') { this.leave(); return; }
    else if (this.isBars() && !['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight'].includes(e.key)) return;
    else if (this.isBars()) this.walk(e.key === 'ArrowUp' || e.key === 'ArrowLeft' ? -1 : 1);
    else if (e.key === '0') this.zoom(null);
    else if (e.key === '+' || e.key === '=') this.magnify(.5);
    else if (e.key === '-') this.magnify(2);
    else if (e.key === 'ArrowLeft' || e.key === 'ArrowRight') e.shiftKey ? this.pan(e.key === 'ArrowLeft' ? -.25 : .25) : this.walk(e.key === 'ArrowLeft' ? -1 : 1);
    else return;
    e.preventDefault();
    e.stopPropagation();
  }

  walk(by) {
    const all = this.places().filter(v => this.isBars() || v >= this.x.low && v <= this.x.high);
    if (!all.length) return;
    let i = this.at === null ? (by > 0 ? -1 : all.length) : all.findIndex(v => v >= this.at);
    i = Math.min(all.length - 1, Math.max(0, i + by));
    this.point(all[i], true);
  }

  // magnify changes how much is shown around the cursor or the middle.
  magnify(by) {
    const b = this.box, all = this.extent();
    const centre = this.at === null ? (b.left + b.right) / 2 : this.x.place(this.at);
    const from = this.x.value(centre - (centre - b.left) * by), to = this.x.value(centre + (b.right - centre) * by);
    if (from <= all[0] && to >= all[1]) this.zoom(null);
    else this.zoom([Math.max(from, all[0]), Math.min(to, all[1])]);
  }

  pan(by) {
    if (!this.range) return;
    const all = this.extent(), b = this.box, width = (b.right - b.left) * by;
    const from = this.x.value(b.left + width), to = this.x.value(b.right + width);
    if (from >= all[0] && to <= all[1]) this.zoom([from, to]);
  }
}
