/* A run in progress: each second brings what changed */

const said = document.getElementById('said'), step = document.getElementById('step'), line = document.getElementById('line');

// show puts a second on the page. A figure that is being dragged waits for the next one.
function show(second) {
  step.textContent = second.step;
  line.textContent = second.line;
  second.figures.forEach((data, i) => {
    const c = charts[i];
    data.series.forEach((s, n) => { s.at = n; s.y = data.ys[n]; });
    if (!c || c.dragged()) return;
    c.figure.hidden = !data.series.length;
    c.take(data);
    if (c.head) c.fillLegend();
    c.draw();
  });
  for (const table of second.tables) fill(table);
  said.replaceChildren(...second.said.map(s => html('li', {}, html('time', {}, s.at), ' ', s.text)));
  document.documentElement.dataset.second = second.number;
}

// fill replaces a table's rows with rows of texts.
function fill(table) {
  const at = document.getElementById(table.id), row = (cells, name) => html('tr', {}, ...cells.map((c, i) => html(i && name !== 'head' ? 'td' : 'th', {scope: i ? (name === 'head' ? 'col' : null) : (name === 'head' ? 'col' : 'row')}, c)));
  at.parentElement.hidden = !table.rows.length;
  at.replaceChildren(html('thead', {}, row(table.head, 'head')), html('tbody', {}, ...table.rows.map(r => row(r, ''))));
}

const source = new EventSource('events');
const lost = document.getElementById('lost');
source.addEventListener('open', () => { lost.hidden = true; });
source.addEventListener('error', () => { lost.hidden = false; });
source.addEventListener('second', e => show(JSON.parse(e.data)));
source.addEventListener('report', e => {
  source.close();
  location.replace(JSON.parse(e.data));
});
// The report replaces this page when the run is over, and the server ends soon after.
source.addEventListener('over', () => {
  source.close();
  step.textContent = 'The run is over.';
});

showTheme();
drawAll();
document.documentElement.dataset.ready = 'true';
