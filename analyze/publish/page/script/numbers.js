const namespace = (document.querySelector('svg') || {}).namespaceURI;

// svg and html make elements. They leave out null attributes.
function svg(name, attributes, ...children) {
  const e = document.createElementNS(namespace, name);
  for (const [k, v] of Object.entries(attributes || {})) if (v !== null && v !== undefined) e.setAttribute(k, v);
  e.append(...children);
  return e;
}
function html(name, attributes, ...children) {
  const e = document.createElement(name);
  for (const [k, v] of Object.entries(attributes || {})) {
    if (k.startsWith('on')) e.addEventListener(k.slice(2), v);
    else if (v !== null && v !== undefined) e.setAttribute(k, v);
  }
  e.append(...children);
  return e;
}

/* Numbers */

const isBytes = unit => unit === 'bytes' || unit === 'bytes/s';
const isSeconds = axis => /^second/i.test(axis.label) || axis.unit === 's' || axis.unit === 'seconds';

function trimmed(v, digits) {
  return Number(v.toPrecision(digits)).toLocaleString('en', {maximumSignificantDigits: digits});
}

// prefixed prints a value with a prefix for a power of 1000, as the tables do.
function prefixed(v, names, digits) {
  let n = 0;
  while (n < names.length - 1 && Math.abs(v) >= 999.5) { v /= 1000; n++; }
  return trimmed(v, digits) + names[n];
}

const prefixes = ['', 'k', 'M', 'G', 'T', 'P'];
const bytePrefixes = [' B', ' kB', ' MB', ' GB', ' TB', ' PB'];

// text prints a value with a unit, in so many digits.
function text(v, unit, digits) {
  if (v === null || v === undefined || !Number.isFinite(v)) return '–';
  if (isBytes(unit)) return (v === 0 ? '0 B' : prefixed(v, bytePrefixes, digits)) + unit.slice(5);
  if (Math.abs(v) >= 1e6) return prefixed(v, prefixes, digits);
  if (v !== 0 && Math.abs(v) < 1e-4) return v.toExponential(2);
  return trimmed(v, digits);
}

// tickTexts prints tick values, all in one notation.
function tickTexts(values, unit) {
  const most = Math.max(0, ...values.map(Math.abs));
  return values.map(v => {
    if (v === 0) return '0';
    if (isBytes(unit)) return prefixed(v, bytePrefixes, 6);
    if (most >= 10000) return prefixed(v, prefixes, 6);
    return Math.abs(v) < 1e-4 ? v.toExponential() : trimmed(v, 6);
  });
}

// withUnit adds the unit where text has not printed it.
function withUnit(v, unit) {
  const t = text(v, unit, 4);
  return t === '–' || !unit || isBytes(unit) ? t : t + ' ' + unit;
}

const titleOf = axis => axis.label && axis.unit ? axis.label + ' (' + axis.unit + ')' : axis.label || axis.unit || '';

/* Scales: place maps a value to pixels, value maps pixels back. */

const warps = {
  linear: {to: v => v, from: v => v, has: v => Number.isFinite(v)},
  log: {to: Math.log10, from: v => Math.pow(10, v), has: v => v > 0 && Number.isFinite(v)},
  // Each further nine in a percentile has the same room.
  nines: {to: v => -Math.log10(1 - v / 100), from: v => 100 * (1 - Math.pow(10, -v)), has: v => v >= 0 && v < 100},
};

function scale(kind, low, high, from, to) {
  const w = warps[kind], a = w.to(low), b = w.to(high);
  return {
    kind, low, high, has: v => v !== null && v !== undefined && w.has(v),
    place: v => from + (w.to(v) - a) / (b - a) * (to - from),
    value: p => w.from(a + (p - from) / (to - from) * (b - a)),
  };
}

function niceStep(least, axis) {
  if (isSeconds(axis) && least > 5) {
    for (const s of [10, 15, 20, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600, 7200, 14400, 21600, 43200, 86400]) if (s >= least) return s;
  }
  const power = Math.pow(10, Math.floor(Math.log10(least)));
  for (const digit of [1, 2, 5]) if (digit * power >= least * (1 - 1e-9)) return digit * power;
  return 10 * power;
}

// clock prints seconds on a long axis as minutes or hours.
function clock(v, high) {
  if (high < 600 || v % 1) return trimmed(v, 6);
  const two = n => String(n).padStart(2, '0');
  const h = Math.floor(v / 3600), m = Math.floor(v % 3600 / 60), s = v % 60;
  return h ? h + ':' + two(m) + (s ? ':' + two(s) : ' h') : m + ':' + two(s);
}

// ticks returns about n ticks: their values, texts, and whether they are fine, without a
// text. If the values in only are few, they are the ticks.
function ticks(s, axis, n, only) {
  const {low, high} = s, named = new Map((axis.names || []).map(a => [a.x, a.text]));
  const labelled = values => {
    const texts = isSeconds(axis) ? values.map(v => clock(v, high)) : tickTexts(values, axis.unit);
    return values.map((v, i) => ({v, text: named.get(v) || texts[i]}));
  };
  if (s.kind === 'nines') {
    const values = [0, 50, 90, 99, 99.9, 99.99, 99.999, 99.9999, 99.99999].filter(v => v >= low && v <= high);
    if (values.length > 1) return values.map(v => ({v, text: v + '%'}));
  }
  if (only && only.length && only.length <= 14) return labelled(only.filter(v => s.has(v) && v >= low && v <= high));
  if (s.kind === 'log') {
    const decades = Math.log10(high / low), every = Math.max(1, Math.ceil(decades / 8)), values = [], fine = [];
    for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high) + 1e-9; e++) {
      for (let digit = 1; digit < 10; digit++) {
        const v = Number(digit + 'e' + e);
        if (v < low * (1 - 1e-9) || v > high * (1 + 1e-9)) continue;
        if (digit === 1 && e % every === 0 || decades <= 2.2 && (digit === 2 || digit === 5)) values.push(v);
        else if (every === 1) fine.push({v, text: '', fine: true});
      }
    }
    if (values.length > 1) return [...fine, ...labelled(values)];
  }
  const values = [], step = niceStep((high - low) / n, axis);
  for (let i = Math.ceil(low / step - 1e-6); i * step <= high + step * 1e-6 && values.length < 60; i++) values.push(Number((i * step).toPrecision(12)));
  return labelled(values);
}

// fitting returns the ticks whose texts have room: the ends first, then round numbers, so
// that the greatest one is not lost to its neighbour.
function fitting(all, place, width) {
  const taken = [], digits = t => String(Number(t.v.toPrecision(6))).replace(/0+$/, '').replace(/[.,]/, '').length;
  const last = all.length - 1;
  const order = all.map((t, i) => i).filter(i => all[i].text).sort((a, b) => ((a !== last) - (b !== last)) || ((a !== 0) - (b !== 0)) || digits(all[a]) - digits(all[b]) || a - b);
  const out = new Map();
  for (const i of order) {
    const half = all[i].text.length * 3.4, x = Math.min(place(all[i].v), width - half);
    if (taken.some(t => Math.abs(t.x - x) < t.half + half + 6)) continue;
    taken.push({x, half});
    out.set(i, x);
  }
  return out;
}
