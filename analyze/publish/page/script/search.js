/* Search: what lacks a word is hidden, and what is empty then. */

const search = document.getElementById('search'), found = document.getElementById('found');
const opened = new Set(); // sections that the search opened

// searched selects the elements that are found or hidden; if one is inside another, only the outer.
const searched = 'tbody tr:not(:has(> [scope=rowgroup])), li, dl > div, .figure, header p, main p.stepped, main pre';
// holders are hidden while everything searched in them is.
const holders = 'tbody, .block, .wide, .section, section, .pictures, .notes, .appendix';

function textOf(e) {
  if (!e.matches('.figure')) return e.textContent;
  const data = e.querySelector('script'), drawn = e.querySelector('.canvas').dataset.alt;
  const names = [...e.querySelectorAll('.legend, .note, .sub')].map(n => n.textContent).join(' ');
  return [e.id, e.dataset.title, drawn, names, e.querySelector('figcaption a').title, data ? '' : e.textContent].join(' ');
}

function find() {
  const words = search.value.trim().toLowerCase().split(/\s+/).filter(w => w);
  for (const s of opened) s.open = false;
  opened.clear();
  const units = [...document.querySelectorAll(searched)].filter(e => !e.closest('dialog, nav, .tip') && !e.parentElement.closest('.figure, li, tbody tr'));
  const hits = units.filter(e => {
    const t = words.length ? textOf(e).toLowerCase() : '', hit = words.every(w => t.includes(w));
    e.hidden = !hit;
    e.classList.toggle('found', words.length > 0 && hit);
    return hit;
  });
  for (const h of document.querySelectorAll(holders)) {
    const parts = units.filter(e => h.contains(e));
    h.hidden = words.length > 0 && parts.length > 0 && parts.every(e => e.hidden);
  }
  document.body.classList.toggle('searching', words.length > 0);
  if (words.length) hits.forEach(e => reveal(e, true));
  found.textContent = words.length ? counts(hits) : '';
  highlight(hits, words);
  drawAll();
}

// counts tells how many rows, figures and texts were found.
function counts(hits) {
  const rows = hits.filter(e => e.matches('tr')).length, figures = hits.filter(e => e.matches('.figure')).length;
  const all = [[rows, 'row'], [figures, 'figure'], [hits.length - rows - figures, 'text']].filter(([n]) => n);
  return all.length ? all.map(([n, of]) => n + ' ' + of + (n === 1 ? '' : 's')).join(', ') : 'nothing found';
}

// highlight marks the words in what was found, if the browser can.
function highlight(hits, words) {
  if (!window.CSS || !CSS.highlights) return;
  CSS.highlights.delete('found');
  const ranges = [];
  for (const e of words.length ? hits : []) {
    const walk = document.createTreeWalker(e, NodeFilter.SHOW_TEXT, n => n.parentElement.closest('script, svg') ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT);
    while (walk.nextNode() && ranges.length < 5000) {
      const t = walk.currentNode.data.toLowerCase();
      for (const w of words) for (let i = t.indexOf(w); i >= 0 && t.length === walk.currentNode.data.length; i = t.indexOf(w, i + w.length)) {
        const range = new Range();
        range.setStart(walk.currentNode, i);
        range.setEnd(walk.currentNode, i + w.length);
        ranges.push(range);
      }
    }
  }
  if (ranges.length) CSS.highlights.set('found', new Highlight(...ranges));
}

// reveal opens what contains an element.
function reveal(e, again) {
  const zeros = e.classList.contains('zero') && e.closest('details.section').querySelector('button.zeros');
  if (zeros && zeros.getAttribute('aria-expanded') === 'false') zeros.click();
  for (let s = e.closest('details.section'); s; s = s.parentElement.closest('details.section')) {
    if (s.open) continue;
    s.open = true;
    if (again) opened.add(s);
  }
}

search.addEventListener('input', () => { find(); scrollTo(0, 0); });
search.addEventListener('keydown', e => {
  if (e.key !== 'Escape') return;
  search.value = '';
  find();
  search.blur();
});
