/** One answer that a client read about a task: to `tools/call` first, to `tasks/get` afterwards. */
export type Read = Readonly<Record<string, unknown>>;

/** Every read of one task by one client, in order, and the final state of the call in the database. */
export interface History {
  readonly taskId: string;
  readonly reads: readonly Read[];
  readonly state: string;
}

const DISPOSITION = 'io.modelcontextprotocol/tool-approval-disposition';
/** First name of the same key. */
const DISPOSITION_ALIAS = 'net.openid.authzen/disposition';
const AUTHORIZATION = 'io.modelcontextprotocol/authorization';

/** The required reading of a call in each of its last states: status, disposition, whether the result is an error. */
const SHOWN: Readonly<Record<string, readonly [status: string, disposition?: string, isError?: boolean]>> = {
  executed: ['completed', 'approved-executed', false],
  execution_error: ['completed', 'execution-error', true],
  outcome_unknown: ['completed', 'outcome-unknown', true],
  denied: ['completed', 'denied-not-executed', true],
  cancelled: ['cancelled'],
  failed: ['failed'],
};
const ALLOWED = [...Object.values(SHOWN), ['working'] as const];

/** The words about the tool that an answer must contain, by its disposition or else its status. */
const WORDS: Readonly<Record<string, RegExp>> = {
  'approved-executed': /\bran once\b/,
  'execution-error': /\bran once\b|\bdid not run\b/,
  'outcome-unknown': /\bmay have run\b/,
  'denied-not-executed': /\bdid not run\b/,
  cancelled: /\bdid not run\b/,
  failed: /\bdid not run\b/,
  working: /\bhas not run\b|\bnot known yet\b/,
};

/** The contradictions in one client's reads of one task. */
export function checkReads({ taskId, reads, state }: History): string[] {
  const found: string[] = [];
  if (reads.some((read) => read['taskId'] !== taskId)) found.push('an answer was about another task');
  if (reads.some((read) => !agreesWithItself(read))) found.push('status, disposition and result did not agree');
  if (reads.some((read) => !saysWhatItIs(read))) found.push('the words of an answer did not say what its status says');
  if (wentBack(reads)) found.push('a client read an older state after a newer one');
  const last = reads.at(-1);
  const [status, disposition] = SHOWN[state] ?? [];
  if (last?.['status'] !== status || dispositionOf(last) !== disposition) {
    found.push(`a client was shown ${String(last?.['status'])} ${dispositionOf(last)} of a call that is ${state}`);
  }
  return found.map((what) => `${taskId}: ${what}`);
}

function resultOf(read: Read | undefined) {
  return read?.['result'] as { isError?: boolean; _meta?: Read; content?: { text?: string }[] } | undefined;
}

function dispositionOf(read: Read | undefined): string | undefined {
  return resultOf(read)?._meta?.[DISPOSITION] as string | undefined;
}

/** Whether its words, those of the result included, contain this statement about the tool and no other one. */
function saysWhatItIs(read: Read): boolean {
  const said = [read['statusMessage'], ...(resultOf(read)?.content ?? []).map(({ text }) => text)].join(' ');
  const own = WORDS[dispositionOf(read) ?? String(read['status'])];
  const claims = said.match(/\b(ran once|may have run|did not run|has not run|not known yet)\b/g) ?? [];
  return own !== undefined && claims.length > 0 && claims.every((claim) => own.test(claim));
}

function agreesWithItself(read: Read): boolean {
  const result = resultOf(read);
  const isRight = ALLOWED.some(
    ([status, disposition, isError]) =>
      status === read['status'] && disposition === dispositionOf(read) && isError === result?.isError,
  );
  const awaits = (read['_meta'] as Read | undefined)?.[AUTHORIZATION] !== undefined;
  const bothNames = resultOf(read)?._meta?.[DISPOSITION_ALIAS] === dispositionOf(read);
  return (
    isRight &&
    bothNames &&
    awaits === (read['status'] === 'working') &&
    (read['status'] === 'failed') === 'error' in read
  );
}

/** The time of the last change never goes back, and an end never changes. */
function wentBack(reads: readonly Read[]): boolean {
  return reads.some((read, index) => {
    const before = reads[index - 1];
    if (before === undefined) return false;
    if (String(read['lastUpdatedAt']) < String(before['lastUpdatedAt'])) return true;
    return before['status'] !== 'working' && JSON.stringify(shown(read)) !== JSON.stringify(shown(before));
  });
}

const shown = (read: Read) => [read['status'], read['statusMessage'], read['result'], read['error']];
