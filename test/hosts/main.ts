import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { packagePath } from '../../apps/shared/config/files.ts';
import { HOSTS } from './hosts.ts';
import { WAYS_IN, type Host, type Row, type WayIn } from './row.ts';
import { runRow, screensOf } from './run-row.ts';
import { openScene, type Scene } from './scene.ts';
import { documented, tableOf } from './table.ts';

const HELP = `Drives the whole product with real clients of MCP at pinned versions: each connects, signs in through Chromium where it can, lists
the tools, makes an allowed call, a call that is approved while it waits, and a call that is approved after its wait. Prints the table
of docs/hosts.md; exit code 1 when a client failed or could not run.

  npm run test:hosts                                 all clients
  npm run test:hosts -- --only go --only rust        some of them
  npm run test:hosts -- --sign-in registration       another way to sign in than the best one of each; clients without it are left out
  npm run test:hosts -- --large                      also those with packages of hundreds of megabytes
  npm run test:hosts -- --write                      records the results and what terminals show, and writes the table into docs/hosts.md
  npm run test:hosts -- --list                       the names of the clients

Brings packages by npm, pip, go, cargo and mvn into the cache once, and needs python3 (3.11 or later), go, cargo, java (17 or later),
mvn and a Chromium. A client whose program is missing has not run, which the table says.
`;

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    'sign-in': { type: 'string' },
    large: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const RESULTS = packagePath('test', 'hosts', 'results.json');
const SCREENS = packagePath('test', 'hosts', 'screens');
const DOCUMENT = packagePath('docs', 'hosts.md');
const say = (line: string) => process.stderr.write(`${line}\n`);
const print = (line = '') => process.stdout.write(`${line}\n`);
const since = (began: number) => `${((performance.now() - began) / 1_000).toFixed(1)} s`;

interface Chosen {
  readonly host: Host;
  readonly wayIn: WayIn;
}

/** The clients that run, each with its way in. Throws for names that do not exist. */
function chosen(): Chosen[] {
  const unknown = (values.only ?? []).filter((name) => !HOSTS.some((host) => host.name === name));
  if (unknown.length > 0) throw new Error(`there is no client ${unknown.join(', ')}: see --list`);
  const way = values['sign-in'];
  const wanted = WAYS_IN.find((one) => one === way);
  if (way !== undefined && wanted === undefined) throw new Error(`--sign-in is one of ${WAYS_IN.join(', ')}`);
  return HOSTS.filter(({ name, isLarge }) => values.only?.includes(name) ?? (values.large || isLarge !== true))
    .filter(({ waysIn }) => wanted === undefined || waysIn.includes(wanted))
    .map((host) => ({ host, wayIn: wanted ?? host.waysIn[0] }));
}

async function runAll(scene: Scene, all: readonly Chosen[]): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { host, wayIn } of all) {
    say(`${host.title} ${host.version} …`);
    const began = performance.now();
    const row = await runRow(scene, host, { wayIn, say });
    say(`${row.outcome.padEnd(8)} ${since(began).padStart(7)}  ${host.title} (${wayIn})`);
    if (row.reason !== undefined) say(row.reason.replaceAll(/^/gm, '         '));
    rows.push(row);
    if (values.write) record([row]);
    const screens = screensOf(scene.folder, host);
    if (values.write && row.outcome === 'passed' && existsSync(screens)) cpSync(screens, SCREENS, { recursive: true });
  }
  return rows;
}

/** Runs clients with the product, which starts for them. */
async function runWith(metadataDocuments: boolean, all: readonly Chosen[]): Promise<Row[]> {
  if (all.length === 0) return [];
  const began = performance.now();
  say(`starting the product${metadataDocuments ? '' : ', with an issuer that reads no documents'} …`);
  const scene = await openScene(metadataDocuments);
  say(`started in ${since(began)}`);
  try {
    return await runAll(scene, all);
  } finally {
    await scene.stop();
  }
}

/** The recorded results, with the new ones in the place of earlier ones of the same clients. */
function record(rows: readonly Row[]): void {
  const before = JSON.parse(readFileSync(RESULTS, 'utf8')) as Row[];
  const all = HOSTS.flatMap(({ name }) =>
    [rows, before].flatMap((list) => list.filter((row) => row.name === name)).slice(0, 1),
  );
  writeFileSync(RESULTS, `${JSON.stringify(all, null, 2)}\n`);
  writeFileSync(DOCUMENT, documented(readFileSync(DOCUMENT, 'utf8'), HOSTS, all));
}

async function main(): Promise<boolean> {
  const all = chosen();
  const began = performance.now();
  const registers = ({ host, wayIn }: Chosen) => host.hasOwnDocument === true && wayIn === 'registration';
  const rows = [
    ...(await runWith(
      true,
      all.filter((one) => !registers(one)),
    )),
    ...(await runWith(false, all.filter(registers))),
  ];
  const hosts = all.map(({ host }) => host);
  print(tableOf(hosts, rows));
  const passed = rows.filter(({ outcome }) => outcome === 'passed').length;
  const languages = new Set(hosts.map(({ language }) => language).filter((language) => language !== 'program'));
  print(`\n${passed} of ${rows.length} clients passed, in ${languages.size} languages, ${since(began)}`);
  return passed === rows.length;
}

if (values.help) print(HELP.trimEnd());
else if (values.list) for (const { name, title, version } of HOSTS) print(`${name.padEnd(20)} ${title} ${version}`);
else process.exitCode = (await main()) ? 0 : 1;
