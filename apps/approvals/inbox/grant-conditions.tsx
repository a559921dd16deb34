import { Code } from '../../shared/pages/visible.tsx';
import type { WrittenCondition } from '../grants/scope.ts';
import type { Grant } from '../stores/grant.store.ts';

/** Enough to recognize a value. The request on which the grant was given has all of it. */
const SHOWN_CHARACTERS = 200;

/** The conditions of a grant on arguments, in words. */
export function Conditions({ of: { conditions } }: { of: Grant }) {
  const all = Object.entries(conditions);
  return (
    <>
      {all.length > 0 && (
        <ul class="votes">
          {all.map(([path, condition]) => (
            <li key={path}>
              <Code text={path} /> <Words of={condition} />
            </li>
          ))}
        </ul>
      )}
      <p class="soft">A value that is not named here may be any of its type.</p>
    </>
  );
}

function Words({ of: condition }: { of: WrittenCondition }) {
  const [how, text] = wordsOf(condition);
  return (
    <>
      {how} <Code text={shortened(text)} />
    </>
  );
}

function wordsOf(condition: WrittenCondition): readonly [how: string, text: string] {
  if ('like' in condition) return ['begins with', beginningOf(condition.like)];
  if ('path' in condition) return ['is in the folder', condition.path.under];
  if ('equal' in condition) return ['is', String(condition.equal)];
  const { scheme, host, port, path } = condition.url;
  return ['is below', `${scheme}://${host}${port === undefined ? '' : `:${port}`}${path?.under ?? '/'}`];
}

const shortened = (text: string) => (text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)} …` : text);

/** The text of a pattern that ends with its only star. */
const beginningOf = (pattern: string) => pattern.slice(0, -1).replaceAll('\\*', '*');
