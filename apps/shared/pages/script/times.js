// Keeps times up to date, and says instants in the zone of the reader.
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const local = new Intl.DateTimeFormat('en-GB', {
  ...{ day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit', timeZoneName: 'short' },
});
const UNITS = [
  ['day', 86400],
  ['hour', 3600],
  ['minute', 60],
];
const COUNTED = [
  ['d', 86400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
];
const SEVERAL_DAYS = 172800;

function ago(instant) {
  const seconds = (instant - Date.now()) / 1000;
  const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? ['second', 1];
  const isNow = unit === 'second' && Math.abs(seconds) < 10;
  return isNow ? 'just now' : relative.format(Math.round(seconds / size), unit);
}

/** What is left, rounded down, as the service writes it: `in 3 d`, `in 1 h 34 min`. */
function timeLeft(instant) {
  let left = Math.floor((instant - Date.now()) / 1000);
  if (left <= 0) return 'over';
  const first = COUNTED.findIndex(([, size]) => left >= size);
  const units = left < SEVERAL_DAYS ? 2 : 1;
  const parts = COUNTED.slice(first, first + units).map(([unit, size]) => {
    const count = Math.floor(left / size);
    left -= count * size;
    return count === 0 ? '' : ` ${count} ${unit}`;
  });
  return `in${parts.join('')}`;
}

const WORDS = {
  'data-relative': ago,
  'data-countdown': timeLeft,
  'data-local': (instant) => local.format(instant),
};

function refreshTimes(kinds) {
  for (const kind of kinds) {
    for (const element of document.querySelectorAll(`time[${kind}]`)) {
      const words = WORDS[kind](Date.parse(element.dateTime));
      if (element.textContent !== words) element.textContent = words;
    }
  }
}

/** A deadline that has moved since the page was drawn is marked for a moment. */
const MOVED_MS = 10000;
const deadlines = () => [...document.querySelectorAll('[data-deadline]')];
const known = new Map(deadlines().map((one) => [one.dataset.deadline, one.querySelector('time')?.dateTime]));
function markMoved() {
  for (const one of deadlines()) {
    const at = one.querySelector('time')?.dateTime;
    const before = known.get(one.dataset.deadline);
    known.set(one.dataset.deadline, at);
    if (before === undefined || before === at) continue;
    one.classList.add('moved');
    setTimeout(() => one.classList.remove('moved'), MOVED_MS);
  }
}

const all = Object.keys(WORDS);
refreshTimes(all);
addEventListener('drawn', () => {
  refreshTimes(all);
  markMoved();
});
setInterval(() => refreshTimes(['data-relative']), 15000);
setInterval(() => document.hidden || refreshTimes(['data-countdown']), 1000);
