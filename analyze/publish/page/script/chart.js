/* Figures */

const charts = [];

// Plot heights on the first screen, as far as its texts leave room.
const mostLead = 176, leastLead = 104;
let leadHeight = mostLead;

// titleLine is the distance between lines in a vertical axis's title.
const titleLine = 14;

// widthOf returns how wide a figure's text is in the reader's font.
const pen = document.createElement('canvas').getContext('2d');
pen.font = '12px "Liberation Sans", Arial, Helvetica, sans-serif';
const widthOf = t => pen.measureText(t).width;

class Chart {
  constructor(figure, data) {
    this.figure = figure;
    this.take(data);
    this.canvas = figure.querySelector('.canvas');
    this.leads = !!figure.closest('.lead'); // on the first screen
    this.hidden = new Set(); // series names
    this.details = false; // whether to show series behind others
    this.logY = !!data.y.log;
    this.logX = !!data.x.log;
    this.range = null; // x from and to, null for all
    this.at = null; // the cursor's x, or a category's number
    this.width = 0;
    // Figures with the same axis move together.
    this.group = ['lines', 'stairs', 'heat'].includes(data.kind) ? titleOf(data.x) : null;
  }

  // take gives the figure its data. Series with the same name share a legend entry: panels repeat
  // them.
  take(data) {
    this.data = data;
    data.events = (data.events || []).flatMap(e => e.xs.map((x, i) => ({x, label: e.label, color: e.color, panel: e.panel, n: e.ns ? e.ns[i] : 0})));
    this.names = [...new Set(data.series.filter(s => !s.detail && !s.colors).map(s => s.name))];
  }

  // visible returns the drawn series. A series behind others is drawn only if one of those is.
  visible() {
    const shown = s => !this.hidden.has(s.name);
    const front = s => this.data.series.some(o => !o.detail && o.color === s.color && o.panel === s.panel && shown(o));
    return this.data.series.filter(s => s.detail ? this.details && front(s) : shown(s));
  }

  xs(s) { return this.data.xs[s.at]; }
  linked() { return this.group === null ? [this] : charts.filter(c => c.group === this.group); }
  isBars() { return this.data.kind === 'bars'; }

  // extent returns the least and greatest x over all series.
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

  // render returns the figure as an element with this width.
  render(width) {
    this.width = width;
    const root = svg('svg', {role: 'img', tabindex: 0, 'aria-label': this.canvas.dataset.alt});
    if (this.isBars()) {
      this.bars = new Bars(this);
      this.height = this.bars.draw(root);
    } else this.renderPlanes(root);
    root.setAttribute('viewBox', '0 0 ' + width + ' ' + this.height);
    return root;
  }

  renderPlanes(root) {
    const d = this.data, all = this.extent(), many = d.panels && d.panels.length;
    const [x0, x1] = this.range ? [Math.max(this.range[0], all[0]), Math.min(this.range[1], all[1])] : all;
    const high = this.plotHeight(many);
    this.planes = (d.panels || ['']).map((p, i) => new Plane(this, i, d.panelY ? d.panelY[i] : d.y));
    for (const p of this.planes) p.measure(d.panelY ? p.shown() : this.visible(), x0, x1, high);
    // A title line is no longer than the plots beside it are high, unless that takes too many lines.
    const beside = high * (d.panelY ? 1 : this.planes.length);
    const titles = (d.panelY || [d.y]).map(titleOf).map(t => folded(t, line => widthOf(line) <= Math.max(beside, widthOf(t) / 3)));
    const left = 24 + titleLine * (Math.max(...titles.map(t => t.length)) - 1) + Math.max(...this.planes.flatMap(p => p.marks.map(t => t.text.length)), 1) * 7, right = this.width - 12;
    this.x = scale(d.kind === 'percentiles' ? 'nines' : this.logX ? 'log' : 'linear', x0, x1, left, right);
    let y = 0;
    this.planes.forEach((p, i) => {
      const steps = p.own(d.steps).some(s => s.x >= x0 && s.x <= x1);
      y += 8 + (many ? 14 : 0) + (steps ? 14 : 0);
      p.draw(root, this.x, {left, right, top: y, bottom: y + high}, i === this.planes.length - 1);
      if (d.panelY) this.titleAxis(root, p.box, titles[i]);
      y += high;
    });
    this.box = {left, right, top: this.planes[0].box.top, bottom: y};
    if (!d.panelY) this.titleAxis(root, this.box, titles[0]);
    this.height = y + 38;
  }

  plotHeight(many) {
    const within = (least, share, most) => Math.round(Math.min(most, Math.max(least, this.width * share)));
    if (this.leads) return many ? Math.round(Math.max(30, leadHeight / many)) : within(150, .34, Math.max(150, leadHeight)) + Math.min(0, leadHeight - 150);
    return many ? within(96, .2, 150) : within(184, .5, 354);
  }

  // titleAxis draws a vertical axis's title lines from left to right.
  titleAxis(root, box, lines) {
    lines.forEach((line, i) => root.append(svg('text', {'class': 'upward', 'text-anchor': 'middle', transform: 'translate(' + (11 + titleLine * i) + ' ' + (box.top + box.bottom) / 2 + ') rotate(-90)'}, line)));
  }

