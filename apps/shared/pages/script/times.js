// Keeps relative times up to date.
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const UNITS = [
  ['day', 86400],
  ['hour', 3600],
  ['minute', 60],
];

function refreshTimes() {
  for (const element of document.querySelectorAll('time[data-relative]')) {
    const seconds = (Date.parse(element.dateTime) - Date.now()) / 1000;
    const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? ['second', 1];
    const isNow = unit === 'second' && Math.abs(seconds) < 10;
    element.textContent = isNow ? 'just now' : relative.format(Math.round(seconds / size), unit);
  }
}
refreshTimes();
addEventListener('drawn', refreshTimes);
setInterval(refreshTimes, 15000);
