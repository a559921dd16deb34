import type { Json } from '../../../../workflows/domain/canonical-json.ts';
import type { Drift } from '../../../../workflows/domain/tools/signature.ts';
import type { Io } from '../../io.ts';
import { CliError, EXIT, visible } from '../../output.ts';

/** Each tool with what was accepted of it (`-`) and what its upstream says now (`+`), as far as they differ. */
export function printDrift(out: (line: string) => void, drift: readonly Drift[]): void {
  for (const { kind, name, members, pinned, listed } of drift) {
    out(`${kind.padEnd(8)}${visible(name)}`);
    for (const member of members) {
      if (member === 'upstream') {
        out(`  - upstream: ${visible(pinned?.upstream ?? '')}`);
        out(`  + upstream: ${visible(listed?.upstream ?? '')}`);
      } else {
        line(out, `  - ${member}`, pinned?.definition[member]);
        line(out, `  + ${member}`, listed?.definition[member]);
      }
    }
    if (kind === 'new') {
      for (const [member, value] of Object.entries(listed?.definition ?? {})) line(out, `  + ${member}`, value);
    }
  }
}

function line(out: (line: string) => void, what: string, value: Json | undefined): void {
  if (value !== undefined) out(`${visible(what)}: ${visible(JSON.stringify(value))}`);
}

/** The changes of these tools. Throws when one of them has not changed: it may be another one that is meant. */
export function chosenFrom(drift: readonly Drift[], names: readonly string[]): readonly Drift[] {
  const strange = names.find((name) => !drift.some((one) => one.name === name));
  if (strange === undefined) return drift.filter(({ name }) => names.includes(name));
  throw new CliError(`nothing about ${visible(strange)} is to be accepted; see \`countersign signature diff\``, {
    exitCode: EXIT.usage,
  });
}

/** Shows exactly what is about to be accepted, and asks. */
export async function confirm(io: Io, chosen: readonly Drift[]): Promise<void> {
  if (io.ask === undefined) {
    throw new CliError('nobody can be asked here; add --yes to accept it without a question', { exitCode: EXIT.usage });
  }
  printDrift((text) => io.err(text), chosen);
  const answer = await io.ask('\nAccept: agents see these tools like this, and call them. Go on? [y/N] ');
  if (!/^y(es)?$/i.test(answer.trim())) throw new CliError('nothing was accepted');
}
