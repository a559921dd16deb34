// cspell:ignore AKIA ASIA opsur glpat abprs
import type { Json } from '../../../workflows/domain/canonical-json.ts';
import { speaksOfSecret } from '../../../workflows/domain/submission-input/form-text.ts';
import { Visible } from '../../shared/pages/visible.tsx';

/** How credentials begin whose makers mark them: keys in PEM, and tokens of clouds, code hosts, chats, payment services, and JWTs. */
const MARKED =
  /-----BEGIN [A-Z ]*PRIVATE KEY-----|\b(?:(?:AKIA|ASIA)[A-Z0-9]{16}|gh[opsur]_\w{20}|github_pat_\w{20}|glpat-[\w-]{20}|xox[abprs]-[\w-]{10}|sk_live_\w{10}|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.)|\b(?:Bearer|Basic) [\w.~+/=-]{16}|:\/\/[^\s/:@]+:[^\s/@]+@/;

/**
 * Where in the arguments of a call there may be credentials: by the names of members whose values are texts, and by how texts look. A hint
 * for people, who see the arguments whole: it decides nothing, and what it does not know it does not name.
 */
function credentialsIn(value: Json, at = ''): string[] {
  if (typeof value === 'string') return MARKED.test(value) ? [at] : [];
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) {
    return (value as readonly Json[]).flatMap((element, index) => credentialsIn(element, `${at}[${index}]`));
  }
  return Object.entries(value).flatMap(([name, member]) => {
    const place = at === '' ? name : `${at}.${name}`;
    const isNamed = typeof member === 'string' && member !== '' && speaksOfSecret(name);
    return isNamed ? [place] : credentialsIn(member, place);
  });
}

/** So many places are named; who reads on sees the others. */
const NAMED_PLACES = 5;

/** Tells approvers where to look. Nothing where no credentials are seen. */
export function Credentials({ canonical }: { canonical: string }) {
  const places = credentialsIn(JSON.parse(canonical) as Json);
  if (places.length === 0) return null;
  return (
    <div class="notice warn" role="note">
      <p>
        <strong>There may be credentials in this call,</strong> which the tool gets, and which everybody sees who may
        read this request: <Visible text={places.slice(0, NAMED_PLACES).join(', ')} />
        {places.length > NAMED_PLACES && ` and ${places.length - NAMED_PLACES} more`}. Ask whether they belong there,
        and have them replaced if they do not.
      </p>
    </div>
  );
}
