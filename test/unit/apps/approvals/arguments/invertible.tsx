import { renderToString } from 'preact-render-to-string';
import { Arguments, VIEWS, type View } from '../../../../../apps/approvals/inbox/arguments/arguments.tsx';
import { canonicalJson, type Json } from '../../../../../workflows/domain/canonical-json.ts';
import { createChance } from '../../../../histories/chance.ts';
import { bytesOf } from './bytes-of.ts';
import { someArguments } from './random-arguments.ts';

/** The HTML of one view of arguments. */
export const drawn = (canonical: string, view: View | undefined): string =>
  renderToString(
    <Arguments
      {...{ canonical, view, id: 'a', label: 'Arguments', address: '/requests/1', mayHoldCredentials: true }}
      heading={<h2>What will run</h2>}
    />,
  );

/** The canonical text; undefined for a value that has none, because a character in it was cut in two. */
export function canonicalOf(value: Json): string | undefined {
  try {
    return canonicalJson(value);
  } catch {
    return undefined;
  }
}

/** The views from which a canonical text cannot be read back. */
export function unfaithful(canonical: string): { view: View; read: string }[] {
  return VIEWS.flatMap((view) => {
    const read = bytesOf(drawn(canonical, view), view);
    return read === canonical ? [] : [{ view, read }];
  });
}

/** Draws so many random sets of arguments in all views. Answers the number of those with a canonical form, and those that are lost. */
export function tryRandom(seed: string, count: number): { readonly tried: number; readonly lost: readonly string[] } {
  const chance = createChance(seed);
  const lost: string[] = [];
  let tried = 0;
  while (tried < count) {
    const canonical = canonicalOf(someArguments(chance));
    if (canonical === undefined) continue;
    tried += 1;
    try {
      if (unfaithful(canonical).length > 0) lost.push(canonical);
    } catch (error) {
      lost.push(`${String(error)}: ${canonical}`);
    }
  }
  return { tried, lost };
}
