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
