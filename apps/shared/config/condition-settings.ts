import * as z from 'zod';
import { decodedPath, hostPattern } from '../../../workflows/domain/spellings/address.ts';
import { isNormalized } from '../../../workflows/domain/spellings/letters.ts';
import { pathForm } from '../../../workflows/domain/spellings/path.ts';
import type { ArgumentConditions, Condition, Folder } from '../rules/rules.ts';
import { isComparable } from '../rules/values.ts';
import { named, port, text } from './units.ts';
import { readUrl } from '../rules/url-reader.ts';

/** One value or a list. */
export const oneOrMore = <Item extends z.ZodType>(item: Item) =>
  z.union([item.transform((one) => [one]), z.array(item).min(1)]);

const comparable = z
  .number()
  .refine(
    isComparable,
    'use at most four decimal places, and at most 900000000000000; a Cedar policy can compare other numbers',
  );
const scalar = z.union([z.string(), comparable, z.boolean()], { error: 'expected a text, a number, true or false' });

/** A text that says what something is named. */
const nameText = text.max(1_000);

/** A text in another form than it was written, or a fault for its author. */
const formOf = <Form>(read: (text: string) => Form | undefined, rule: string) =>
  nameText.transform((written, context): Form => {
    const form = read(written);
    if (form !== undefined) return form;
    context.addIssue({ code: 'custom', message: rule });
    return z.NEVER;
  });

const folder = formOf((written): Folder | undefined => {
  const { whole } = pathForm(written);
  return whole === undefined || whole.text === '/' || whole.text === '' ? undefined : whole;
}, 'write a folder below the root, without "..", "~" and escapes, such as /srv/data or C:\\data');
const NAME_RULE =
  'write the name of a file or a folder, without slashes, backslashes, colons, "~1", and dots or blanks at the end';
