import { Command, Option } from 'commander';
import { pino } from 'pino';
import type { Json } from '../../../workflows/domain/canonical-json.ts';
import {
  DESCRIBED_KINDS,
  type DescribedKind,
  type Drift,
} from '../../../workflows/domain/tools/accepted-descriptions.ts';
import type { Operator, Silence } from '../../gateway/extensions/signature.ts';
import { systemClock } from '../../shared/clock.ts';
import { CliError, confirm, EXIT, type Io, json, ownersDatabase, readConfig, table, visible } from '../context.ts';

interface Options {
  readonly databaseUrl?: string;
  readonly json?: boolean;
}
interface AcceptOptions extends Options {
  readonly all?: boolean;
  readonly kind?: DescribedKind;
  readonly yes?: boolean;
}

/** `signature`: shows the accepted descriptions, and accepts the present descriptions of upstreams. */
export function signatureCommand(io: Io): Command {
  const signature = new Command('signature').description('show and accept descriptions of upstreams');
  const add = (name: string, description: string) =>
    signature
      .command(name)
      .description(description)
      .option('--database-url <url>', "database, as its tables' owner (default: DATABASE_URL, else the embedded one)")
      .option('--json', 'print JSON');
  const run = (use: typeof show) => (options: Options, command: Command) =>
    withOperator(io, { options, command }, (operator) => use(io, operator, options));
  add('show', 'show the signature: everything that the gateway lists and calls').action(run(show));
  add('diff', 'show descriptions that differ from the accepted ones. Exit code 1 if one differs').action(run(diff));
  add('accept', 'accept the present descriptions of upstreams, and the removal of missing ones')
    .argument('[names...]', 'public names of tools and prompts, addresses of resources and templates')
    .option('--all', 'accept everything that `diff` shows')
    .addOption(new Option('--kind <kind>', 'only descriptions of this kind').choices(DESCRIBED_KINDS))
    .option('--yes', 'do not ask for confirmation')
    .action(async (names: string[], options: AcceptOptions, command: Command) => {
      if (names.length > 0 === (options.all === true)) {
        throw new CliError('name the descriptions to accept, or add --all', { exitCode: EXIT.usage });
      }
      await withOperator(io, { options, command }, (operator) => accept(io, operator, { ...options, names }));
    });
  return signature;
}

async function withOperator(
  io: Io,
  { options, command }: { options: Options; command: Command },
  use: (operator: Operator) => Promise<void>,
): Promise<void> {
  const { config } = readConfig(io, command);
  const databaseUrl = await ownersDatabase(io, command, options.databaseUrl);
  // Loaded on demand, because it brings the clients of all services.
  const { openSignature } = await import('../../gateway/main.ts');
  // The output of the command replaces the log.
  const operator = openSignature(config, { databaseUrl, clock: systemClock, log: pino({ enabled: false }) });
  try {
    await use(operator);
  } finally {
    await operator.close();
  }
}

async function show(io: Io, operator: Operator, options: Options): Promise<void> {
  const { accepted, document } = await operator.show();
  if (options.json) {
    return io.out(json({ digest: document.digest, signature: JSON.parse(document.text) as unknown }));
  }
  const rows = accepted.map(({ kind, name, upstream, digest }) => [kind, name, upstream, digest]);
  io.out(table(['KIND', 'NAME', 'UPSTREAM', 'DESCRIPTION'], rows));
  io.out(`Signature: ${document.digest}`);
}

async function diff(io: Io, operator: Operator, options: Options): Promise<void> {
  const { drift, silent } = await operator.compare();
  noteSilent(io, silent);
  if (options.json) io.out(json({ drift, silent }));
  else if (drift.length === 0) io.out('All descriptions are as accepted.');
  else printDrift((line) => io.out(line), drift);
  if (drift.length > 0)
    throw new CliError(`changed: ${drift.length}; review the list above, then run \`countersign signature accept\``);
}

async function accept(
  io: Io,
  operator: Operator,
  options: AcceptOptions & { readonly names: readonly string[] },
): Promise<void> {
  const { drift, silent } = await operator.compare();
  noteSilent(io, silent);
  const chosen = chosenFrom(drift, options);
  if (chosen.length > 0) {
    if (!options.yes) {
      const shown: string[] = [];
      printDrift((text) => shown.push(text), chosen);
      const question = 'Accept: agents see these descriptions, and can use what they describe.';
      await confirm(io, { shown, question, otherwise: 'nothing was accepted; repeat the command to accept' });
    }
    await operator.accept(chosen);
  }
  const { digest } = (await operator.show()).document;
  const accepted = chosen.map(({ change, kind, name }) => ({ change, kind, name }));
  if (options.json) return io.out(json({ accepted, digest }));
  const names = accepted.map(({ name }) => visible(name)).join(', ');
  io.out(names === '' ? 'There is nothing to accept.' : `Accepted: ${names}`);
  io.out(`Signature: ${digest}`);
}

const PLURALS = {
  tool: 'tools',
  prompt: 'prompts',
  resource: 'resources',
  resource_template: 'resource templates',
} as const satisfies Record<DescribedKind, string>;

function noteSilent(io: Io, silent: readonly Silence[]): void {
  for (const { upstream, kind } of silent)
    io.err(`${visible(upstream)} cannot be reached, or lists no ${PLURALS[kind]}: its accepted ones stay unchanged.`);
}

/** For each change, the accepted description (`-`) and the present one (`+`), as far as they differ. */
function printDrift(out: (line: string) => void, drift: readonly Drift[]): void {
  for (const { change, kind, name, members, accepted, listed } of drift) {
    out(`${change.padEnd(8)}${kind} ${visible(name)}`);
    for (const member of members) {
      if (member === 'upstream') {
        out(`  - upstream: ${visible(accepted?.upstream ?? '')}`);
        out(`  + upstream: ${visible(listed?.upstream ?? '')}`);
      } else {
        line(out, `  - ${member}`, accepted?.definition[member]);
        line(out, `  + ${member}`, listed?.definition[member]);
      }
    }
    if (change === 'new') {
      for (const [member, value] of Object.entries(listed?.definition ?? {})) line(out, `  + ${member}`, value);
    }
  }
}

function line(out: (line: string) => void, what: string, value: Json | undefined): void {
  if (value !== undefined) out(`${visible(what)}: ${visible(JSON.stringify(value))}`);
}

/**
 * Returns the changes that the command names. Throws for a name without a change, which can be a typo, and for a name of several
 * descriptions.
 */
function chosenFrom(drift: readonly Drift[], { all, names, kind }: AcceptOptions & { names: readonly string[] }) {
  const ofKind = drift.filter((one) => kind === undefined || one.kind === kind);
  if (all) return ofKind;
  return [...new Set(names)].flatMap((name) => {
    const named = ofKind.filter((one) => one.name === name);
    if (named.length === 1) return named;
    const found =
      named.length === 0
        ? `${visible(name)} has no change to accept; see \`countersign signature diff\``
        : `${visible(name)} is the name of a ${named.map((one) => one.kind).join(' and of a ')}; say which with --kind`;
    throw new CliError(found, { exitCode: EXIT.usage });
  });
}
