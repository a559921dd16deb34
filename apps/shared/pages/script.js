// Keeps relative times fresh, and keeps a decision from being made by a click that was meant for something else.
// Every page works without it.
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
    element.textContent = isNow ? 'just now' : relative.format(Math.trunc(seconds / size), unit);
  }
}
refreshTimes();
setInterval(refreshTimes, 15000);

/** Buttons that decide work only after they could be seen for a moment, and once. */
const SETTLE_MS = 700;
for (const form of document.querySelectorAll('form[data-decides]')) {
  const buttons = [...form.querySelectorAll('button')];
  const setReady = (ready) => {
    for (const button of buttons) button.disabled = !ready;
  };
  let timer;
  setReady(false);
  new IntersectionObserver((entries) => {
    const visible = entries.some((entry) => entry.isIntersecting);
    clearTimeout(timer);
    if (visible) timer = setTimeout(() => setReady(true), SETTLE_MS);
    else setReady(false);
  }).observe(buttons[0]);
  form.addEventListener('submit', () => {
    // After this event, so that the pressed button's value is still sent.
    setTimeout(() => setReady(false));
  });
}
addEventListener('pageshow', (event) => {
  // A page out of the browser's memory would show a state that is over.
  if (event.persisted) location.reload();
});
