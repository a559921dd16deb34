import type { Host, Row, WayIn } from './row.ts';

const SIGN_INS: Readonly<Record<WayIn, string>> = {
  document: 'by document',
  registration: 'by registration',
  token: 'pasted token',
};
const HOLDS: Readonly<Record<Host['holds'], string>> = {
  wait: 'waits',
  'give up': 'gives up; the repeated call has the result',
  task: 'task',
};
const HEADINGS = ['Client', 'Version', 'Language', 'Revision', 'Name', 'Sign-in', 'A held call', 'Progress', 'Tried'];

/** What a reader has to know of each client before using it, as a table in Markdown. */
const settingsOf = (hosts: readonly Host[]): string =>
  aligned([
    ['Client', 'Its own limit', 'Set'],
    ...hosts.map(({ title, ownLimit, toSet }) => [title, ownLimit, toSet]),
  ]).join('\n');

/** The results as a table in Markdown, in the order of the hosts. What failed or did not run stands below it, with the reason. */
export function tableOf(hosts: readonly Host[], rows: readonly Row[]): string {
  const found = hosts.map((host) => ({ host, row: rows.find(({ name }) => name === host.name) }));
  const lines = aligned([HEADINGS, ...found.map(({ host, row }) => cellsOf(host, row))]);
  const faults = found.flatMap(({ host, row }) =>
    row?.reason === undefined ? [] : [`- ${host.title}: ${firstLine(row.reason)}`],
  );
  return [...lines, ...(faults.length > 0 ? ['', ...faults] : [])].join('\n');
}

function cellsOf({ title, version, language, holds }: Host, row: Row | undefined): string[] {
  const known = [title, row?.version ?? version, language];
  if (row?.outcome !== 'passed') return [...known, '', '', '', row?.outcome ?? 'not run', '', row?.date ?? ''];
  const { revision = '', clientName = '', wayIn, asksForProgress, date } = row;
  return [...known, revision, nameIn(clientName), SIGN_INS[wayIn], HOLDS[holds], asksForProgress ? 'yes' : 'no', date];
}

/** Drivers name themselves `host-…` where a program has to give its name. */
function nameIn(clientName: string): string {
  const own = clientName.replace(/^host-[a-z0-9-]+/, '…');
  return own === '…' ? "the program's" : `\`${own}\``;
}

/** Cells of one column have one width, as the formatter of this repository writes tables. */
function aligned(rows: readonly (readonly string[])[]): string[] {
  const [headings = [], ...others] = rows;
  const widths = headings.map((_, column) => Math.max(3, ...rows.map((cells) => cells[column]?.length ?? 0)));
  const line = (cells: readonly string[]) => `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`;
  return [line(headings), line(widths.map((width) => '-'.repeat(width))), ...others.map(line)];
}

const firstLine = (text: string) => text.split('\n')[0] ?? '';

const begin = (name: string) => `<!-- ${name}: written by \`npm run test:hosts -- --write\` -->`;
const END = '<!-- the end -->';

/** The document with these texts in the places of their names. */
function withTables(document: string, tables: Readonly<Record<string, string>>): string {
  return Object.entries(tables).reduce((text, [name, table]) => {
    const [before, rest = ''] = text.split(begin(name));
    const at = rest.indexOf(END);
    if (before === undefined || at === -1) throw new Error(`the document has no place for a table: ${begin(name)}`);
    return `${before}${begin(name)}\n\n${table}\n\n${rest.slice(at)}`;
  }, document);
}

/** The document with both tables. */
export const documented = (document: string, hosts: readonly Host[], rows: readonly Row[]): string =>
  withTables(document, { results: tableOf(hosts, rows), settings: settingsOf(hosts) });
