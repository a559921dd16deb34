import type { Json } from '../../../../workflows/domain/canonical-json.ts';
import { speaksOfSecret } from '../../../../workflows/domain/submission-input/form-field.ts';
import { Visible } from '../../../shared/pages/visible.tsx';

// cspell:ignore AKIA ASIA opsur glpat abprs
/** Credentials with a recognizable form: PEM keys, JWTs, and tokens of clouds, code hosts, chats and payment services. */
const MARKED =
  /-----BEGIN [A-Z ]*PRIVATE KEY-----|\b(?:(?:AKIA|ASIA)[A-Z0-9]{16}|gh[opsur]_\w{20}|github_pat_\w{20}|glpat-[\w-]{20}|xox[abprs]-[\w-]{10}|sk_live_\w{10}|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.)|\b(?:Bearer|Basic) [\w.~+/=-]{16}|:\/\/[^\s/:@]+:[^\s/@]+@/;

/** Where a credential may be. */
export interface Hint {
  readonly path: string;
  /** How many string values the canonical text has before this one. */
  readonly ordinal: number;
}

/**
 * String values of the arguments where credentials may be: by the names of their members, and by the form of strings. It is a hint for
 * approvers, who see all arguments: it decides nothing, and it misses forms that it does not know.
 */
export function credentialsIn(value: Json): Hint[] {
  const hints: Hint[] = [];
  let strings = 0;
  const visit = (value: Json, path: string, isNamed: boolean): void => {
    if (typeof value === 'string') {
      const ordinal = strings++;
      if ((isNamed && value !== '') || MARKED.test(value)) hints.push({ path, ordinal });
    } else if (isList(value)) {
      for (const [index, element] of value.entries()) visit(element, `${path}[${index}]`, false);
    } else if (typeof value === 'object' && value !== null) {
      for (const name of Object.keys(value).sort()) {
        visit(value[name] ?? null, path === '' ? name : `${path}.${name}`, speaksOfSecret(name));
      }
    }
  };
  visit(value, '', false);
  return hints;
}

const isList = (value: Json): value is readonly Json[] => Array.isArray(value);

/** How many places the warning names. */
const NAMED = 5;

interface CredentialsProps {
  readonly hints: readonly Hint[];
  /** The ids of the places, by their ordinals. */
  readonly places: ReadonlyMap<number, string>;
}

/** Tells approvers where the call may contain credentials, and leads there. */
export function Credentials({ hints, places }: CredentialsProps) {
  if (hints.length === 0) return null;
  return (
    <div class="notice warn" role="note">
      <p>
        <strong>This call may contain credentials.</strong> The tool gets them, and everyone who can read this request
        sees them:{' '}
        {hints.slice(0, NAMED).map(({ path, ordinal }, at) => (
          <span key={ordinal}>
            {at > 0 && ', '}
            <a href={`#${places.get(ordinal)}`}>{path === '' ? 'the text' : <Visible text={path} />}</a>
          </span>
        ))}
        {hints.length > NAMED && ` and ${hints.length - NAMED} more`}. Ask whether they belong there. If not, have them
        replaced.
      </p>
    </div>
  );
}