/** A name with a letter for each star must be a name that every system reads alike. */
const isName = (one: string) => !one.includes('/') && pathForm(one.replaceAll('*', 'x')).name !== undefined;
const namePattern = nameText.refine((one) => isName(one) && one !== '.', NAME_RULE);
const partName = namePattern.refine((one) => !one.includes('*'), 'write whole names here; only name takes a star');
const host = formOf(
  (written) => hostPattern(written, readUrl),
  'write a host such as example.com, or *.example.com for all hosts below it',
);
const addressPath = formOf((written) => {
  const path = written.startsWith('/') && !/[?#]/.test(written) ? decodedPath(written) : undefined;
  return path === '/' ? undefined : path;
}, 'write a path below the root that begins with a slash, such as /docs');

const ignoreCase = z
  .boolean()
  .optional()
  .describe(
    'Whether texts that differ only in the case of letters are the same. Without it, a text that is the same but for case cannot ' +
      'be tested.',
  );
const isSomething = (given: object) =>
  Object.entries(given).some(([name, one]) => name !== 'ignoreCase' && one !== undefined);

const pathSettings = named({
  under: oneOrMore(folder).optional().describe('Folders. The path is one of them, or leads to something in it.'),
  name: oneOrMore(namePattern)
    .optional()
    .describe('Patterns of the last part of the path. `*` stands for any characters.'),
  part: oneOrMore(partName).optional().describe('Names. One of them is a part of the path, wherever it stands.'),
  ignoreCase,
}).refine(isSomething, 'is empty: use under, name or part');

const urlSettings = named({
  scheme: oneOrMore(
    text.regex(/^[a-z][a-z0-9+.-]*$/, 'write a scheme in lower case and without a colon, such as https'),
  )
    .optional()
    .describe('Schemes, such as `https`.'),
  host: oneOrMore(host)
    .optional()
    .describe('Hosts. `*.example.com` means all hosts below `example.com`, without `example.com` itself.'),
  port: oneOrMore(port).optional().describe('Ports. An address without a port has the port of its scheme.'),
  path: named({
    under: oneOrMore(addressPath).describe('Paths. The path of the address is one of them, or below it.'),
    ignoreCase,
  })
    .optional()
    .describe('The path of the address.'),
}).refine(isSomething, 'is empty: use scheme, host, port or path');

const testSettings = named({
  equal: scalar.optional().describe('Value that the argument must have.'),
  oneOf: z.array(scalar).min(1).optional().describe('Values that the argument may have.'),
  like: nameText
    .refine(isNormalized, 'use Unicode normal form C: a text in another form cannot be tested')
    .optional()
    .describe(
      'Pattern of the whole text. `*` stands for any characters, slashes included. A text that is not the one spelling of a path ' +
        'or an address cannot be tested. For these, use `path` and `url`.',
    ),
  ignoreCase: z
    .boolean()
    .optional()
    .describe('For `like`: whether the case of letters means nothing. Without it, case matters.'),
  path: pathSettings.optional().describe('The argument is a path, which is compared as files are found.'),
  url: urlSettings.optional().describe('The argument is an absolute address.'),
  over: comparable.optional().describe('The number must be above this.'),
  under: comparable.optional().describe('The number must be below this.'),
  present: z.boolean().optional().describe('Whether the argument must be there. `null` counts as missing.'),
  not: z
    .lazy((): z.ZodType<readonly Condition[]> => condition)
    .optional()
    .describe(
      'A condition that the argument must not meet. What cannot be tested by the condition cannot be tested by this one.',
    ),
  anyOf: z
    .array(z.lazy((): z.ZodType<readonly Condition[]> => condition))
    .min(1)
    .optional()
    .describe('Conditions, one of which is enough: `[{ present: false }, staging]`.'),
})
  .refine(isSomething, 'is empty: use equal, oneOf, like, path, url, over, under, present, not or anyOf')
  .refine((given) => given.ignoreCase === undefined || given.like !== undefined, {
    path: ['ignoreCase'],
    error: 'is for like: leave it out, or write it inside path',
  });

type Tests = z.output<typeof testSettings>;

function conditionsOf({ equal, oneOf, like, ignoreCase: lettered, path, url, ...others }: Tests) {
  const { over, under, present, not, anyOf } = others;
  const conditions: (Condition | undefined)[] = [
    equal === undefined ? undefined : { kind: 'oneOf', values: [equal] },
    oneOf && { kind: 'oneOf', values: oneOf },
    like === undefined ? undefined : { kind: 'like', pattern: like, ignoreCase: lettered ?? false },
    path?.under && { kind: 'path.under', folders: path.under, ignoreCase: path.ignoreCase },
    path?.name && { kind: 'path.name', patterns: path.name, ignoreCase: path.ignoreCase },
    path?.part && { kind: 'path.part', names: path.part, ignoreCase: path.ignoreCase },
    url?.scheme && { kind: 'url.scheme', schemes: url.scheme },
    url?.host && { kind: 'url.host', patterns: url.host },
    url?.port && { kind: 'url.port', ports: url.port },
    url?.path && { kind: 'url.under', paths: url.path.under, ignoreCase: url.path.ignoreCase },
    over === undefined ? undefined : { kind: 'over', bound: over },
    under === undefined ? undefined : { kind: 'under', bound: under },
    present === undefined ? undefined : { kind: 'present', is: present },
    not && { kind: 'not', of: not },
    anyOf && { kind: 'anyOf', of: anyOf },
  ];
  return conditions.filter((one) => one !== undefined);
}

const condition: z.ZodType<readonly Condition[]> = z
  .union(
    [
      scalar.transform((equal) => ({ equal })),
      z
        .array(scalar)
        .min(1)
        .transform((oneOf) => ({ oneOf })),
      testSettings,
    ],
    {
      error:
        'expected a value, a list of values, or an object with like, path, url, over, under, present, not or anyOf',
    },
  )
  .transform((given): readonly Condition[] => conditionsOf(given as Tests));

/** Conditions on arguments by name, as an author writes them. */
export const argumentConditions = z
  .record(z.string().regex(/^[^.]+(\.[^.]+)*$/, 'use the names of members, with a dot between them'), condition)
  .transform((all): readonly ArgumentConditions[] =>
    Object.entries(all).map(([path, conditions]) => ({ path: path.split('.'), conditions })),
  )
  .describe(
    'Conditions on arguments, by name: a value, a list of values, or `{ path: … }`, `{ url: … }`, `{ like: … }`, `{ over: … }`, ' +
      '`{ under: … }`, `{ present: … }`, `{ not: … }`, `{ anyOf: … }`. `target.path` is the member `path` of the argument `target`. If an argument is missing, has ' +
      'another type, or could be read in different ways, `allow` does not match, and `approve` and `deny` match.',
  );
