import { type JsonObject, objectOf } from '../../../../workflows/domain/canonical-json.ts';

/** What the words of a tool say against the claim that it only reads and stays inside. */
export interface Objection {
  readonly kind: 'destroys' | 'changes' | 'outside' | 'secrets' | 'unreadable';
  /** The word and its place, in words. */
  readonly because: string;
}

const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

/** Verbs that destroy or change something wherever they stand: in the name, the title or the description. */
const DESTROYS = words(`
  clear delete destroy drop erase kill overwrite purge remove revoke rm shutdown terminate truncate uninstall unlink wipe
`);
const CHANGES = words(`
  alter append archive assign cancel create deploy disable edit enable exec execute insert install invoke modify mutate mv patch pay put
  reboot rename replace reset restart restore send submit transfer update upload upsert write
`);
/** Verbs that are nouns as well: in the name, and as the first word of a sentence. After a verb of reading they are nouns in a name. */
const CHANGES_AS_VERB = words(`
  accept add apply approve attach block book buy call change click close comment commit copy deny detach drag evaluate export fill fork grant import
  increment init invite launch lock merge migrate mount move notify order pause place post press process promote publish pull push record reject
  release reload reply report rerun reserve resume retry revert rotate run save schedule set share sign start stop store subscribe swap switch sync tag
  toggle trigger type unlock unsubscribe
`);
/** A name that begins with one of these, such as `get_pull_request` or `get_workflow_run`, has nouns behind it. */
const READING = words(`
  analyze browse check compare count describe diff explain filter find get inspect list look lookup query read retrieve search show status summarize view
`);
const OUTSIDE = words('crawl internet navigate online scrape web webhook webpage webpages website websites');
const OUTSIDE_AS_VERB = words('browse curl download email fetch goto mail ping request visit');
const SECRETS = words(`
  credential credentials getenv keychain passphrase passwd password passwords printenv privatekey secret secrets vault
`);
const SECRETS_IN_NAME = words(`apikey cookie cookies env environ environment key keys token tokens`);
const SECRET_PHRASE =
  /\b(access|api|auth|bearer|private|refresh|session|signing|ssh) ?(keys?|tokens?)\b|\benvironment variables?\b|\benv vars?\b|\bprocess\.env\b/i;

/** Arguments that name a place outside, and arguments that are a program. */
const ADDRESSES = words(
  `callback domain email endpoint host hostname href recipient recipients uri uris url urls webhook website`,
);
const PROGRAMS = words(
  `bash cmd code command expression javascript js pipeline program python script shell sql statement`,
);

/** Operators by which a query of MongoDB writes or runs a program. */
const OPERATORS = /\$(out|merge|where|function|accumulator)\b/;

export interface Described {
  readonly name: string;
  readonly definition: JsonObject;
}

/**
 * What the words of a tool say against the claim that it only reads and stays inside: its name, titles and description, and the names of its
 * arguments. The words are English. Text that cannot be compared with them is an objection.
 */
