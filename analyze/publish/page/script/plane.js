/* Planes: a figure has one plot inside its axes, or one for each panel. */

class Plane {
  // number is the panel's, axis its vertical axis.
  constructor(chart, number, axis) {
    this.chart = chart;
    this.data = chart.data;
    this.number = number;
    this.axis = axis;
  }

  // own returns the parts in this panel: all parts if the figure has no panels.
  own(parts) { return (parts || []).filter(p => !this.data.panels || (p.panel || 0) === this.number); }
  // log tells whether the vertical axis is logarithmic now: the switch flips every panel's axis.
  log() { return !!this.axis.log !== (this.chart.logY !== !!this.data.y.log); }
  shown() { return this.own(this.chart.visible()); }

  // values returns the least and greatest y in some series between two x.
  values(all, from, to) {
    const log = this.log(), d = this.data;
    let low = Infinity, high = -Infinity;
    const take = v => { if (v !== null && v !== undefined && Number.isFinite(v) && (!log || v > 0)) { low = Math.min(low, v); high = Math.max(high, v); } };
    for (const s of all) {
      const x = this.chart.xs(s);
      for (let i = 0; i < x.length; i++) {
        if (x[i] < from || x[i] > to) continue;
        take(s.y[i]);
        if (s.low) { take(s.low[i]); take(s.high[i]); }
      }
    }
    const g = d.grid;
    if (g) g.cells.forEach((column, c) => column.forEach((n, r) => { if (n > 0 && g.x[c + 1] >= from && g.x[c] <= to) { take(g.y[r]); take(g.y[r + 1]); } }));
    if (low > high) return log ? [1, 10] : [0, 1];
    if (log) {
      low *= .9; high *= 1.1;
      return low === high ? [low / 2, low * 2] : [low, high];
    }
    low = Math.min(low, 0);
    high = Math.max(high, 0);
    if (low === high) return [0, 1];
    const step = niceStep((high - low) / 6, this.axis);
    return [Math.floor(low / step) * step, Math.ceil((high + .02 * (high - low)) / step - 1e-9) * step];
  }

  // measure finds the vertical scale between two x, for a plot with this height.
  measure(all, x0, x1, height) {
    [this.low, this.high] = this.values(all, x0, x1);
    if (!this.chart.range && this.log() === !!this.axis.log) {
      if (this.axis.min !== undefined) this.low = this.axis.min;
      if (this.axis.max !== undefined) this.high = this.axis.max;
    }
    this.marks = ticks(this.scale(0, 1), this.axis, height < 160 ? 3 : 6);
    if (height < 160 && this.marks.filter(t => t.text).length > 6) this.marks.forEach(t => { if (!/^[^1-9]*1[^1-9]*$/.test(t.text)) t.text = ''; });
  }

  scale(from, to) { return scale(this.log() ? 'log' : 'linear', this.low, this.high, from, to); }

  // draw draws everything inside a box; the last plane has the x axis's texts.
  draw(root, x, box, last) {
    const d = this.data, {left, right, top, bottom} = this.box = box;
    this.root = root;
    this.x = x;
    this.y = this.scale(bottom, top);
    this.drawAxes(last);
    const area = svg('svg', {x: left, y: top, width: right - left, height: bottom - top, viewBox: [left, top, right - left, bottom - top].join(' '), overflow: 'hidden'});
    for (const [from, to, panel, tinted] of d.grey || []) {
      if (d.panels && panel !== this.number) continue;
      const a = Math.max(left, x.place(Math.max(from, x.low))), b = Math.min(right, x.place(Math.min(to, x.high)));
      if (b > a) area.append(svg('rect', {'class': tinted ? 'tint' : 'ground', x: a, y: top, width: b - a, height: bottom - top}));
    }
    for (const s of this.own(d.strips)) {
      const a = x.place(s.at[0]), y = bottom - 4 * (d.panels ? 1 : (s.panel || 0) + 1);
      if (s.at[1] >= x.low && s.at[0] <= x.high) area.append(svg('rect', {'class': 'strip', x: a, y, width: Math.max(1.5, x.place(s.at[1]) - a), height: 4, fill: s.color}));
    }
    if (d.grid) this.drawCells(area);
    const shown = this.shown().sort((a, b) => !!b.detail - !!a.detail);
    for (const s of shown) if (s.low) this.drawBand(area, s);
    for (const s of shown) this.drawLine(area, s);
    if (d.kind !== 'heat') for (const s of shown) if (!s.detail) this.drawMarkers(area, s);
    root.append(area);
    this.drawLabels(shown);
    this.drawSteps();
    this.drawEvents();
    if (d.panels) root.append(svg('text', {'class': 'panel', x: left, y: top - (this.own(d.steps).length ? 18 : 5)}, d.panels[this.number]));
  }

