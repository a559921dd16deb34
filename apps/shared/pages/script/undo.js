// Holds a decision for a moment, in which its person can take it back. The service learns of it when it is sent.
const SECONDS = 5;
/** How long the service may take to answer at all before the decision counts as not sent, in milliseconds. */
const ANSWER_MS = 10000;
const isOff = () => localStorage.getItem('at-once') === 'on';

const bar = Object.assign(document.createElement('div'), { className: 'undo', tabIndex: -1, hidden: true });
// The countdown is for the eye. A screen reader says once what happens, and how to stop it.
const spoken = Object.assign(document.createElement('p'), { className: 'unseen', role: 'status' });
document.querySelector('main')?.append(bar, spoken);

/**
 * The decision that waits: what it says, the seconds that are left, and on its own page its form and the pressed button. The form cannot be
 * changed meanwhile. A decision from the page before has its `sent` content in place of a form.
 */
let held;

function show(words, ...more) {
  bar.hidden = false;
  bar.replaceChildren(Object.assign(document.createElement('p'), { textContent: words }), ...more);
}

const linkTo = (href, textContent) => {
  const link = Object.assign(document.createElement('a'), { href, textContent });
  link.dataset.travels = '';
  return link;
};

/** Shows the decision and counts its seconds down. */
function countDown(mine) {
  const undoes = Object.assign(document.createElement('button'), { type: 'button', textContent: 'Undo' });
  undoes.addEventListener('click', undo);
  const next = mine.form && document.querySelector('[data-near="next"]');
  const more = next ? [linkTo(next.href, 'Next ›')] : [];
  const count = () => {
    show(`${mine.says} in ${mine.left} s.`, undoes, ...more);
    bar.firstChild.ariaHidden = 'true';
  };
  held = mine;
  count();
  spoken.textContent = `${mine.says} in ${mine.left} seconds. Press Escape to undo it.`;
  mine.timer = setInterval(() => {
    mine.left -= 1;
    if (mine.left > 0) return count();
    clearInterval(mine.timer);
    (mine.form ? deliver() : sendTravelled()).catch(reportError);
  }, 1000);
}

function hold(form, button) {
  form.inert = true;
  countDown({ form, button, says: button.dataset.undo, left: SECONDS });
  // Not on the button: a second press of Enter undoes nothing.
  bar.focus();
}

/** The place of a decision on its way to the next page of this tab. */
const TRAVELS = 'travels';
/** A later page does not send it any more, because its person may have forgotten it, in milliseconds. */
const LATE_MS = 60000;
let isTravelling = false;

/** The decision does not wait any more, so no other page takes it over. */
function forget() {
  if (isTravelling) sessionStorage.removeItem(TRAVELS);
  isTravelling = false;
}

/** Gives the form back to its person. */
function release() {
  const { form, button, timer } = held;
  clearInterval(timer);
  held = undefined;
  forget();
  if (form) {
    form.inert = false;
    button.disabled = false;
  }
  bar.hidden = true;
  spoken.textContent = '';
  return { form, button };
}

function undo() {
  if (held === undefined) return;
  const { shows } = held;
  const { button } = release();
  button?.focus();
  spoken.textContent = 'Undone. Nothing was sent.';
  if (!button) show('Undone. Nothing was sent.', linkTo(shows, 'Open it again'));
}

function failed() {
  release();
  const words =
    'The service does not answer. Nothing was decided, and your text is still here. Press the button again.';
  show(words);
  spoken.textContent = words;
}

// Forms that are sent now.
const passing = new WeakSet();

/** A form that is sent without a network ends on the browser's own page, and its text is lost. So the service has to answer first. */
async function deliver() {
  const mine = held;
  const signal = AbortSignal.timeout(ANSWER_MS);
  const isThere = await fetch('/assets/icon.svg', { method: 'HEAD', cache: 'no-store', signal }).catch(() => undefined);
  if (held !== mine) return;
  if (isThere === undefined) return failed();
  const { form, button } = release();
  show('Sending …');
  passing.add(form);
  form.requestSubmit(button);
}