export function objectionsTo({ name, definition }: Described): readonly Objection[] {
  const { title, description, annotations, inputSchema } = definition;
  const named = [
    { place: 'its name', text: name },
    { place: 'its title', text: textOf(title) },
    { place: 'its title', text: textOf(objectOf(annotations)['title']) },
  ];
  return [
    ...named.flatMap((one) => inName(one)),
    ...inDescription(textOf(description)),
    ...inArguments(inputSchema ?? null),
  ];
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Without the marks and the invisible characters that hide a word. */
const plain = (text: string): string => text.normalize('NFKC').replaceAll(/\p{Cf}/gu, '');

/** The words in a name of any style: `dropTable`, `drop_table`, `drop-table`, `DROP Table`. */
export const wordsIn = (text: string): string[] =>
  plain(text)
    .replaceAll(/(\p{Ll}|\d)(\p{Lu})/gu, '$1 $2')
    .replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');

interface Place {
  readonly place: string;
  readonly text: string;
}

function inName({ place, text }: Place): Objection[] {
  if (/[^\P{L}a-z]/iu.test(plain(text)))
    return [{ kind: 'unreadable', because: `${place} has letters outside a to z` }];
  const all = wordsIn(text);
  return all.flatMap((word, index): Objection[] => {
    const because = `${place} has "${word}"`;
    // The object of a verb of reading is no verb.
    const isVerb = index === 0 || !READING.has(all[0] ?? '') || ['and', 'or', 'then'].includes(all[index - 1] ?? '');
    if (DESTROYS.has(word)) return [{ kind: 'destroys', because }];
    if (CHANGES.has(word) || (isVerb && CHANGES_AS_VERB.has(word))) return [{ kind: 'changes', because }];
    if (OUTSIDE.has(word) || (isVerb && OUTSIDE_AS_VERB.has(word))) return [{ kind: 'outside', because }];
    if (SECRETS.has(word) || SECRETS_IN_NAME.has(word)) return [{ kind: 'secrets', because }];
    return [];
  });
}

function inDescription(text: string): Objection[] {
  const place = 'its description';
  if (/[^\P{L}\p{Script=Latin}]/u.test(plain(text)))
    return [{ kind: 'unreadable', because: `${place} has letters of another script than Latin` }];
  const found: Objection[] = [];
  const [operator] = OPERATORS.exec(text) ?? [];
  if (operator !== undefined) found.push({ kind: 'changes', because: `${place} has "${operator}"` });
  const [phrase] = SECRET_PHRASE.exec(plain(text)) ?? [];
  if (phrase !== undefined) found.push({ kind: 'secrets', because: `${place} has "${phrase.toLowerCase()}"` });
  for (const sentence of text.split(/[.!?:;\n]+/)) {
    for (const [index, word] of wordsIn(sentence).entries()) {
      const because = `${place} has "${word}"`;
      const isFirst = index === 0;
      if (is(word, DESTROYS)) found.push({ kind: 'destroys', because });
      else if (is(word, CHANGES) || (isFirst && is(word, CHANGES_AS_VERB))) found.push({ kind: 'changes', because });
      else if (OUTSIDE.has(word) || (isFirst && is(word, OUTSIDE_AS_VERB))) found.push({ kind: 'outside', because });
      else if (SECRETS.has(word)) found.push({ kind: 'secrets', because });
    }
  }
  return found;
}

/** Whether a word is one of these verbs, or its third person: `deletes`, `pushes`, `copies`. */
const is = (word: string, verbs: ReadonlySet<string>): boolean =>
  [word, word.replace(/s$/, ''), word.replace(/es$/, ''), word.replace(/ies$/, 'y')].some((one) => verbs.has(one));

/** A schema with more parts is not looked through. */
const MOST_PARTS = 5_000;

function inArguments(schema: unknown): Objection[] {
  const found: Objection[] = [];
  const open: unknown[] = [schema];
  for (let seen = 0; open.length > 0; seen += 1) {
    if (seen === MOST_PARTS) return [{ kind: 'unreadable', because: 'its arguments are too many to look through' }];
    const part = open.pop();
    if (typeof part !== 'object' || part === null) continue;
    found.push(...Object.keys(objectOf(objectOf(part)['properties'])).flatMap(objectionToArgument));
    open.push(...(Object.values(part) as unknown[]).slice(0, MOST_PARTS));
  }
  return found;
}

function objectionToArgument(name: string): Objection[] {
  const parts = wordsIn(name);
  const last = parts.at(-1) ?? '';
  const shown = JSON.stringify(name);
  if (ADDRESSES.has(last)) return [{ kind: 'outside', because: `its argument ${shown} is an address` }];
  if (PROGRAMS.has(last)) return [{ kind: 'changes', because: `its argument ${shown} is a program` }];
  return [];
}
