// Keys for the inbox. A page that has keys says so, and a person can switch them off.
const isOn = () => localStorage.getItem('keys') !== 'off';
const rows = () => [...document.querySelectorAll('[data-request]:not([data-gone])')];
const current = () =>
  document.activeElement?.closest('[data-request]') ?? document.querySelector('[data-request].current');

/** Moves to another row of a list, or on the page of a request to the next or previous request of its list. */
function move(by) {
  const all = rows();
  if (all.length === 0) return document.querySelector(`[data-near="${by > 0 ? 'next' : 'previous'}"]`)?.click();
  const next = all[Math.min(Math.max(all.indexOf(current()) + by, 0), all.length - 1)];
  for (const row of all) row.classList.toggle('current', row === next);
  next?.querySelector('a')?.focus();
  next?.scrollIntoView({ block: 'nearest' });
}

/** Where an approval needs more reading, shows the next part of the call. Otherwise brings the decision into sight. */
function goOn(form, verdict) {
  const lowest = innerHeight - (form.querySelector('.decide-bar')?.offsetHeight ?? 0);
  const isUnread = ({ scrollTop, clientHeight, scrollHeight }) => scrollTop + clientHeight < scrollHeight - 4;
  const isBelow = (end) => end.getBoundingClientRect().bottom > lowest + 1;
  const ends = [...document.querySelectorAll('.json > .end')].filter((end) => !end.closest('details:not([open])'));
  const end = verdict === 'approve' && ends.find((one) => isUnread(one.parentElement) || isBelow(one));
  if (!end) return form.querySelector('button')?.scrollIntoView({ block: 'nearest' });
  const region = end.parentElement;
  region.focus({ preventScroll: true });
  region.scrollIntoView({ block: 'end' });
  region.scrollBy(0, region.clientHeight * 0.9);
}

/** Presses a button of the decision. What deletes, reaches outside or is unknown needs a second press. */
let armed;
function decide(verdict) {
  const form = document.querySelector('form[data-decides]');
  const button = form?.querySelector(`button[value="${verdict}"]`);
  if (!button || form.inert) return;
  if (button.disabled) return goOn(form, verdict);
  button.focus();
  if (verdict === 'approve' && form.dataset.careful !== undefined && armed !== button) {
    armed = button;
    const hint = form.querySelector('[data-again]');
    if (hint) hint.hidden = false;
    return;
  }
  armed = undefined;
  button.click();
}

const help = () => document.querySelector('dialog[data-keys]');
const KEYS = {
  j: () => move(1),
  k: () => move(-1),
  o: () => current()?.querySelector('a')?.click(),
  x: () => current()?.querySelector('input[type="checkbox"]')?.click(),
  m: () => current()?.querySelector('.row-alike')?.click(),
  s: () => document.querySelector('a[data-selects]')?.click(),
  b: () => document.querySelector('[data-batch] button')?.click(),
  u: () => document.querySelector('a.crumb')?.click(),
  a: () => decide('approve'),
  d: () => decide('deny'),
  r: () => document.querySelector('#reason')?.focus(),
  z: () => document.querySelector('.undo:not([hidden]) button')?.click(),
  '/': () => document.querySelector('input[type="search"]')?.focus(),
  '?': () => help()?.showModal(),
};

addEventListener('keydown', (event) => {
  const isTyping = event.target.closest?.('input:not([type="checkbox"]), textarea, select, dialog[open]');
  if (event.key === 'Escape' && event.target.matches?.('input, textarea')) return event.target.blur();
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || !help() || !(isOn() || event.key === '?')) return;
  const action = Object.hasOwn(KEYS, event.key) ? KEYS[event.key] : undefined;
  if (action === undefined) return;
  event.preventDefault();
  action();
});

// Each switch is named like its place in the browser's storage.
for (const box of document.querySelectorAll('dialog[data-keys] input[type="checkbox"]')) {
  box.checked = (localStorage.getItem(box.name) ?? (box.defaultChecked ? 'on' : 'off')) === 'on';
  box.addEventListener('change', () => localStorage.setItem(box.name, box.checked ? 'on' : 'off'));
}
for (const opener of document.querySelectorAll('button[data-opens-keys]')) {
  opener.hidden = false;
  opener.addEventListener('click', () => help()?.showModal());
}
