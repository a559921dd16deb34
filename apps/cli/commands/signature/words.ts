import type { Json } from '../../../../workflows/domain/canonical-json.ts';
import type { DescribedKind, Drift } from '../../../../workflows/domain/tools/accepted-descriptions.ts';
import type { Silence } from '../../../gateway/extensions/signature/operator.ts';
import type { Io } from '../../io.ts';
import { CliError, EXIT, visible } from '../../output.ts';

/** What there are several of. */
const PLURALS = {
  tool: 'tools',
  prompt: 'prompts',
  resource: 'resources',
  resource_template: 'resource templates',
} as const satisfies Record<DescribedKind, string>;

export function noteSilent(io: Io, silent: readonly Silence[]): void {
  for (const { upstream, kind } of silent) {
    const what = PLURALS[kind];
    io.err(`${visible(upstream)} cannot be reached, or lists no ${what}: what is accepted of them stays as it is.`);
  }
}

/** Each thing with what was accepted of it (`-`) and what its upstream says now (`+`), as far as they differ. */
export function printDrift(out: (line: string) => void, drift: readonly Drift[]): void {
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
export interface Choice {
  readonly all?: boolean;
  readonly names: readonly string[];
  readonly kind?: DescribedKind;
}

/**
 * The changes that were asked for. Throws when something that is named has not changed, since it may be another one that is
 * meant, and when a name is that of several things.
 */
export function chosenFrom(drift: readonly Drift[], { all, names, kind }: Choice): readonly Drift[] {
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
export async function confirm(io: Io, chosen: readonly Drift[]): Promise<void> {
  if (io.ask === undefined) {
    throw new CliError('nobody can be asked here; add --yes to accept it without a question', { exitCode: EXIT.usage });
  }
  printDrift((text) => io.err(text), chosen);
  const answer = await io.ask('\nAccept: agents see these things like this, and use them. Go on? [y/N] ');
  if (!/^y(es)?$/i.test(answer.trim())) throw new CliError('nothing was accepted');
}
