/* Drawing: the parts of a figure. */

class Drawn extends Chart {
  // extent is the least and greatest x of all series.
  extent() {
    let low = Infinity, high = -Infinity;
    const take = v => { if (v !== null && Number.isFinite(v)) { low = Math.min(low, v); high = Math.max(high, v); } };
    if (this.data.grid) this.data.grid.x.forEach(take);
    else for (const s of this.data.series) this.xs(s).forEach(v => { if (!this.logX || v > 0) take(v); });
    const x = this.data.x;
    if (x.min !== undefined) low = x.min;
    if (x.max !== undefined) high = x.max;
    if (low > high) return [0, 1];
    if (this.data.kind === 'percentiles') return [0, Math.min(high, 99.9999999)];
    if (!this.logX && low > 0 && low <= .2 * high) low = 0;
    if (low === high) return this.logX ? [low / 2, high * 2] : [low - .5, high + .5];
    if (this.data.kind === 'points') return this.logX ? [low / 1.15, high * 1.15] : [low, high + .03 * (high - low)];
    return [low, high];
  }

  // values is the least and greatest y of what is shown between two x.
  values(from, to) {
    let low = Infinity, high = -Infinity;
    const take = v => { if (v !== null && v !== undefined && Number.isFinite(v) && (!this.logY || v > 0)) { low = Math.min(low, v); high = Math.max(high, v); } };
    for (const s of this.visible()) {
      const x = this.xs(s);
      for (let i = 0; i < x.length; i++) {
        if (x[i] < from || x[i] > to) continue;
        take(s.y[i]);
        if (s.low) { take(s.low[i]); take(s.high[i]); }
      }
    }
    const g = this.data.grid;
    if (g) g.cells.forEach((column, c) => column.forEach((n, r) => { if (n > 0 && g.x[c + 1] >= from && g.x[c] <= to) { take(g.y[r]); take(g.y[r + 1]); } }));
    if (low > high) return this.logY ? [1, 10] : [0, 1];
    if (this.logY) {
      low *= .9; high *= 1.1;
      return low === high ? [low / 2, low * 2] : [low, high];
    }
    low = Math.min(low, 0);
    high = Math.max(high, 0);
    if (low === high) return [0, 1];
    const step = niceStep((high - low) / 6, this.data.y);
    return [Math.floor(low / step) * step, Math.ceil((high + .02 * (high - low)) / step - 1e-9) * step];
  }

  drawPlane() {
    const d = this.data, all = this.extent();
    const [x0, x1] = this.range ? [Math.max(this.range[0], all[0]), Math.min(this.range[1], all[1])] : all;
    let [y0, y1] = this.values(x0, x1);
    if (!this.range && !this.logY !== !!d.y.log) {
      if (d.y.min !== undefined) y0 = d.y.min;
      if (d.y.max !== undefined) y1 = d.y.max;
    }
    const rows = this.stepRows(x0, x1), top = 8 + 14 * (rows ? 1 : 0), bottom = this.height - 38;
    this.y = scale(this.logY ? 'log' : 'linear', y0, y1, bottom, top);
    const marks = ticks(this.y, d.y, 6);
    const left = 24 + Math.max(...marks.map(([, t]) => t.length), 1) * 7;
    this.x = scale(d.kind === 'percentiles' ? 'nines' : this.logX ? 'log' : 'linear', x0, x1, left, this.width - 12);
    this.box = {left, right: this.width - 12, top, bottom};
    this.drawAxes(marks);
    const area = svg('svg', {x: left, y: top, width: this.width - 12 - left, height: bottom - top, viewBox: [left, top, this.width - 12 - left, bottom - top].join(' '), overflow: 'hidden'});
    for (const [from, to] of d.grey || []) {
      const a = Math.max(left, this.x.place(Math.max(from, x0))), b = Math.min(this.width - 12, this.x.place(Math.min(to, x1)));
      if (b > a) area.append(svg('rect', {'class': 'ground', x: a, y: top, width: b - a, height: bottom - top}));
    }
    if (d.grid) this.drawCells(area);
    const shown = this.visible();
    for (const s of shown) if (s.low) this.drawBand(area, s);
    for (const s of shown) this.drawLine(area, s);
    if (d.kind !== 'heat') for (const s of shown) this.drawMarkers(area, s);
    this.root.append(area);
    this.drawSteps();
    this.drawEvents();
  }

  drawAxes(marks) {
    const {left, right, top, bottom} = this.box, d = this.data;
    for (const [v, t] of marks) {
      const y = this.y.place(v);
      this.root.append(svg('path', {'class': 'grid', d: 'M' + left + ' ' + y.toFixed(1) + 'H' + right}), svg('text', {x: left - 6, y: y + 4, 'text-anchor': 'end'}, t));
    }
    let free = -Infinity;
    const only = d.kind === 'points' ? [...new Set(d.xs.flat())].sort((a, b) => a - b) : null;
    for (const [v, t] of ticks(this.x, d.x, Math.max(3, Math.min(9, this.width / 80)), only)) {
      const x = this.x.place(v), half = t.length * 3.4;
      this.root.append(svg('path', {'class': 'grid', d: 'M' + x.toFixed(1) + ' ' + top + 'V' + bottom}));
      if (x - half < free) continue;
      this.root.append(svg('text', {x, y: bottom + 16, 'text-anchor': x + half > this.width ? 'end' : 'middle'}, t));
      free = x + half + 6;
    }
    this.root.append(
      svg('path', {'class': 'axis', d: 'M' + left + ' ' + bottom + 'H' + right}),
      svg('text', {x: (left + right) / 2, y: this.height - 5, 'text-anchor': 'middle'}, titleOf(d.x)),
      svg('text', {'text-anchor': 'middle', transform: 'translate(11 ' + (top + bottom) / 2 + ') rotate(-90)'}, titleOf(d.y)));
  }

