// Filters act when they are chosen, and the bar of a selection says how many requests it has.
for (const select of document.querySelectorAll('form[data-filters] select')) {
  select.addEventListener('change', () => select.form.requestSubmit());
}

function countSelected() {
  const bar = document.querySelector('[data-batch]');
  if (!bar) return;
  const count = document.querySelectorAll('input[form="batch"]:checked').length;
  bar.classList.toggle('idle', count === 0);
  const most = Number(bar.dataset.batch);
  bar.querySelector('button').disabled = count === 0 || count > most;
  const tooMany = count > most ? `, and at most ${most} are decided at once` : '';
  bar.querySelector('[data-count]').textContent = count === 0 ? '' : `${count} selected${tooMany}`;
}
addEventListener('change', (event) => event.target.matches?.('input[form="batch"]') && countSelected());
addEventListener('drawn', countSelected);
countSelected();
