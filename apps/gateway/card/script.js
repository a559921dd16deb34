// Shows one held call in a host of MCP Apps. The host sends the answer of the tool, and can be asked to open a page. Nothing else is
// possible: the card decides nothing, calls no tool and reaches no network.
// @see SEP-1865, communication protocol

const PROTOCOL = '2026-01-26';
/** In the metadata of an answer. Only the gateway writes it; no upstream server can. */
const HELD_CALL = 'dev.countersign/held-call';
const MAX_TEXT = 2000;

const HEADINGS = {
  waiting: 'Waiting for an approval',
  asks: 'More information is needed',
  checking: 'An approval has arrived',
  running: 'The tool is being called',
  ran: 'The tool ran',
  error: 'The tool ended with an error',
  unknown: 'The outcome is unknown',
  refused: 'Refused',
  cancelled: 'Cancelled',
  failed: 'The request failed',
};
/** The host shows the same answer for as long as it keeps it. */
const NOT_LIVE = '. Ask the agent for a newer state.';
const NOT_OPENED = 'The host did not open the page. Copy its address into your browser.';
const OPEN = ['waiting', 'asks', 'checking', 'running'];
/** For a card that is read after its call could be decided. What became of the call is not in the answer. */
const OVERDUE = ['The time to decide is over', 'Ask the agent what became of the call.'];

const host = window.parent;
const element = (id) => document.getElementById(id);
const pending = new Map();
const context = {};
let lastId = 0;
let canOpen = false;
let shown;

const send = (message) => host.postMessage({ jsonrpc: '2.0', ...message }, '*');
const notify = (method, params) => send({ method, params });

function ask(method, params) {
  const id = (lastId += 1);
  send({ id, method, params });
  return new Promise((resolve, reject) => pending.set(id, { resolve, reject }));
}

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const textOf = (value) => (typeof value === 'string' ? value.slice(0, MAX_TEXT) : undefined);

/** Only an address of the web that names no user, who could be taken for the host. */
function addressOf(value) {
  if (typeof value !== 'string' || value.length > MAX_TEXT || !URL.canParse(value)) return undefined;
  const { protocol, username, password, href } = new URL(value);
  return /^https?:$/.test(protocol) && username === '' && password === '' ? href : undefined;
}

function instantOf(value) {
  const ms = typeof value === 'string' ? Date.parse(value) : NaN;
  return Number.isNaN(ms) ? undefined : ms;
}

/** What the gateway says of the call. `undefined` for an answer that says nothing of one. */
function heldCallIn(result) {
  const said = isObject(result) && isObject(result._meta) ? result._meta[HELD_CALL] : undefined;
  if (!isObject(said) || !Object.hasOwn(HEADINGS, said.state)) return undefined;
  return {
    state: said.state,
    tool: textOf(said.tool),
    statement: textOf(said.statement),
    reference: textOf(said.reference),
    page: addressOf(said.page),
    decideBy: instantOf(said.decideBy),
    readAt: instantOf(said.readAt),
  };
}

/** In the time zone and language of the person, if the host says them. */
function inWords(ms) {
  const form = { dateStyle: 'medium', timeStyle: 'short' };
  try {
    return new Intl.DateTimeFormat(context.locale ?? 'en', { ...form, timeZone: context.timeZone }).format(ms);
  } catch {
    return new Intl.DateTimeFormat('en', form).format(ms);
  }
}

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
];

function remaining(ms) {
  const [unit, length] = UNITS.find(([, size]) => ms >= size) ?? ['minute', 60_000];
  const count = Math.max(1, Math.round(ms / length));
  return `about ${count} ${unit}${count === 1 ? '' : 's'} left`;
}

/** A row of the list that has nothing to say is hidden. */
function fill(id, text) {
  element(id).textContent = text ?? '';
  element(`${id}-row`).hidden = text === undefined;
}

