/* The page */

function toHash() {
  let e = null;
  try { e = document.getElementById(decodeURIComponent(location.hash.slice(1))); } catch { /* not an id */ }
  if (!e) return;
  if (e.matches('details')) e.open = true;
  reveal(e, false);
  drawAll();
  e.scrollIntoView();
}
addEventListener('hashchange', toHash);

const foldButton = document.getElementById('fold');
let before = null; // which sections were open
function turnFold() {
  const all = [...document.querySelectorAll('details.section')];
  if (before) all.forEach(s => { s.open = before.has(s); });
  else {
    const open = new Set(all.filter(s => s.open));
    all.forEach(s => { s.open = true; });
    before = open;
    foldButton.textContent = 'Fold';
    foldButton.setAttribute('aria-pressed', 'true');
    drawAll();
    return;
  }
  before = null;
  foldButton.textContent = 'Unfold all';
  foldButton.setAttribute('aria-pressed', 'false');
}
foldButton.addEventListener('click', turnFold);

const help = document.getElementById('help');
document.getElementById('keys').addEventListener('click', () => help.showModal());

function nextFigure(by) {
  const all = charts.filter(c => c.root && c.canvas.clientWidth && !c.figure.hidden);
  const now = all.findIndex(c => c.figure.contains(document.activeElement));
  const c = all[now < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, now + by))];
  if (!c) return;
  c.root.focus({preventScroll: true});
  c.figure.scrollIntoView({block: 'center'});
}

document.addEventListener('keydown', e => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.matches('input') || help.open) return;
  const act = {'/': () => search.focus(), '?': () => help.showModal(), t: turnTheme, f: turnFold, j: () => nextFigure(1), k: () => nextFigure(-1)}[e.key];
  if (!act) return;
  e.preventDefault();
  act();
});

document.addEventListener('toggle', drawAll, true);
let width = innerWidth;
addEventListener('resize', () => { if (innerWidth !== width) { width = innerWidth; drawAll(); fitFirst(); } });

// Paper has all sections, but the figures shown on demand only if they are open. Texts in figures
// as wide as its columns are not smaller than 7 points.
const paperWidth = 390;
let toPaper = null;
addEventListener('beforeprint', () => {
  toPaper = [...document.querySelectorAll('details.section:not([open], #other-figures)')];
  for (const s of toPaper) s.open = true;
  for (const c of charts) c.draw(paperWidth);
});
addEventListener('afterprint', () => {
  drawAll();
  for (const s of toPaper || []) s.open = false;
  toPaper = null;
});

document.querySelector('.tools').hidden = false;
showTheme();
drawAll();
fitFirst();
if (location.hash) toHash();
document.documentElement.dataset.ready = 'true';
