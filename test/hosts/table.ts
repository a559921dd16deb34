import type { Host, Row, WayIn } from './row.ts';

const BEGIN = '<!-- Written by `npm run test:hosts -- --write`. -->';
const END = '<!-- The end of the table. -->';

const SIGN_INS: Readonly<Record<WayIn, string>> = {
  document: 'by document',
  registration: 'by registration',
  token: 'pasted token',
};
const HOLDS: Readonly<Record<Host['holds'], string>> = { wait: 'waits', task: 'task' };
const HEADINGS = ['Client', 'Version', 'Language', 'Revision', 'Name', 'Sign-in', 'A held call', 'Progress', 'Tried'];

/** The results as a table in Markdown, in the order of the hosts. What failed or did not run stands below it, with the reason. */
export function tableOf(hosts: readonly Host[], rows: readonly Row[]): string {
  const found = hosts.map((host) => ({ host, row: rows.find(({ name }) => name === host.name) }));
  const lines = aligned([HEADINGS, ...found.map(({ host, row }) => cellsOf(host, row))]);
  const faults = found.flatMap(({ host, row }) => (row?.reason === undefined ? [] : [`- ${host.title}: ${firstLine(row.reason)}`]));
  return [...lines, ...(faults.length > 0 ? ['', ...faults] : [])].join('\n');
}

function cellsOf({ title, version, language, holds }: Host, row: Row | undefined): string[] {
  const known = [title, row?.version ?? version, language];
  if (row?.outcome !== 'passed') return [...known, '', '', '', row?.outcome ?? 'not run', '', row?.date ?? ''];
  const { revision = '', clientName = '', wayIn, asksForProgress, date } = row;
  return [...known, revision, `\`${clientName}\``, SIGN_INS[wayIn], HOLDS[holds], asksForProgress ? 'yes' : 'no', date];
}

/** Cells of one column have one width, as the formatter of this repository writes tables. */
function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = HEADINGS.map((_, column) => Math.max(3, ...rows.map((cells) => cells[column]?.length ?? 0)));
  const line = (cells: readonly string[]) => `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`;
  const [headings = [], ...others] = rows;
  return [line(headings), line(widths.map((width) => '-'.repeat(width))), ...others.map(line)];
}

const firstLine = (text: string) => text.split('\n')[0] ?? '';

/** The document with this table in its place. */
export function withTable(document: string, table: string): string {
  const [before, rest] = document.split(BEGIN);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined) throw new Error(`the document has no place for the table: ${BEGIN}`);
  return `${before}${BEGIN}\n\n${table}\n\n${END}${after}`;
}
