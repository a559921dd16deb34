// Keeps relative times fresh, keeps a decision from being made by a click that was meant for something else, and keeps what was typed.
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

/** Buttons that decide work only after they could be seen for a moment, and once in this time. */
const SETTLE_MS = 700;
const SENT_MS = 5000;

/** Calls back once everything that scrolls has been scrolled to its end. */
function whenRead(regions, read) {
  const unread = new Set(regions);
  const look = (region) => {
    if (region.scrollTop + region.clientHeight < region.scrollHeight - 4) return;
    if (unread.delete(region) && unread.size === 0) read();
  };
  for (const region of regions) {
    region.addEventListener('scroll', () => look(region), { passive: true });
    look(region);
  }
  if (regions.length === 0) read();
}

/** Guards the buttons of one form. Of the form it takes what is there: a hint about reading is not in all of them. */
function guard(form) {
  const buttons = [...form.querySelectorAll('button')];
  const hints = [...form.querySelectorAll('[data-unread]')];
  const [first] = buttons;
  if (first === undefined) return;
  let isSettled = false;
  let isRead = false;
  let timer;
  const update = () => {
    // Whoever approves has had the whole call before their eyes; nobody needs to read on to say no.
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
  // A person on the keyboard would pass the buttons by while they are out of sight and therefore disabled.
  form.addEventListener('focusin', () => first.scrollIntoView({ block: 'nearest' }));
  // After this event, so that the pressed button's value is still sent. An answer that never comes leaves the buttons usable.
  form.addEventListener('submit', () => setTimeout(() => settle(SENT_MS)));
}

for (const form of document.querySelectorAll('form[data-decides]')) {
  try {
    guard(form);
  } catch (error) {
    // The guard is a help and no gate: the service decides. A form without it works as it does without this script.
    for (const button of form.querySelectorAll('button')) button.disabled = false;
    reportError(error);
  }
}
// What is folded is unfolded on paper, in browsers whose sheet cannot do it as well.
let folded = [];
addEventListener('beforeprint', () => {
  folded = [...document.querySelectorAll('details:not([open])')];
  for (const details of folded) details.open = true;
});
addEventListener('afterprint', () => {
  for (const details of folded) details.open = false;
});

/**
 * What is typed into a form stays in this tab until it was taken: a session may end in between, and the way back leads through the
 * sign-in. Only texts are kept, only for the person who typed them, and nothing is sent by coming back.
 */
const DRAFTS = 'drafts';
const person = document.querySelector('.person-name')?.textContent;

function changeDrafts(change) {
  try {
    const drafts = JSON.parse(sessionStorage.getItem(DRAFTS) ?? '{}');
    change(drafts);
    sessionStorage.setItem(DRAFTS, JSON.stringify(drafts));
  } catch {
    // A browser that keeps nothing is one in which texts are lost, as they are without this script.
  }
}

// What was sent from the page before was taken, unless this page says that it was refused.
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
  // A page out of the browser's memory would show a state that is over.
  if (event.persisted) location.reload();
});
