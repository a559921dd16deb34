// Keeps a page as it would be if a person loaded it again. The service says that something changed, and draws the page again.
const SELECTOR = '[data-live]';
/** Between two loads, in milliseconds. A hidden page only has to keep its title. */
const PAUSE_MS = 400;
const HIDDEN_PAUSE_MS = 10000;
/** How long a row stays after it has left the list, in milliseconds. */
const GONE_MS = 8000;

/** The document at an address, parsed and not run; undefined if the service answered with another page. */
function load(address) {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.responseType = 'document';
    request.open('GET', address);
    request.setRequestHeader('Accept', 'text/html');
    const isPage = () => request.status === 200 && new URL(request.responseURL).pathname === new URL(address).pathname;
    request.onload = () => resolve(isPage() ? (request.response ?? undefined) : undefined);
    request.onerror = () => resolve(undefined);
    request.send();
  });
}

const rowsIn = (element) => [...element.querySelectorAll('li[data-request]')];

/** Rows that have left the list stay in their place for a moment, as the service draws them now: with the person who decided. */
async function keepGone(live, fresh) {
  const listed = new Set(rowsIn(fresh).map((row) => row.dataset.request));
  let list = fresh.querySelector('ul.rows');
  for (const [at, row] of rowsIn(live).entries()) {
    const since = Number(row.dataset.gone ?? Date.now());
    if (listed.has(row.dataset.request) || Date.now() - since > GONE_MS) continue;
    const drawn = row.dataset.gone
      ? row.cloneNode(true)
      : (await load(new URL(`/requests/${row.dataset.request}/row`, location.href).href))?.querySelector(
          'li[data-ended]',
        );
    if (!drawn) continue;
    drawn.dataset.gone = String(since);
    list ??= emptyList(fresh);
    list.insertBefore(document.adoptNode(drawn), list.children[at] ?? null);
    setTimeout(refreshSoon, GONE_MS + 100);
  }
}

/**
 * A form with typed text, or whose decision waits to be sent, stays as it is, also when its request has moved on: then the service refuses
 * it, and keeps the text. A field of such a decision that stands elsewhere stays with what surrounds it. Only what the person saw is sent.
 */
const isTypedIn = (node) =>
  node.matches?.('section') === true &&
  (node.querySelector('form[inert]') !== null ||
    [...node.querySelectorAll('input[form]')].some(({ form }) => form?.inert) ||
    [...node.querySelectorAll('textarea')].some(({ value }) => value !== ''));

function keepTyped(live, fresh) {
  for (const section of [...live.querySelectorAll('section')].filter(isTypedIn)) {
    const action = section.querySelector('form')?.getAttribute('action');
    const twin = fresh.querySelector(`form[action="${CSS.escape(action ?? '')}"]`)?.closest('section');
    if (twin && section.id) twin.id = section.id;
  }
}

/** Where the last row of a list has left it, in front of the words that say so. */
function emptyList(fresh) {
  const list = Object.assign(document.createElement('ul'), { className: 'rows' });
  fresh.querySelector('.empty')?.before(list);
  return list;
}

/** The row that must not move: the one under the pointer, or the one with the focus. */
const anchored = () =>
  document.querySelector('[data-request]:hover') ?? document.activeElement?.closest('[data-request]');

async function refresh() {
  const fresh = await load(location.href);
  const live = document.querySelector(SELECTOR);
  const drawn = fresh?.querySelector(SELECTOR);
  if (!live || !drawn) return;
  await keepGone(live, drawn);
  keepTyped(live, drawn);
  const anchor = anchored();
  const before = anchor?.getBoundingClientRect().top;
  document.title = fresh.title;
  Idiomorph.morph(live, document.adoptNode(drawn), {
    ignoreActiveValue: true,
    callbacks: {
      beforeNodeMorphed: (node) => !isTypedIn(node),
      beforeNodeRemoved: (node) => !isTypedIn(node),
      // What a person selected, unfolded or typed stays.
      beforeAttributeUpdated: (name, { type }) =>
        type === 'hidden' || !['checked', 'open', 'value', 'disabled', 'hidden'].includes(name),
    },
  });
  if (anchor?.isConnected) scrollBy(0, anchor.getBoundingClientRect().top - before);
  dispatchEvent(new Event('drawn'));
}

let isBusy = false;
let isDue = false;
async function refreshSoon() {
  isDue = true;
  if (isBusy) return;
  isBusy = true;
  while (isDue) {
    isDue = false;
    await refresh().catch(reportError);
    await new Promise((resolve) => setTimeout(resolve, document.hidden ? HIDDEN_PAUSE_MS : PAUSE_MS));
  }
  isBusy = false;
}

/**
 * A browser keeps few connections to one site, so its pages share one stream: the page that has the lock listens, and tells the others.
 * When it closes, the lock goes to another page.
 */
function listen(events, drawnAt) {
  const pages = new BroadcastChannel('changes');
  let latest;
  pages.onmessage = ({ data }) => {
    if (data === 'changed') void refreshSoon();
    // A page that was just drawn asks whether it missed a change.
    else if (latest > data) pages.postMessage('changed');
  };
  const hear = () => {
    latest = 0;
    new EventSource(events).addEventListener('changed', ({ lastEventId }) => {
      latest = Number(lastEventId);
      pages.postMessage('changed');
      void refreshSoon();
    });
    return new Promise(() => {});
  };
  // Without a secure context there are no locks, and each page listens for itself.
  if (navigator.locks === undefined) return hear();
  pages.postMessage(drawnAt);
  return navigator.locks.request('changes', hear);
}

const live = document.querySelector(SELECTOR);
if (live) void listen(live.dataset.live, Number(new URL(live.dataset.live, location.href).searchParams.get('since')));
