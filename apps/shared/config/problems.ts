import type { core, ZodError } from 'zod';

/** One problem of the configuration, with the path of its setting. */
export interface SettingProblem {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** Zod's findings as problems that each name one setting. They never contain a value, which may be secret. */
export const problemsOf = (error: ZodError): SettingProblem[] =>
  error.issues.flatMap((issue) => problemsOfIssue(issue, []));

function problemsOfIssue(issue: core.$ZodIssue, above: readonly PropertyKey[]): SettingProblem[] {
  const path = [...above, ...issue.path];
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      path: [...path, key],
      message: 'there is no such setting; docs/settings.md lists all',
    }));
  }
  if (issue.code === 'invalid_union') {
    // The intended form is most likely one of the type that was written, and the one with the fewest problems.
    const isOfOtherType = (errors: readonly core.$ZodIssue[]) =>
      errors.some(({ code, path: [first] }) => code === 'invalid_type' && first === undefined);
    const [intended] = [...issue.errors].sort(
      (a, b) => Number(isOfOtherType(a)) - Number(isOfOtherType(b)) || a.length - b.length,
    );
    return (intended ?? []).flatMap((inner) => problemsOfIssue(inner, path));
  }
  return [{ path, message: messageOf(issue) }];
}

function messageOf(issue: core.$ZodIssue): string {
  if (issue.code === 'invalid_key')
    return `is not a valid name: ${issue.issues.map(({ message }) => message).join('; ')}`;
  const message = issue.message.replace(/^Invalid (input|option): /, '');
  if (message.endsWith('received undefined')) return 'is missing';
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
