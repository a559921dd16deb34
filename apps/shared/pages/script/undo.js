// Holds a decision for a moment, in which its person can take it back. The service learns of it when it is sent.
const SECONDS = 5;
/** How long the service may take to answer at all before the decision counts as not sent, in milliseconds. */
const ANSWER_MS = 10000;
const isOff = () => localStorage.getItem('at-once') === 'on';

const bar = Object.assign(document.createElement('div'), { className: 'undo', tabIndex: -1, hidden: true });
// The countdown is for the eye. A screen reader says once what happens, and how to stop it.
const spoken = Object.assign(document.createElement('p'), { className: 'unseen', role: 'status' });
document.querySelector('main')?.append(bar, spoken);

/** The decision that waits: its form, the pressed button, and the seconds that are left. Its form cannot be changed meanwhile. */
let held;

function show(words, ...more) {
  bar.hidden = false;
  bar.replaceChildren(Object.assign(document.createElement('p'), { textContent: words }), ...more);
}

function hold(form, button) {
  const undoes = Object.assign(document.createElement('button'), { type: 'button', textContent: 'Undo' });
  undoes.addEventListener('click', undo);
  const says = button.dataset.undo;
  const mine = { form, button, left: SECONDS };
  const count = () => {
    show(`${says} in ${mine.left} s.`, undoes);
    bar.firstChild.ariaHidden = 'true';
  };
  held = mine;
  form.inert = true;
  count();
  spoken.textContent = `${says} in ${SECONDS} seconds. Press Escape to undo it.`;
  // Not on the button: a second press of Enter undoes nothing.
  bar.focus();
  mine.timer = setInterval(() => {
    mine.left -= 1;
    if (mine.left > 0) return count();
    clearInterval(mine.timer);
    deliver().catch(reportError);
  }, 1000);
}

/** Gives the form back to its person. */
function release() {
  const { form, button, timer } = held;
  clearInterval(timer);
  held = undefined;
  form.inert = false;
  button.disabled = false;
  bar.hidden = true;
  spoken.textContent = '';
  return { form, button };
}

function undo() {
  if (held === undefined) return;
  release().button.focus();
  spoken.textContent = 'Undone. Nothing was sent.';
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

/** Sends the decision from a page that is being left: closed, exchanged for another, or put away with its phone. */
function deliverNow() {
  const { form, button } = held;
  button.disabled = false;
  const body = new URLSearchParams(new FormData(form));
  body.set(button.name, button.value);
  release();
  const headers = { Accept: 'application/json' };
  return fetch(form.action, { method: 'POST', body, headers, keepalive: true, redirect: 'manual' });
}

addEventListener('pagehide', () => held && void deliverNow().catch(() => {}));
document.addEventListener('visibilitychange', () => {
  if (!document.hidden || held === undefined) return;
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
    if (held === undefined && (submitter?.dataset.undo === undefined || isOff())) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (held === undefined) return hold(form, submitter);
    // The decision first: a sign-out that overtakes it would have it refused.
    if (held.form !== form)
      deliverNow().then(() => {
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