  stepRows(x0, x1) { return (this.data.steps || []).filter(s => s.x >= x0 && s.x <= x1).length; }

  drawSteps() {
    let free = -Infinity;
    for (const s of this.data.steps || []) {
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

  // drawEvents marks what happened, with its name on hover.
  drawEvents() {
    for (const e of this.data.events || []) {
      if (!this.x.has(e.x) || e.x < this.x.low || e.x > this.x.high) continue;
      const x = this.x.place(e.x), g = svg('g', {'class': 'event', stroke: e.color || '#777777', fill: 'none'}), top = this.box.top;
      g.append(svg('path', {d: 'M' + x.toFixed(1) + ' ' + top + 'V' + this.box.bottom, 'stroke-width': .6}));
      g.append(svg('path', {d: 'M' + (x - 3.5).toFixed(1) + ' ' + top + 'h7l-3.5 6z', 'stroke-width': 1}));
      g.append(svg('title', {}, e.label));
      this.root.append(g);
    }
  }

  // parts splits a series at its gaps, and returns the places of each part.
  parts(s) {
    const x = this.xs(s), out = [];
    let open = null;
    for (let i = 0; i < x.length; i++) {
      if (!this.x.has(x[i]) || !this.y.has(s.y[i])) { open = null; continue; }
      if (!open) out.push(open = []);
      open.push(i);
    }
    return out;
  }

  // drawLine draws doubtful pieces dotted, and those that cover a part of their place pale.
  drawLine(area, s) {
    if (s.loose) return;
    const x = this.xs(s), doubt = new Set(s.doubt || []), partial = new Set(s.partial || []), stairs = this.data.kind === 'stairs';
    const pieces = ['', '', '', '']; // by 1 for dotted and 2 for pale
    const point = (i, j) => this.x.place(x[i]).toFixed(1) + ' ' + this.y.place(s.y[j]).toFixed(1);
    for (const part of this.parts(s)) {
      let last = null; // the look of the segment before
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
      const look = this.stroke(s, d);
      if (is & 1) look['stroke-dasharray'] = '1.8 2.6';
      if (is & 2) look['stroke-opacity'] = .38;
      if (x.length > 2 * this.width) look['stroke-width'] = s.thin ? .6 : .9;
      if (this.data.kind === 'heat') g.append(svg('path', {...look, 'class': 'rim', stroke: '#ffffff', 'stroke-width': 3.4, 'stroke-dasharray': null}));
      g.append(svg('path', look));
    });
    area.append(g);
  }

  drawBand(area, s) {
    const x = this.xs(s);
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

  // drawMarkers marks lone points, all points if they are few, and else some.
  drawMarkers(area, s) {
    const x = this.xs(s), doubt = new Set(s.doubt || []), parts = this.parts(s);
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

  barsHeight() { return 44 + this.data.categories.length * (this.visible().length * 20 + 22); }

  drawBars() {
    const d = this.data, shown = this.visible();
    const values = shown.flatMap(s => s.y).filter(v => v !== null && (!this.logY || v > 0));
    let low = this.logY ? Math.min(...values) / 2 : Math.min(0, ...values), high = Math.max(this.logY ? 0 : 1e-9, ...values);
    if (!values.length) [low, high] = [this.logY ? 1 : 0, 10];
    const left = Math.min(this.width * .35, 12 + Math.max(...d.categories.map(c => c.length), 1) * 6.6), bottom = this.height - 38;
    this.x = scale(this.logY ? 'log' : 'linear', low, high, left, this.width - 86);
    for (const [v, t] of ticks(this.x, d.y, Math.max(2, this.width / 130))) {
      const x = this.x.place(v);
      this.root.append(svg('path', {'class': 'grid', d: 'M' + x + ' 4V' + bottom}), svg('text', {x, y: bottom + 16, 'text-anchor': 'middle'}, t));
    }
    let y = 10;
    d.categories.forEach((name, c) => {
      const label = svg('text', {x: left - 6, y: y + shown.length * 10 + 4, 'text-anchor': 'end', textLength: name.length * 6.6 > left - 8 ? left - 10 : null, lengthAdjust: 'spacingAndGlyphs'}, name);
      this.root.append(label);
      for (const s of shown) {
        const v = s.y[c];
        if (this.x.has(v)) {
          const zero = this.x.place(this.logY ? low : 0), end = this.x.place(v);
          this.root.append(svg('rect', {x: Math.min(zero, end), y, width: Math.abs(end - zero), height: 17, fill: s.color, 'data-series': s.name}, svg('title', {}, name + ', ' + s.name + ': ' + withUnit(v, d.y.unit))));
          this.root.append(svg('text', {x: Math.max(zero, end) + 5, y: y + 13}, text(v, d.y.unit, 3)));
        } else {
          this.root.append(svg('text', {x: left + 5, y: y + 13}, v === null ? 'no data' : text(v, d.y.unit, 3)));
        }
        y += 20;
      }
      y += 22;
    });
    this.root.append(svg('path', {'class': 'axis', d: 'M' + left + ' 4V' + bottom}), svg('text', {x: (left + this.width) / 2, y: this.height - 5, 'text-anchor': 'middle'}, titleOf(d.y)));
  }
}