function draw() {
  const { state, tool, statement, reference, page, decideBy, readAt } = shown;
  const isOpen = OPEN.includes(state);
  const isTimed = state === 'waiting' && decideBy !== undefined;
  const isOverdue = isTimed && decideBy <= Date.now();
  const isWaiting = state === 'waiting' && !isOverdue;
  const [heading, words] = isOverdue ? OVERDUE : [HEADINGS[state], statement ?? ''];
  document.documentElement.dataset.state = isOverdue ? 'overdue' : state;
  element('heading').textContent = heading;
  element('statement').textContent = words;
  fill('tool', tool);
  fill('who', isWaiting ? 'A person who may approve it, and never the agent.' : undefined);
  fill(
    'until',
    isTimed ? `${inWords(decideBy)}${isOverdue ? '' : ` (${remaining(decideBy - Date.now())})`}` : undefined,
  );
  fill('reference', reference);
  fill('read', readAt === undefined ? undefined : `${inWords(readAt)}${isOpen && !isOverdue ? NOT_LIVE : ''}`);
  const hasPage = isOpen && page !== undefined;
  element('page').hidden = !hasPage;
  element('how').hidden = !isWaiting || !hasPage;
  element('open').hidden = !canOpen;
  element('address').textContent = hasPage ? page : '';
  element('facts').hidden = false;
}

function say(heading, statement) {
  delete document.documentElement.dataset.state;
  element('heading').textContent = heading;
  element('statement').textContent = statement;
  for (const id of ['facts', 'page', 'how']) element(id).hidden = true;
}

function take(given) {
  if (!isObject(given)) return;
  for (const name of ['theme', 'locale', 'timeZone']) {
    if (typeof given[name] === 'string') context[name] = given[name];
  }
  if (context.theme === 'light' || context.theme === 'dark') document.documentElement.dataset.theme = context.theme;
  if (shown !== undefined) draw();
}

const NOTICES = {
  'ui/notifications/tool-result': (result) => {
    shown = heldCallIn(result);
    if (shown !== undefined) draw();
    else
      say(
        'No call is held',
        'This answer is not about a call that waits for an approval. Read it in the words of the agent.',
      );
  },
  'ui/notifications/tool-cancelled': () => {
    if (shown === undefined)
      say('The agent stopped waiting', 'The request for an approval stays as it is. Ask the agent for its state.');
  },
  'ui/notifications/host-context-changed': take,
};

window.addEventListener('message', ({ source, data }) => {
  if (source !== host || !isObject(data) || data.jsonrpc !== '2.0') return;
  const { id, method, params, result, error } = data;
  if (method === undefined) {
    const { resolve, reject } = pending.get(id) ?? {};
    pending.delete(id);
    if (error === undefined) resolve?.(result);
    else reject?.(new Error('the host refused'));
  } else if (id !== undefined) {
    const isKnown = method === 'ping' || method === 'ui/resource-teardown';
    send(isKnown ? { id, result: {} } : { id, error: { code: -32601, message: 'Method not found' } });
  } else if (Object.hasOwn(NOTICES, method)) {
    NOTICES[method](params);
  }
});

element('open').addEventListener('click', async () => {
  const url = shown?.page;
  if (url === undefined) return;
  const note = element('note');
  try {
    const answer = await ask('ui/open-link', { url });
    note.textContent = isObject(answer) && answer.isError === true ? NOT_OPENED : '';
  } catch {
    note.textContent = NOT_OPENED;
  }
});

let heightSent;
/** The width is the host's: the card takes any. */
new ResizeObserver(() => {
  const height = Math.ceil(document.body.getBoundingClientRect().height);
  if (height !== heightSent) notify('ui/notifications/size-changed', { height });
  heightSent = height;
}).observe(document.body);

setInterval(() => shown !== undefined && draw(), 30_000);

ask('ui/initialize', {
  protocolVersion: PROTOCOL,
  appInfo: { name: 'countersign-held-call', version: '1.0.0' },
  appCapabilities: { availableDisplayModes: ['inline'] },
}).then(
  (answer) => {
    canOpen = isObject(answer) && isObject(answer.hostCapabilities) && isObject(answer.hostCapabilities.openLinks);
    take(isObject(answer) ? answer.hostContext : undefined);
    notify('ui/notifications/initialized', {});
  },
  () => say('This card cannot be shown', 'The host did not accept it. Read the answer of the tool.'),
);
