import type { core, ZodError } from 'zod';

/** One problem of the configuration, with the path of its setting. */
export interface SettingProblem {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** Zod's findings as problems that each name one setting. They never contain a value, which may be secret. */
export const problemsOf = (error: ZodError): SettingProblem[] =>
  withoutFollowing(error.issues.flatMap(problemsOfIssue));

type Found = SettingProblem & { readonly of?: readonly PropertyKey[] };

function problemsOfIssue(issue: core.$ZodIssue): Found[] {
  const { path } = issue;
  if (issue.code === 'unrecognized_keys') {
    const known = issue.message.startsWith('Unrecognized') ? 'docs/settings.md lists all' : issue.message;
    return issue.keys.map((key) => ({ path: [...path, key], of: path, message: `there is no such setting; ${known}` }));
  }
  if (issue.code === 'invalid_union' && !(hasOwnMessage(issue) && issue.errors.every(isOfOtherType))) {
    // The intended form is most likely one of the type that was written, and the one with the fewest problems.
    const [intended = []] = [...issue.errors].sort(
      (a, b) => Number(isOfOtherType(a)) - Number(isOfOtherType(b)) || a.length - b.length,
    );
    return intended.flatMap(problemsOfIssue).map((inner) => ({
      ...inner,
      path: [...path, ...inner.path],
      ...(inner.of && { of: [...path, ...inner.of] }),
    }));
  }
  return [{ path, message: messageOf(issue) }];
}

const hasOwnMessage = ({ message }: core.$ZodIssue) => message !== 'Invalid input';

/** Whether a form was tried on a value of quite another type. */
const isOfOtherType = (issues: readonly core.$ZodIssue[]): boolean =>
  issues.some((issue) => {
    if (issue.path.length > 0) return false;
    return issue.code === 'invalid_union' ? issue.errors.every(isOfOtherType) : issue.code === 'invalid_type';
  });

/** A misspelt name makes its section incomplete as well. The second problem goes away with the first. */
function withoutFollowing(found: readonly Found[]): SettingProblem[] {
  const misspelt = new Set(found.flatMap(({ of }) => (of === undefined ? [] : [formatPath(of)])));
  return found
    .filter(({ path, of }) => of !== undefined || !misspelt.has(formatPath(path)))
    .map(({ path, message }) => ({ path, message }));
}

function messageOf(issue: core.$ZodIssue): string {
  if (issue.code === 'invalid_key')
    return `is not a valid name: ${issue.issues.map(({ message }) => message).join('; ')}`;
  const message = issue.message.replace(/^Invalid (input|option): /, '');
  if (message.endsWith('received undefined')) return 'is missing';
  if (/^expected string, received (number|boolean|NaN)$/.test(message))
    return 'a text is expected here: put it in quotes';
  return message.charAt(0).toLowerCase() + message.slice(1);
}

/** One line: the setting and its problem. */
export const formatProblem = ({ path, message }: SettingProblem): string =>
  [formatPath(path), message].filter((piece) => piece !== '').join(': ');

/** `a.b[0].c` */
export const formatPath = (path: readonly PropertyKey[]): string =>
  path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index === 0 ? '' : '.'}${String(part)}`))
    .join('');
