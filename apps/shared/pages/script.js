// Updates relative times, prevents accidental decisions, and keeps typed texts.
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
    element.textContent = isNow ? 'just now' : relative.format(Math.round(seconds / size), unit);
  }
}
refreshTimes();
setInterval(refreshTimes, 15000);

/** Buttons that decide work only after they were visible for a moment, and once in this time. */
const SETTLE_MS = 700;
const SENT_MS = 5000;

/** Calls `read` when all regions have been scrolled to their end. */
function whenRead(regions, read) {
  const unread = new Set(regions);
  const check = (region) => {
    if (region.scrollTop + region.clientHeight < region.scrollHeight - 4) return;
    if (unread.delete(region) && unread.size === 0) read();
  };
  for (const region of regions) {
    region.addEventListener('scroll', () => check(region), { passive: true });
    check(region);
  }
  if (regions.length === 0) read();
}

/** Guards the buttons of one form. Not all forms have a hint about reading. */
function guard(form) {
  const buttons = [...form.querySelectorAll('button')];
  const hints = [...form.querySelectorAll('[data-unread]')];
  const [first] = buttons;
  if (first === undefined) return;
  let isSettled = false;
  let isRead = false;
  let timer;
  const update = () => {
    // An approval requires that the whole call was on screen. A denial does not.
    for (const button of buttons) button.disabled = !isSettled || (button.value === 'approve' && !isRead);
    for (const hint of hints) hint.hidden = isRead;
  };
  const settle = (afterMs) => {
    clearTimeout(timer);
    isSettled = false;
    if (afterMs !== undefined) {
      timer = setTimeout(() => {
        isSettled = true;
        update();
      }, afterMs);
    }
    update();
  };
  whenRead([...document.querySelectorAll('.json')], () => {
    isRead = true;
    update();
  });
  settle();
  new IntersectionObserver((entries) => {
    settle(entries.some((entry) => entry.isIntersecting) ? SETTLE_MS : undefined);
  }).observe(first);
  // Otherwise keyboard users would skip the buttons, which are disabled while they are out of sight.
  form.addEventListener('focusin', () => first.scrollIntoView({ block: 'nearest' }));
  // After this event, so that the pressed button's value is sent. Without an answer, the buttons become usable again.
  form.addEventListener('submit', () => setTimeout(() => settle(SENT_MS)));
}

for (const form of document.querySelectorAll('form[data-decides]')) {
  try {
    guard(form);
  } catch (error) {
    // The guard only helps, and the service decides. Without it, the form works as without this script.
    for (const button of form.querySelectorAll('button')) button.disabled = false;
    reportError(error);
  }
}
// Unfolds details for print, in browsers that do not support it in CSS.
let folded = [];
addEventListener('beforeprint', () => {
  folded = [...document.querySelectorAll('details:not([open])')];
  for (const details of folded) details.open = true;
});
addEventListener('afterprint', () => {
  for (const details of folded) details.open = false;
});

/**
 * Texts of a form stay in this tab until the form was accepted, because a session may end in between, and the way back leads through the
 * sign-in. Only the person who typed them gets them back, and coming back sends no form.
 */
const DRAFTS = 'drafts';
const person = document.querySelector('.person-name')?.textContent;

function changeDrafts(change) {
  try {
    const drafts = JSON.parse(sessionStorage.getItem(DRAFTS) ?? '{}');
    change(drafts);
    sessionStorage.setItem(DRAFTS, JSON.stringify(drafts));
  } catch {
    // Without storage, texts are lost as they are without this script.
  }
}

// A form of the previous page was accepted, unless this page reports a refusal.
changeDrafts((drafts) => {
  const isRefused = document.querySelector('[data-refused]') !== null;
  for (const [form, draft] of Object.entries(drafts)) {
    if (!draft.isSent) continue;
    if (isRefused) draft.isSent = false;
    else delete drafts[form];
  }
});

for (const form of document.querySelectorAll('form[method="post"]')) {
  const name = form.getAttribute('action');
  const fields = [...form.querySelectorAll('textarea, input[type="text"], input[type="date"]')];
  changeDrafts((drafts) => {
    const draft = drafts[name];
    for (const field of fields) if (draft?.person === person) field.value = draft.texts[field.name] ?? field.value;
  });
  form.addEventListener('input', () =>
    changeDrafts((drafts) => {
      drafts[name] = { person, texts: Object.fromEntries(fields.map((field) => [field.name, field.value])) };
    }),
  );
  form.addEventListener('submit', () =>
    changeDrafts((drafts) => {
      if (name === '/sign-out') for (const each of Object.keys(drafts)) delete drafts[each];
      else if (drafts[name] !== undefined) drafts[name].isSent = true;
    }),
  );
}

addEventListener('pageshow', (event) => {
  // A page from the browser's back/forward cache would show an old state.
  if (event.persisted) location.reload();
});
