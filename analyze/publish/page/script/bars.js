/* Bars: horizontal bars or boxes, grouped by category. */

// folded splits a text at its spaces into lines that fit.
function folded(t, fits) {
  const lines = [];
  for (const word of t.split(' ')) {
    const last = lines.length - 1;
    if (last >= 0 && fits(lines[last] + ' ' + word)) lines[last] += ' ' + word;
    else lines.push(word);
  }
  return lines;
}

class Bars {
  constructor(chart) {
    this.chart = chart;
    this.data = chart.data;
    this.rows = []; // each category's top and height
  }

  // dots returns the series behind the bars.
  dots() { return this.data.series.filter(s => s.detail); }

  boxed() { return this.data.series.some(s => s.boxes); }

  // draw returns the height.
  draw(root) {
    const d = this.data, c = this.chart, shown = c.visible().filter(s => !s.detail), row = 20, gap = shown.some(s => s.colors) ? 5 : 18;
    this.root = root;
    const room = Math.min(c.width * .3, 230), names = d.categories.map(n => folded(n, line => line.length <= Math.floor(room / 6.4)));
    const left = 12 + Math.min(room, Math.max(...names.flat().map(n => n.length), 1) * 6.6);
    const groups = names.map(lines => Math.max(shown.length * row, lines.length * 14));
    const bottom = 6 + groups.reduce((a, g) => a + g + gap, 0), height = bottom + 38;
    this.scale(shown, left);
    const marks = ticks(this.x, d.y, Math.max(2, c.width / 130)), fit = fitting(marks, this.x.place, c.width);
    marks.forEach((t, i) => {
      const x = this.x.place(t.v);
      root.append(svg('path', {'class': t.fine ? 'fine' : 'grid', d: 'M' + x.toFixed(1) + ' 4V' + bottom}));
      if (fit.has(i)) root.append(svg('text', {x: fit.get(i), y: bottom + 16, 'text-anchor': 'middle'}, t.text));
    });
    let y = 4 + gap / 3;
    this.rows = [];
    names.forEach((lines, n) => {
      lines.forEach((line, i) => root.append(svg('text', {x: left - 6, y: y + groups[n] / 2 + 4 + 14 * (i - (lines.length - 1) / 2), 'text-anchor': 'end'}, line)));
      const top = y + (groups[n] - shown.length * row) / 2;
      shown.forEach((s, i) => s.boxes ? this.box(s, n, top + i * row) : this.bar(s, n, top + i * row));
      this.rows.push({top: y - gap / 2, height: groups[n] + gap});
      y += groups[n] + gap;
    });
    root.append(svg('path', {'class': 'axis', d: 'M' + left + ' 4V' + bottom}), svg('text', {x: (left + c.width) / 2, y: height - 5, 'text-anchor': 'middle'}, titleOf(d.y)));
    return height;
  }

  scale(shown, left) {
    const c = this.chart, values = [...shown, ...this.dots()].flatMap(s => [...s.y, ...(s.boxes || []).flat()]).filter(v => v !== null && (!c.logY || v > 0));
    let low = c.logY ? Math.min(...values) / (this.boxed() ? 1.2 : 2) : Math.min(0, ...values), high = Math.max(c.logY ? 0 : 1e-9, ...values);
    if (!values.length) [low, high] = [c.logY ? 1 : 0, 10];
    this.x = scale(c.logY ? 'log' : 'linear', low, high, left, c.width - (this.boxed() ? 112 : 72));
  }

  bar(s, n, y) {
    const d = this.data, v = s.y[n];
    if (!this.x.has(v)) {
      this.root.append(svg('text', {x: this.x.place(this.x.low) + 5, y: y + 13}, v === null ? 'no data' : text(v, d.y.unit, 3)));
      return;
    }
    const zero = this.x.place(this.chart.logY ? this.x.low : 0), end = this.x.place(v);
    this.root.append(svg('rect', {x: Math.min(zero, end), y, width: Math.abs(end - zero), height: 17, fill: s.colors ? s.colors[n] : s.color, 'data-series': s.name}));
    if (!s.colors || !this.dots().length) {
      this.root.append(svg('text', {x: Math.max(zero, end) + 5, y: y + 13}, text(v, d.y.unit, 3)));
      return;
    }
    for (const dot of this.dots()) {
      if (!this.x.has(dot.y[n])) continue;
      const at = this.x.place(dot.y[n]);
      this.root.append(svg('circle', {cx: at.toFixed(1), cy: y + 8.5, r: 2.7, fill: '#ffffff', stroke: s.inks[n], 'stroke-width': 1.2}));
    }
    // In a separate column no value stands beside another value's dot.
    this.root.append(svg('text', {x: this.chart.width - 12, y: y + 13, 'text-anchor': 'end'}, text(v, d.y.unit, 3)));
  }

  // box draws a whisker from bound to bound, a box from quartile to quartile, the median
  // as a thick line and the 99th percentile as a thin one.
  box(s, n, y) {
    const d = this.data, [least, low, high, p99, most] = s.boxes[n], median = s.y[n], middle = y + 8.5;
    if (![median, low, high].every(v => this.x.has(v))) {
      this.root.append(svg('text', {x: this.x.place(this.x.low) + 5, y: y + 13}, 'no data'));
      return;
    }
    const g = svg('g', {'data-series': s.name, stroke: s.color}), at = v => this.x.place(v);
    const from = this.x.has(least) ? least : low, to = this.x.has(most) ? most : high;
    const upright = (v, width, half) => { if (this.x.has(v)) g.append(svg('path', {d: 'M' + at(v).toFixed(1) + ' ' + (middle - half) + 'v' + 2 * half, 'stroke-width': width})); };
    g.append(svg('path', {d: 'M' + at(from).toFixed(1) + ' ' + middle + 'H' + at(to).toFixed(1), 'stroke-width': 1.2}));
    upright(least, 1.2, 3.5);
    upright(most, 1.2, 3.5);
    g.append(svg('rect', {x: at(low), y: y + 1, width: Math.max(2, at(high) - at(low)), height: 15, fill: '#ffffff', 'stroke-width': 1.3}));
    g.append(svg('rect', {x: at(low), y: y + 1, width: Math.max(2, at(high) - at(low)), height: 15, fill: s.color, 'fill-opacity': .28, 'stroke-width': 0}));
    upright(median, 3, 8);
    upright(p99, 1.2, 6.5);
    this.root.append(g, svg('text', {x: Math.max(at(to), at(median)) + 5, y: y + 13}, text(median, d.y.unit, 3) + (this.x.has(p99) ? ', p99 ' + text(p99, d.y.unit, 3) : '')));
  }

  // at returns the category at a height.
  at(y) { return this.rows.findIndex(r => y >= r.top && y < r.top + r.height); }

  // values returns what a category shows for each series.
  values(n) {
    const unit = this.data.y.unit;
    const own = s => s.colors ? {...s, color: s.colors[n]} : s;
    const dots = this.dots().filter(s => s.y[n] !== null).map(s => [{...s, marker: 'M0 0', name: 'trial ' + s.trial, trial: 0}, withUnit(s.y[n], unit)]);
    return [...this.chart.visible().filter(s => !s.detail).map(own).map(s => {
      if (s.y[n] === null) return [s, 'no data'];
      if (!s.boxes) return [s, withUnit(s.y[n], unit)];
      const [least, low, high, p99, most] = s.boxes[n].map(v => text(v, unit, 4));
      return [s, 'median ' + withUnit(s.y[n], unit) + ', half ' + low + ' to ' + high + ', p99 ' + p99 + ', all ' + least + ' to ' + most];
    }), ...dots];
  }
}
