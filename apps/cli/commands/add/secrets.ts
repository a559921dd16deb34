import { isObject } from '../../../../workflows/domain/canonical-json.ts';

/** A server as the configuration has it. */
export type ServerEntry = Readonly<Record<string, unknown>>;

/** A server whose secrets are references, and the variables that the references need. */
export interface WithoutSecrets {
  readonly server: ServerEntry;
  /** Values by the names of variables. Never print them. */
  readonly variables: Readonly<Record<string, string>>;
}

/** A text with a reference to a variable, which is no secret itself. */
const REFERENCE = /\$\{(?:env:)?[A-Za-z_][A-Za-z0-9_]*(?::-[^}]*)?\}/;
/** The value of a whole text in Gemini CLI and shells. */
const BARE_REFERENCE = /^\$([A-Za-z_][A-Za-z0-9_]*)$/;

/** Names of headers whose values are no secrets. All other headers may carry one. */
const PLAIN_HEADERS = new Set(['accept', 'accept-language', 'content-type', 'user-agent', 'mcp-protocol-version']);
const SECRET_NAME = /token|key|secret|pass|pwd|auth|credential|cookie|session|signature|dsn|pat$|^pat|api/i;
/** Values that cannot be secrets: words, numbers, versions, paths, and addresses without user and query. */
const PLAIN_VALUE =
  /^([A-Za-z][a-z]{0,15}|\d{1,9}(\.\d+)*|[.~]?\.?\/[^\s]*|[A-Za-z]:[\\/][^\s]*|[a-z]+:\/\/[^\s@?#]+)?$/;
/** Options of programs that take a secret as their value. */
const SECRET_OPTION = /^--?[\w-]*(token|key|secret|pass|pwd|auth|credential|cookie|pat)[\w-]*$/i;
/** Beginnings of secrets that well-known services issue, a header with a scheme, and long words with digits. */
const SECRET_SHAPE = [
  /\b(gh[a-z]_|github_pat_|glpat-|sk-|pk-|rk_|xox[a-z]-|ya29\.|AKIA|AIza|eyJ[\w-]+\.|npm_|hf_|dop_v1_|lin_api_|ntn_|secret_)[\w.-]{8,}/,
  /\b(bearer|basic|token)\s+\S{6,}/i,
  /(?<![\w/.@-])(?=[\w+=-]*\d)(?=[\w+=-]*[A-Za-z])[A-Za-z0-9_+=-]{24,}(?![\w/.@-])/,
  /^[a-z][a-z0-9+.-]*:\/\/[^/\s]*:[^/\s]*@/i,
];

/**
 * Replaces every value that may be a secret by a reference to a variable. In doubt a value counts as a secret, because the configuration
 * is often committed and shared.
 * @param name of the server, from which names of variables are made
 */
export function withoutSecrets(name: string, server: ServerEntry): WithoutSecrets {
  const variables: Record<string, string> = {};
  const label = variableName(name);
  const keep = (wanted: string, value: string): string => {
    const names = [
      wanted,
      `${label}_${wanted}`,
      ...Array.from({ length: 99 }, (_, at) => `${label}_${wanted}_${at + 2}`),
    ];
    const free = names.find((one) => variables[one] === undefined || variables[one] === value) ?? wanted;
    variables[free] = value;
    return `\${${free}}`;
  };
  const { env, headers, args, url, ...rest } = server;
  return {
    server: {
      ...rest,
      ...(args !== undefined && { args: argumentsOf(args, (value) => keep(`${label}_SECRET`, value)) }),
      ...(env !== undefined && {
        env: eachText(env, (key, value) => (isPlain(key, value) ? value : keep(variableName(key), value))),
      }),
      ...(url !== undefined && { url: addressOf(url, (key, value) => keep(`${label}_${variableName(key)}`, value)) }),
      ...(headers !== undefined && {
        headers: eachText(headers, (key, value) => headerOf({ key, value, label }, keep)),
      }),
    },
    variables,
  };
}

/** A name that a variable can have, made from any other name. */
export const variableName = (key: string): string =>
  key
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, '_')
    .replace(/^(?=\d)/, '_');

const isPlain = (name: string, value: string): boolean =>
  REFERENCE.test(value) || (!SECRET_NAME.test(name) && PLAIN_VALUE.test(value));

/** Applies `change` to each member that is a text. A value that only names a variable, as in shells, becomes our reference. */
function eachText(members: unknown, change: (key: string, value: string) => string): unknown {
  if (!isObject(members)) return members;
  const entries = Object.entries(members).map(([key, value]) => {
    if (typeof value !== 'string') return [key, value];
    const own = ownReferences(value);
    return [key, value === '' ? value : change(key, own)];
  });
  return Object.fromEntries(entries) as unknown;
}

const ownReferences = (value: string): string => value.replace(BARE_REFERENCE, (_, name: string) => `\${${name}}`);

type Keep = (wanted: string, value: string) => string;

/** A scheme stays in the file, so that the variable has the same value as in other programs. */
function headerOf({ key, value, label }: { key: string; value: string; label: string }, keep: Keep): string {
  if (PLAIN_HEADERS.has(key.toLowerCase()) || REFERENCE.test(value)) return value;
  const isAuthorization = key.toLowerCase() === 'authorization';
  const [, scheme = '', secret = value] = /^(Bearer|Basic|Token) +(\S+)$/i.exec(value) ?? [];
  const reference = keep(isAuthorization ? `${label}_TOKEN` : `${label}_${variableName(key)}`, secret);
  return scheme === '' ? reference : `${scheme} ${reference}`;
}

function argumentsOf(args: unknown, keep: (value: string) => string): unknown {
  if (!Array.isArray(args)) return args;
  return args.map((one: unknown, index) => {
    if (typeof one !== 'string') return one;
    const own = ownReferences(one);
    if (REFERENCE.test(own)) return own;
    const before: unknown = args[index - 1];
    const isValue = typeof before === 'string' && SECRET_OPTION.test(before) && !own.startsWith('-');
    if (isValue) return keep(own);
    const [, option = '', value = ''] = /^(--?[\w-]+=)(.+)$/s.exec(own) ?? [];
    if (option !== '' && (SECRET_OPTION.test(option.slice(0, -1)) || looksSecret(value)))
      return `${option}${keep(value)}`;
    const [, headerName = '', header = ''] = /^([A-Za-z][\w-]*: ?)(?!\/\/)(.+)$/s.exec(own) ?? [];
    if (headerName !== '' && looksSecret(own)) return `${headerName}${keep(header)}`;
    return looksSecret(own) ? keep(own) : own;
  });
}

const looksSecret = (text: string): boolean => SECRET_SHAPE.some((shape) => shape.test(text));

/** Keys of services often stand in the query of an address, and sometimes in its path or before its host. */
function addressOf(url: unknown, keep: (key: string, value: string) => string): unknown {
  if (typeof url !== 'string') return url;
  const own = ownReferences(url);
  const withQuery = own.replaceAll(/([?&]([^=&#]+)=)([^&#]+)/g, (all, start: string, key: string, value: string) =>
    isPlain(key, value) ? all : `${start}${keep(key, value)}`,
  );
  return withQuery
    .replace(/(?<=:\/\/)[^/@\s]+(?=@)/, (user) => (REFERENCE.test(user) ? user : keep('USER', user)))
    .replaceAll(/(?<=[^:/]\/)[^/?#${}]+/g, (part) => (looksSecret(part) ? keep('PATH', part) : part));
}
