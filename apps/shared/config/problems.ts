import type { core, ZodError } from 'zod';

/** One thing that is wrong, with the path of the setting it is about. */
export interface Problem {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** Zod's findings as problems that each name one setting. Values are never part of them: they may be secret. */
export function problemsOf(error: ZodError): Problem[] {
  return error.issues.flatMap((issue) => problemsOfIssue(issue, []));
}

function problemsOfIssue(issue: core.$ZodIssue, above: readonly PropertyKey[]): Problem[] {
  const path = [...above, ...issue.path];
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ path: [...path, key], message: 'there is no such setting' }));
  }
  if (issue.code === 'invalid_union') {
    // The form that fits best is the one that was meant.
    const [meant] = [...issue.errors].sort((a, b) => a.length - b.length);
    return (meant ?? []).flatMap((inner) => problemsOfIssue(inner, path));
  }
  return [{ path, message: messageOf(issue) }];
}

function messageOf(issue: core.$ZodIssue): string {
  if (issue.code === 'invalid_key') return `is no valid name: ${issue.issues.map(({ message }) => message).join('; ')}`;
  const message = issue.message.replace(/^Invalid (input|option): /, '');
  if (message.endsWith('received undefined')) return 'is missing';
  return message.charAt(0).toLowerCase() + message.slice(1);
}

/** One line: where it is, and what. */
export const formatProblem = ({ path, message }: Problem): string =>
  [formatPath(path), message].filter((piece) => piece !== '').join(': ');

/** `a.b[0].c` */
export function formatPath(path: readonly PropertyKey[]): string {
  return path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index === 0 ? '' : '.'}${String(part)}`))
    .join('');
}