  // draw draws the figure as wide as its place, or on paper as wide as a column.
  draw(paper) {
    const width = paper || Math.round(this.canvas.clientWidth);
    if (!width) return; // folded away
    this.root = this.render(width);
    this.live = svg('g', {'class': 'cursor-layer'});
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
    if (d.series.some(s => s.detail) && !this.isBars()) {
      this.detailButton = html('button', {type: 'button', onclick: () => { this.details = !this.details; this.draw(); }}, 'each trial');
      this.switches.append(this.detailButton);
    }
    this.legend = html('div', {'class': 'legend', role: 'group', 'aria-label': 'series'});
    this.fillLegend();
    this.head = html('div', {}, this.switches, html('h4', {}, d.short));
    if (d.subtitle) this.head.append(html('p', {'class': 'sub'}, d.subtitle));
    this.head.append(this.legend);
    this.canvas.before(this.head);
    this.showNotes();
    this.tip = html('div', {'class': 'tip', role: 'status', hidden: ''});
    this.figure.append(this.tip);
    this.offerFiles();
  }

  // fillLegend names the series, and what else is drawn.
  fillLegend() {
    const d = this.data;
    this.legend.replaceChildren();
    this.keys = this.names.map((name, i) => {
      const b = html('button', {type: 'button', 'aria-pressed': 'true', onclick: e => this.toggle(i, e.shiftKey)}, this.sample(d.series.find(s => s.name === name)), name);
      this.legend.append(b);
      return b;
    });
    if (d.band) this.legend.append(html('span', {'class': 'note'}, d.band));
    if (d.grid) this.legend.append(html('span', {'class': 'note'}, this.shades(), ' ' + this.shadesText()));
    for (const [label, n] of this.happened()) {
      this.legend.append(html('span', {'class': 'note event-kind'}, this.eventSample(), ' ' + label + (n > 1 ? ' (' + n + ')' : '')));
    }
    this.legend.hidden = !this.legend.childNodes.length;
  }

  showNotes() {
    const notes = (this.data.notes || []).map(n => html('p', {'class': 'note'}, n));
    if (!this.leads) this.canvas.after(...notes);
    else if (notes.length) this.canvas.after(html('details', {'class': 'notes-of'}, html('summary', {}, notes.length === 1 ? '1 note' : notes.length + ' notes'), ...notes));
  }

  // sample, eventSample and shades make what the legend shows beside its names.
  sample(s) {
    const out = svg('svg', {width: 34, height: 12, 'aria-hidden': 'true'});
    if (this.isBars()) out.append(svg('rect', {x: 8, y: 1, width: 18, height: 10, fill: s.color}));
    else out.append(s.loose ? '' : svg('path', this.stroke(s, 'M1 6H33')), this.data.kind === 'heat' ? '' : svg('path', {d: s.marker, transform: 'translate(17 6)', fill: s.color}));
    return out;
  }

  eventSample() { return svg('svg', {width: 12, height: 12, 'aria-hidden': 'true'}, svg('path', {d: 'M2.5 2h7l-3.5 6zM6 8v4', stroke: '#777777', fill: 'none'})); }

  shades() {
    const g = this.data.grid, sample = svg('svg', {width: 6 * g.colors.length, height: 12, 'aria-hidden': 'true'});
    g.colors.forEach((c, i) => sample.append(svg('rect', {x: 6 * i, width: 6, height: 12, fill: c})));
    return sample;
  }

  shadesText() {
    const g = this.data.grid, all = g.cells.flat().filter(n => n > 0);
    const least = all.reduce((a, b) => Math.min(a, b), Infinity), most = all.reduce((a, b) => Math.max(a, b), 0);
    return all.length ? text(least, '', 4) + ' to ' + text(most, '', 4) + ' ' + g.of + ' in a cell' : 'no data';
  }

  // happened counts events by name.
  happened() {
    const kinds = new Map();
    for (const e of this.data.events || []) kinds.set(e.label, (kinds.get(e.label) || 0) + (e.n || 1));
    return kinds;
  }

  showHead() {
    this.keys.forEach((k, i) => k.setAttribute('aria-pressed', String(!this.hidden.has(this.names[i]))));
    this.logButton.setAttribute('aria-pressed', String(this.logY));
    if (this.logXButton) this.logXButton.setAttribute('aria-pressed', String(this.logX));
    if (this.detailButton) this.detailButton.setAttribute('aria-pressed', String(this.details));
    this.resetButton.hidden = !this.range;
  }

  toggle(i, everywhere) {
    const name = this.names[i], hide = !this.hidden.has(name);
    for (const c of everywhere ? charts : [this]) {
      hide ? c.hidden.add(name) : c.hidden.delete(name);
      c.draw();
    }
  }

  toggleLog() { this.logY = !this.logY; this.draw(); }

  // zoom shows a part of the x axis in all figures that share it, or with null the whole axis.
  zoom(range) {
    for (const c of this.linked()) { c.range = range; c.draw(); }
  }

  stroke(s, d) {
    const dash = [null, '7 4', '1.8 2.6'][s.dash || 0];
    return {d, fill: 'none', stroke: s.color, 'stroke-width': s.detail ? .8 : s.thin ? 1 : 1.7, 'stroke-opacity': s.detail ? .6 : null, 'stroke-dasharray': dash, 'stroke-linejoin': 'round'};
  }
}