/** What the form of a decision sends, as a text. */
function contentOf({ form, button, sent }) {
  if (sent) return sent;
  button.disabled = false;
  const body = new URLSearchParams(new FormData(form));
  body.set(button.name, button.value);
  return { action: form.getAttribute('action'), body: body.toString() };
}

/** Sends the decision from a page that is being left: closed, exchanged for another, or put away with its phone. */
function deliverNow() {
  const { action, body } = contentOf(held);
  release();
  const headers = { Accept: 'application/json' };
  const content = new URLSearchParams(body);
  return fetch(action, { method: 'POST', body: content, headers, keepalive: true, redirect: 'manual' });
}

/** A decision from the page before: the page that is open says what became of it. */
async function sendTravelled() {
  const { says, shows, sent } = held;
  const open = linkTo(shows, 'Open it');
  const answer = await deliverNow().catch(() => undefined);
  if (answer?.ok) {
    dispatchEvent(new CustomEvent('decided', { detail: sent.action }));
    spoken.textContent = `Done: ${says}.`;
    return show(spoken.textContent, open);
  }
  const title = await answer?.json().then(
    (problem) => problem.title,
    () => undefined,
  );
  spoken.textContent = answer
    ? `Not counted: ${says}. ${title ?? `The service answered ${answer.status}`}. Your text is kept.`
    : `Not sent: ${says}. The service does not answer. Open it to see whether your decision counted.`;
  show(spoken.textContent, open);
}

/** Takes the decision along to the next page, where it can still be undone. Without storage it is sent when this page is left. */
function takeAlong() {
  const { says, left, form, shows = form.dataset.shows } = held;
  const name = document.querySelector('h1')?.innerText.replace(/\s+/g, ' ').slice(0, 80) ?? '';
  const words = form ? `${says} (${name})` : says;
  try {
    const kept = { says: words, left, shows, sent: contentOf(held), at: Date.now() };
    sessionStorage.setItem(TRAVELS, JSON.stringify(kept));
    isTravelling = true;
  } catch {
    isTravelling = false;
  }
}

function arrive() {
  const kept = JSON.parse(sessionStorage.getItem(TRAVELS) ?? 'null');
  sessionStorage.removeItem(TRAVELS);
  if (kept === null) return;
  const { says, left, shows, sent, at } = kept;
  if (Date.now() - at < LATE_MS) return countDown({ says, left, shows, sent });
  spoken.textContent = `Not sent: ${says}. The page after it did not open in time.`;
  show(spoken.textContent, linkTo(shows, 'Open it again'));
}
try {
  arrive();
} catch (error) {
  reportError(error);
}

document.addEventListener('click', (event) => {
  const isPlain = event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
  if (held !== undefined && isPlain && event.target.closest?.('a[data-travels]')) takeAlong();
});
addEventListener('pagehide', () => held && !isTravelling && void deliverNow().catch(() => {}));
document.addEventListener('visibilitychange', () => {
  if (!document.hidden || held === undefined || isTravelling) return;
  if (!held.form) return void sendTravelled();
  const { shows } = held.form.dataset;
  deliverNow().then(() => location.assign(shows), failedLater);
});

function failedLater() {
  show('The service did not answer. Open the request again to see whether your decision counted.');
  spoken.textContent = bar.textContent;
}

// Before all other listeners, which then see only the form that is sent.
document.addEventListener(
  'submit',
  (event) => {
    const { target: form, submitter } = event;
    if (form.method !== 'post' || passing.delete(form)) return;
    const isHeld = submitter?.dataset.undo !== undefined && !isOff();
    if (held === undefined && !isHeld) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (held === undefined) return hold(form, submitter);
    if (held.form === form) return;
    // The decision first: a sign-out that overtakes it would have it refused. A second decision can be undone, too.
    const isTravelled = !held.form;
    const sent = isTravelled ? sendTravelled() : deliverNow();
    sent.then(() => {
      if (isHeld && isTravelled) return hold(form, submitter);
      passing.add(form);
      form.requestSubmit(submitter);
    }, failedLater);
  },
  true,
);
addEventListener('keydown', (event) => {
  const isElsewhere = event.target.closest?.('input, textarea, select, dialog[open]');
  if (event.key === 'Escape' && held !== undefined && !isElsewhere) undo();
});