  drawAxes(last) {
    const {left, right, top, bottom} = this.box, d = this.data, c = this.chart;
    for (const t of this.marks) {
      const y = this.y.place(t.v);
      this.root.append(svg('path', {'class': t.fine ? 'fine' : 'grid', d: 'M' + left + ' ' + y.toFixed(1) + 'H' + right}));
      if (t.text) this.root.append(svg('text', {x: left - 6, y: y + 4, 'text-anchor': 'end'}, t.text));
    }
    // Chosen places have names or are whole. Measured places have no ticks of their own.
    const places = d.kind === 'points' ? [...new Set(d.xs.flat())].sort((a, b) => a - b) : [];
    const only = d.x.names || places.every(Number.isInteger) ? places : null;
    const all = ticks(this.x, d.x, Math.max(3, Math.min(9, c.width / 80)), only), fit = fitting(all, this.x.place, c.width);
    all.forEach((t, i) => {
      const x = this.x.place(t.v);
      this.root.append(svg('path', {'class': t.fine ? 'fine' : 'grid', d: 'M' + x.toFixed(1) + ' ' + top + 'V' + bottom}));
      if (last && fit.has(i)) this.root.append(svg('text', {x: fit.get(i), y: bottom + 16, 'text-anchor': 'middle'}, t.text));
    });
    this.root.append(svg('path', {'class': 'axis', d: 'M' + left + ' ' + bottom + 'H' + right}));
    if (last) this.root.append(svg('text', {x: (left + right) / 2, y: bottom + 33, 'text-anchor': 'middle'}, titleOf(d.x)));
  }

  drawSteps() {
    let free = -Infinity;
    for (const s of this.own(this.data.steps)) {
      if (!this.x.has(s.x) || s.x < this.x.low || s.x > this.x.high) continue;
      const x = this.x.place(s.x), g = svg('g', {'class': 'step'}), length = s.label.length * 6;
      g.append(svg('path', {d: 'M' + x.toFixed(1) + ' ' + this.box.top + 'V' + this.box.bottom, stroke: s.color || '#999999', 'stroke-dasharray': '4 3'}));
      const start = Math.min(x, this.box.right - length);
      if (start >= free) {
        g.append(svg('text', {x: start, y: this.box.top - 4}, s.label));
        free = start + length + 8;
      }
      g.append(svg('title', {}, s.label));
      this.root.append(g);
    }
  }

  // drawEvents marks what happened, with its name on hover. Many events' lines would hide the data:
  // as in pictures, more than 120 events have no lines.
  drawEvents() {
    const shown = this.own(this.data.events).filter(e => this.x.has(e.x) && e.x >= this.x.low && e.x <= this.x.high);
    for (const e of shown) {
      const x = this.x.place(e.x), g = svg('g', {'class': 'event', stroke: e.color || '#777777', fill: 'none'}), top = this.box.top;
      if (shown.length <= 120) g.append(svg('path', {d: 'M' + x.toFixed(1) + ' ' + top + 'V' + this.box.bottom, 'stroke-width': .6}));
      g.append(svg('path', {d: 'M' + (x - 3.5).toFixed(1) + ' ' + top + 'h7l-3.5 6z', 'stroke-width': 1}));
      g.append(svg('title', {}, e.label));
      this.root.append(g);
    }
  }

  // parts splits a series at its gaps, and returns each part's places.
  parts(s) {
    const x = this.chart.xs(s), out = [];
    let open = null;
    for (let i = 0; i < x.length; i++) {
      if (!this.x.has(x[i]) || !this.y.has(s.y[i])) { open = null; continue; }
      if (!open) out.push(open = []);
      open.push(i);
    }
    return out;
  }

  // drawLine draws doubtful pieces dotted, and pieces that cover only a part of their interval pale.
  drawLine(area, s) {
    if (s.loose) return;
    const x = this.chart.xs(s), doubt = new Set(s.doubt || []), partial = new Set(s.partial || []), stairs = this.data.kind === 'stairs';
    const pieces = ['', '', '', '']; // index: 1 for dotted plus 2 for pale
    const point = (i, j) => this.x.place(x[i]).toFixed(1) + ' ' + this.y.place(s.y[j]).toFixed(1);
    for (const part of this.parts(s)) {
      let last = null; // the previous segment's look
      part.forEach((i, n) => {
        if (!n) return;
        const before = part[n - 1], is = (doubt.has(i) || doubt.has(before)) + 2 * (partial.has(i) || partial.has(before));
        pieces[is] += (is === last ? '' : 'M' + point(before, before)) + 'L' + (stairs ? point(i, before) + 'L' : '') + point(i, i);
        last = is;
      });
    }
    const g = svg('g', {'data-series': s.name});
    pieces.forEach((d, is) => {
      if (!d) return;
      const look = this.chart.stroke(s, d);
      if (is & 1) look['stroke-dasharray'] = '1.8 2.6';
      if (is & 2) look['stroke-opacity'] = .38;
      if (x.length > 2 * this.chart.width) look['stroke-width'] = s.thin ? .6 : .9;
      if (this.data.kind === 'heat') g.append(svg('path', {...look, 'class': 'rim', stroke: '#ffffff', 'stroke-width': 3.4, 'stroke-dasharray': null}));
      g.append(svg('path', look));
    });
    area.append(g);
  }

