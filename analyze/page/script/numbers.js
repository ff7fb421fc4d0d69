const namespace = (document.querySelector('svg') || {}).namespaceURI;

// svg and html make elements. Attributes that are null are left out.
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

function prefixed(v, base, names, digits) {
  let n = 0;
  while (n < names.length - 1 && Math.abs(v) >= base - .5) { v /= base; n++; }
  return trimmed(v, digits) + names[n];
}

// text prints a value with a unit, in so many digits.
function text(v, unit, digits) {
  if (v === null || v === undefined || !Number.isFinite(v)) return '–';
  if (isBytes(unit)) return prefixed(v, 1024, [' B', ' KiB', ' MiB', ' GiB', ' TiB'], digits) + unit.slice(5);
  if (Math.abs(v) >= 1e6) return prefixed(v, 1000, ['', 'k', 'M', 'G', 'T'], digits);
  if (v !== 0 && Math.abs(v) < 1e-4) return v.toExponential(2);
  return trimmed(v, digits);
}

// withUnit is text with the unit, where text has not printed it.
function withUnit(v, unit) {
  const t = text(v, unit, 4);
  return t === '–' || !unit || isBytes(unit) ? t : t + ' ' + unit;
}

const titleOf = axis => axis.label && axis.unit ? axis.label + ' (' + axis.unit + ')' : axis.label || axis.unit || '';

/* Scales: place maps a value to pixels, value maps pixels back. */

const warps = {
  linear: {to: v => v, from: v => v, has: v => Number.isFinite(v)},
  log: {to: Math.log10, from: v => Math.pow(10, v), has: v => v > 0 && Number.isFinite(v)},
  // Each further nine of a percentile has the same room.
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
  if (isBytes(axis.unit) && least >= .5) return Math.pow(2, Math.ceil(Math.log2(least)));
  if (isSeconds(axis) && least > 5) {
    for (const s of [10, 15, 20, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600, 7200, 14400, 21600, 43200, 86400]) if (s >= least) return s;
  }
  const power = Math.pow(10, Math.floor(Math.log10(least)));
  for (const digit of [1, 2, 5]) if (digit * power >= least * (1 - 1e-9)) return digit * power;
  return 10 * power;
}

// clock prints seconds of a long axis as minutes or hours.
function clock(v, high) {
  if (high < 600 || v % 1) return trimmed(v, 6);
  const two = n => String(n).padStart(2, '0');
  const h = Math.floor(v / 3600), m = Math.floor(v % 3600 / 60), s = v % 60;
  return h ? h + ':' + two(m) + (s ? ':' + two(s) : ' h') : m + ':' + two(s);
}

// ticks returns the values and texts of about n ticks.
function ticks(s, axis, n, only) {
  const {low, high} = s, values = [];
  if (s.kind === 'nines') {
    for (const v of [0, 50, 90, 99, 99.9, 99.99, 99.999, 99.9999, 99.99999]) if (v >= low && v <= high) values.push(v);
    if (values.length > 1) return values.map(v => [v, v + '%']);
  }
  if (only && only.length && only.length <= 14) return only.filter(v => s.has(v) && v >= low && v <= high).map(v => [v, text(v, axis.unit, 4)]);
  if (s.kind === 'log') {
    const decades = Math.log10(high / low), every = Math.max(1, Math.ceil(decades / 8));
    for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high) + 1e-9; e++) {
      for (const digit of [1, 2, 5]) {
        const v = Number((digit + 'e' + e));
        if (v < low * (1 - 1e-9) || v > high * (1 + 1e-9)) continue;
        if (digit === 1 && e % every === 0 || decades <= 2.2) values.push(v);
      }
    }
    if (values.length > 1) return values.map(v => [v, text(v, axis.unit, 4)]);
    values.length = 0;
  }
  const step = niceStep((high - low) / n, axis);
  for (let i = Math.ceil(low / step - 1e-6); i * step <= high + step * 1e-6 && values.length < 60; i++) values.push(Number((i * step).toPrecision(12)));
  return values.map(v => [v, isSeconds(axis) ? clock(v, high) : text(v, axis.unit, 6)]);
}
