import { Argument, Command, Option } from 'commander';
import { pino } from 'pino';
import type { Json } from '../../../workflows/domain/canonical-json.ts';
import {
  DESCRIBED_KINDS,
  type DescribedKind,
  type Drift,
} from '../../../workflows/domain/tools/accepted-descriptions.ts';
import type { Operator, Silence } from '../../gateway/extensions/signature.ts';
import { systemClock } from '../../shared/clock.ts';
import { CliError, EXIT, type Io, json, readConfig, table, visible } from '../context.ts';
import { ownersDatabase } from '../people.ts';

interface Options {
  readonly databaseUrl?: string;
  readonly json?: boolean;
}
interface AcceptOptions extends Options {
  readonly all?: boolean;
  readonly kind?: DescribedKind;
  readonly yes?: boolean;
}

/** `signature`: what may be listed and used, and accepting what servers say of it by now. */
export function signatureCommand(io: Io): Command {
  const signature = new Command('signature').description('see and accept what may be listed and used');
  const add = (name: string, description: string) => {
    const command = new Command(name)
      .description(description)
      .option('--database-url <url>', 'database, as its owner (default: DATABASE_URL, else the running embedded one)')
      .option('--json', 'print JSON');
    signature.addCommand(command);
    return command;
  };
  add('show', 'show the signature: everything that may be listed and used').action(
    (options: Options, command: Command) =>
      withOperator(io, { options, command }, (operator) => show(io, operator, options)),
  );
  add('diff', 'show what is not as it was accepted. Exit code 1 when there is something').action(
    (options: Options, command: Command) =>
      withOperator(io, { options, command }, (operator) => diff(io, operator, options)),
  );
  add('accept', 'accept things as their upstreams describe them now, and that others are gone')
    .addArgument(new Argument('[names...]', 'public names of tools and prompts, addresses of resources and templates'))
    .option('--all', 'everything that `diff` shows')
    .addOption(new Option('--kind <kind>', 'only things of this kind').choices(DESCRIBED_KINDS))
    .option('--yes', 'do not ask')
    .action(async (names: string[], options: AcceptOptions, command: Command) => {
      if (names.length > 0 === (options.all === true)) {
        throw new CliError('name what to accept, or all of it with --all', { exitCode: EXIT.usage });
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
  // Loaded only now: it brings the clients of everything with it.
  const { openSignature } = await import('../../gateway/main.ts');
  // Whatever a log would say about a tool is said by the command.
  const operator = openSignature(config, { databaseUrl, clock: systemClock, log: pino({ enabled: false }) });
  try {
    await use(operator);
  } finally {
    await operator.close();
  }
}

async function show(io: Io, operator: Operator, options: Options): Promise<void> {
  const { pinned, document } = await operator.show();
  if (options.json) {
    return io.out(json({ digest: document.digest, signature: JSON.parse(document.text) as unknown }));
  }
  const rows = pinned.map(({ kind, name, upstream, digest }) => [kind, name, upstream, digest]);
  io.out(table(['KIND', 'NAME', 'UPSTREAM', 'DESCRIPTION'], rows));
  io.out(`Signature: ${document.digest}`);
}

async function diff(io: Io, operator: Operator, options: Options): Promise<void> {
  const { drift, silent } = await operator.compare();
  noteSilent(io, silent);
  if (options.json) io.out(json({ drift, silent }));
  else if (drift.length === 0) io.out('Everything is as it was accepted.');
  else printDrift((line) => io.out(line), drift);
  if (drift.length > 0) throw new CliError(`not as it was accepted: ${drift.length}`);
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
    if (!options.yes) await confirm(io, chosen);
    await operator.accept(chosen);
  }
  const { digest } = (await operator.show()).document;
  const accepted = chosen.map(({ change, kind, name }) => ({ change, kind, name }));
  if (options.json) return io.out(json({ accepted, digest }));
  const names = accepted.map(({ name }) => visible(name)).join(', ');
  io.out(names === '' ? 'There is nothing to accept.' : `Accepted: ${names}`);
  io.out(`Signature: ${digest}`);
}

/** What there are several of. */
const PLURALS = {
  tool: 'tools',
  prompt: 'prompts',
  resource: 'resources',
  resource_template: 'resource templates',
} as const satisfies Record<DescribedKind, string>;

function noteSilent(io: Io, silent: readonly Silence[]): void {
  for (const { upstream, kind } of silent) {
    const what = PLURALS[kind];
    io.err(`${visible(upstream)} cannot be reached, or lists no ${what}: what is accepted of them stays as it is.`);
  }
}

/** Each thing with what was accepted of it (`-`) and what its upstream says now (`+`), as far as they differ. */
function printDrift(out: (line: string) => void, drift: readonly Drift[]): void {
  for (const { change, kind, name, members, pinned, listed } of drift) {
    out(`${change.padEnd(8)}${kind} ${visible(name)}`);
    for (const member of members) {
      if (member === 'upstream') {
        out(`  - upstream: ${visible(pinned?.upstream ?? '')}`);
        out(`  + upstream: ${visible(listed?.upstream ?? '')}`);
      } else {
        line(out, `  - ${member}`, pinned?.definition[member]);
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

/** What was asked for: everything, or what has one of the names; of one kind, or of any. */
interface Choice {
  readonly all?: boolean;
  readonly names: readonly string[];
  readonly kind?: DescribedKind;
}

/**
 * The changes that were asked for. Throws when something that is named has not changed, since it may be another one that is
 * meant, and when a name is that of several things.
 */
function chosenFrom(drift: readonly Drift[], { all, names, kind }: Choice): readonly Drift[] {
  const ofKind = drift.filter((one) => kind === undefined || one.kind === kind);
  if (all) return ofKind;
  return [...new Set(names)].flatMap((name) => {
    const named = ofKind.filter((one) => one.name === name);
    if (named.length === 1) return named;
    const found =
      named.length === 0
        ? `nothing about ${visible(name)} is to be accepted; see \`countersign signature diff\``
        : `${visible(name)} is the name of a ${named.map((one) => one.kind).join(' and of a ')}; say which with --kind`;
    throw new CliError(found, { exitCode: EXIT.usage });
  });
}

/** Shows exactly what is about to be accepted, and asks. */
async function confirm(io: Io, chosen: readonly Drift[]): Promise<void> {
  if (io.ask === undefined) {
    throw new CliError('nobody can be asked here; add --yes to accept it without a question', { exitCode: EXIT.usage });
  }
  printDrift((text) => io.err(text), chosen);
  const answer = await io.ask('\nAccept: agents see these things like this, and use them. Go on? [y/N] ');
  if (!/^y(es)?$/i.test(answer.trim())) throw new CliError('nothing was accepted');
}
