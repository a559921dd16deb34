import { Argument, Command, Option } from 'commander';
import { pino } from 'pino';
import { DESCRIBED_KINDS, type DescribedKind } from '../../../workflows/domain/tools/accepted-descriptions.ts';
import type { Operator } from '../../gateway/extensions/signature/operator.ts';
import { systemClock } from '../../shared/clock.ts';
import { readConfig } from '../context.ts';
import { ownersDatabase } from '../database.ts';
import type { Io } from '../io.ts';
import { CliError, EXIT, json, table, visible } from '../output.ts';
import { chosenFrom, confirm, noteSilent, printDrift } from './signature/words.ts';

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
