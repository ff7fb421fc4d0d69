/* Tables */

function sortBy(table, column, direction) {
  for (const body of table.tBodies) {
    const rows = [...body.rows];
    rows.forEach((r, i) => { if (r.dataset.place === undefined) r.dataset.place = i; });
    const value = r => {
      const cell = r.cells[column];
      if (!cell) return null;
      if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
      return column === 0 ? cell.textContent : null;
    };
    rows.sort((a, b) => {
      if (!direction) return a.dataset.place - b.dataset.place;
      const v = value(a), w = value(b);
      if (v === null || w === null) return (v === null) - (w === null) || a.dataset.place - b.dataset.place;
      return direction * (typeof v === 'string' ? v.localeCompare(w) : v - w) || a.dataset.place - b.dataset.place;
    });
    body.append(...rows);
  }
}

for (const table of document.querySelectorAll('main table')) {
  const heads = table.tHead ? [...table.tHead.rows[0].cells] : [];
  heads.forEach((th, column) => {
    const button = html('button', {type: 'button', 'class': 'sort'}, ...th.childNodes);
    th.append(button);
    th.setAttribute('aria-sort', 'none');
    button.addEventListener('click', () => {
      const next = {none: 'ascending', ascending: 'descending', descending: 'none'}[th.getAttribute('aria-sort')];
      for (const other of heads) other.setAttribute('aria-sort', 'none');
      th.setAttribute('aria-sort', next);
      sortBy(table, column, {none: 0, ascending: 1, descending: -1}[next]);
    });
  });
}

for (const button of document.querySelectorAll('button.zeros')) {
  const section = button.closest('details');
  section.classList.add('folds');
  button.hidden = false;
  button.addEventListener('click', () => {
    const folded = section.classList.toggle('folds');
    button.setAttribute('aria-expanded', String(!folded));
  });
}

/* Search */

const search = document.getElementById('search'), found = document.getElementById('found');
const opened = new Set(); // sections that the search has opened

function find() {
  const words = search.value.trim().toLowerCase().split(/\s+/).filter(w => w);
  let rows = 0, figures = 0;
  for (const s of opened) s.open = false;
  opened.clear();
  const has = t => words.every(w => t.includes(w));
  for (const row of document.querySelectorAll('.numbers tbody tr')) {
    const hit = has(row.cells[0].textContent.toLowerCase());
    row.hidden = words.length > 0 && !hit;
    row.classList.toggle('found', words.length > 0 && hit);
    if (words.length && hit) { rows++; reveal(row, true); }
  }
  for (const f of document.querySelectorAll('.figure')) {
    const hit = has((f.id + ' ' + f.dataset.title + ' ' + f.querySelector('figcaption').textContent).toLowerCase());
    f.hidden = words.length > 0 && !hit;
    if (words.length && hit) { figures++; reveal(f, true); }
  }
  for (const s of document.querySelectorAll('.section')) {
    const parts = s.querySelectorAll('.numbers tbody tr, .figure');
    s.hidden = words.length > 0 && parts.length > 0 && [...parts].every(p => p.hidden);
  }
  found.textContent = words.length ? rows + (rows === 1 ? ' row, ' : ' rows, ') + figures + (figures === 1 ? ' figure' : ' figures') : '';
  drawAll();
}

// reveal opens what a row or figure lies in.
function reveal(e, again) {
  if (e.classList.contains('zero')) e.closest('details.section').querySelector('button.zeros')?.getAttribute('aria-expanded') === 'false' && e.closest('details.section').querySelector('button.zeros').click();
  for (let s = e.closest('details.section'); s; s = s.parentElement.closest('details.section')) {
    if (s.open) continue;
    s.open = true;
    if (again) opened.add(s);
  }
}

search.addEventListener('input', find);
search.addEventListener('keydown', e => {
  if (e.key !== 'Escape') return;
  search.value = '';
  find();
  search.blur();
});