  drawBand(area, s) {
    const x = this.chart.xs(s);
    let up = [], down = [], d = '';
    const flush = () => { if (up.length > 1) d += 'M' + up.join('L') + 'L' + down.reverse().join('L') + 'Z'; up = []; down = []; };
    for (let i = 0; i < x.length; i++) {
      if (!this.x.has(x[i]) || !this.y.has(s.low[i]) || !this.y.has(s.high[i])) { flush(); continue; }
      const at = this.x.place(x[i]).toFixed(1) + ' ';
      up.push(at + this.y.place(s.high[i]).toFixed(1));
      down.push(at + this.y.place(s.low[i]).toFixed(1));
    }
    flush();
    if (d) area.append(svg('path', {'class': 'band', d, fill: s.color}));
  }

  // drawMarkers marks lone points, all points if they are few, else some.
  drawMarkers(area, s) {
    const x = this.chart.xs(s), doubt = new Set(s.doubt || []), parts = this.parts(s);
    const inside = parts.flat().filter(i => x[i] >= this.x.low && x[i] <= this.x.high);
    const lone = new Set(parts.filter(p => p.length === 1).map(p => p[0]));
    const shift = this.data.series.indexOf(s) * 17;
    let next = this.box.left + 20 + shift % 90;
    for (const i of inside) {
      const at = this.x.place(x[i]);
      if (!s.loose && inside.length > 40 && this.data.kind !== 'points' && !lone.has(i)) {
        if (at < next) continue;
        next = at + 90;
      }
      const hollow = doubt.has(i);
      area.append(svg('path', {d: s.marker, transform: 'translate(' + at.toFixed(1) + ' ' + this.y.place(s.y[i]).toFixed(1) + ')', 'fill-opacity': (s.partial || []).includes(i) ? .38 : null, fill: hollow ? '#ffffff' : s.color, stroke: hollow ? s.color : '#ffffff', 'stroke-width': hollow ? 1.2 : .8}));
    }
  }

  // drawLabels sets labels beside their points, in loose series only the highest point's. A label
  // that would cover another one shows only with its point's values.
  drawLabels(shown) {
    const taken = [], b = this.box;
    for (const s of shown) {
      const x = this.chart.xs(s), highest = Math.max(...s.y.filter(v => v !== null));
      (s.labels || []).forEach((label, i) => {
        if (!label || s.loose && s.y[i] < highest || !this.x.has(x[i]) || !this.y.has(s.y[i])) return;
        const px = this.x.place(x[i]), py = this.y.place(s.y[i]), width = label.length * 6.2;
        if (px < b.left - 1 || px > b.right + 1) return;
        for (const [dx, dy] of [[6, -5], [6, 13], [-6 - width, -5], [-6 - width, 13], [-width / 2, -9], [-width / 2, 18]]) {
          const at = {left: px + dx, right: px + dx + width, top: py + dy - 10, bottom: py + dy + 1};
          if (at.left < b.left || at.right > this.chart.width || at.top < b.top - 8 || at.bottom > b.bottom) continue;
          if (taken.some(t => at.left < t.right && at.right > t.left && at.top < t.bottom && at.bottom > t.top)) continue;
          taken.push(at);
          this.root.append(svg('text', {'class': 'label', x: at.left, y: py + dy, fill: s.ink}, label));
          break;
        }
      });
    }
  }

  drawCells(area) {
    const g = this.data.grid, paths = g.colors.map(() => '');
    g.levels.forEach((column, c) => {
      const left = Math.max(this.x.place(g.x[c]), this.box.left - 1), right = this.x.place(g.x[c + 1]);
      if (right < this.box.left || left > this.box.right) return;
      column.forEach((level, r) => {
        if (level < 0 || !this.y.has(g.y[r])) return;
        const low = this.y.place(g.y[r]), high = this.y.place(g.y[r + 1]);
        paths[level] += 'M' + left.toFixed(1) + ' ' + low.toFixed(1) + 'H' + (right + .3).toFixed(1) + 'V' + (high - .3).toFixed(1) + 'H' + left.toFixed(1) + 'Z';
      });
    });
    const b = this.box;
    area.append(svg('rect', {'class': 'cells', x: b.left, y: b.top, width: b.right - b.left, height: b.bottom - b.top}));
    paths.forEach((d, i) => { if (d) area.append(svg('path', {d, fill: g.colors[i]})); });
  }

  // ring draws a ring around a series' i-th point on the cursor's layer.
  ring(layer, s, i) {
    if (i >= 0 && this.y.has(s.y[i])) layer.append(svg('circle', {cx: this.x.place(this.chart.xs(s)[i]), cy: this.y.place(s.y[i]), r: 4, fill: 'none', stroke: s.color, 'stroke-width': 2}));
  }
}
