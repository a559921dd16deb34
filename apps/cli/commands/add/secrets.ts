import { isObject, ownProperty } from '../../../../workflows/domain/canonical-json.ts';

/** A server as the configuration has it. */
export type ServerEntry = Readonly<Record<string, unknown>>;

/** A reference to a variable, with the default that it has if the variable is not set. */
const REFERENCE = /\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;
/** The value of a whole text in Gemini CLI and shells. */
const BARE_REFERENCE = /^\$([A-Za-z_][A-Za-z0-9_]*)$/;
/** What joins references, and the scheme of a header. */
const JOINT = /^(?:[\s:/@,;.=&?|_-]*|(?:Bearer|Basic|Token) +)$/i;

/** Names of headers whose values are no secrets. All other headers may carry one. */
const PLAIN_HEADERS = new Set(['accept', 'accept-language', 'content-type', 'user-agent', 'mcp-protocol-version']);
const SECRET_NAME = /token|key|secret|pass|pwd|auth|credential|cookie|session|signature|dsn|pat$|^pat|api/i;
/** Values that cannot be secrets: words, numbers, versions, paths, and addresses without user and query. */
const PLAIN_VALUE =
  /^([A-Za-z][a-z]{0,15}|\d{1,9}(\.\d+)*|[.~]?\.?\/[^\s]*|[A-Za-z]:[\\/][^\s]*|[a-z]+:\/\/[^\s@?#]+)?$/;
/** Variables whose values are no secrets, unless they look like one. */
const PLAIN_NAME =
  /(^|_)(host|hostname|port|region|zone|level|mode|env|environment|debug|lang|locale|tz|timeout|path|dir|folder|project|model)$/i;
/** A host with a port, as in `sentry.example.com:443`. */
const HOST = /^(?:[a-z0-9-]{1,63}\.)+[a-z]{2,24}(?::\d{1,5})?$|^localhost(?::\d{1,5})?$/i;
/** Options of programs that take a secret as their value. */
const SECRET_OPTION = /^--?[\w-]*(token|key|secret|pass|pwd|auth|credential|cookie|pat)[\w-]*$/i;
/** Beginnings of secrets that well-known services issue, a header with a scheme, and long words with digits. */
const SECRET_SHAPE = [
  /\b(gh[a-z]_|github_pat_|glpat-|sk-|pk-|rk_|xox[a-z]-|ya29\.|AKIA|AIza|eyJ[\w-]+\.|npm_|hf_|dop_v1_|lin_api_|ntn_|secret_)[\w.-]{8,}/,
  /\b(bearer|basic|token)\s+\S{6,}/i,
  /(?<![\w/.@-])(?=[\w+=-]*\d)(?=[\w+=-]*[A-Za-z])[A-Za-z0-9_+=-]{24,}(?![\w/.@-])/,
  /^[a-z][a-z0-9+.-]*:\/\/[^/\s]*:[^/\s]*@/i,
];

/** The variables that are there already, and those that servers get. */
export interface KnownVariables {
  /** Variables of the environment, with their values. */
  readonly environment: Readonly<Record<string, string>>;
  /** Names that something else mentions. Their values are not known, unless the environment has them. */
  readonly mentioned: ReadonlySet<string>;
}

/** Variables that Countersign and Node.js read themselves. The secret of a server must not become their value. */
const OWN_VARIABLE =
  /^(COUNTERSIGN|NODE|TEMPORAL|OTEL|XDG|NPM)_|^(DATABASE_URL|HOME|LOGNAME|PATH|SHELL|TERM|TMPDIR|USER)$/;

/**
 * Replaces every value that may be a secret by references to variables. In doubt a value counts as a secret, because the configuration is
 * often committed and shared. A variable has one value: servers with different values get different variables.
 */
export class SecretVariables {
  /** Values by the names of variables. Never print them. */
  readonly values: Record<string, string> = Object.create(null) as Record<string, string>;
  readonly #known: KnownVariables;

  constructor(known: KnownVariables) {
    this.#known = known;
  }

  /** @param name of the server, from which names of variables are made */
  without(name: string, { env, headers, args, url, ...rest }: ServerEntry): ServerEntry {
    const label = variableName(name);
    const keep: Keep = (wanted, value) => this.#keep(label, wanted, value);
    const clean = (text: string, isPlain: IsPlain, wanted: string) =>
      this.#withoutLiterals(text, { isPlain, wanted, keep });
    return {
      ...rest,
      ...(args !== undefined && {
        args: argumentsOf(args, (text, isPlain) => clean(text, isPlain, `${label}_SECRET`)),
      }),
      ...(env !== undefined && {
        env: eachText(env, (key, value) => clean(value, (part) => isPlainValue(key, part), variableName(key))),
      }),
      ...(url !== undefined && {
        url: addressOf(url, (key, value, isPlain) => clean(value, isPlain, `${label}_${variableName(key)}`)),
      }),
      ...(headers !== undefined && {
        headers: eachText(headers, (key, value) =>
          headerOf(key, value, (text, isPlain) =>
            clean(
              text,
              isPlain,
              key.toLowerCase() === 'authorization' ? `${label}_TOKEN` : `${label}_${variableName(key)}`,
            ),
          ),
        ),
      }),
    };
  }

  /** A reference to a variable with this value. */
  #keep(label: string, wanted: string, value: string): string {
    const numbered = Array.from({ length: 999 }, (_, at) => `${label}_${wanted}_${at + 2}`);
    const free =
      [wanted, `${label}_${wanted}`, ...numbered].find((one) => this.#isFree(one, value)) ?? `${label}_${wanted}_1000`;
    if (ownProperty(this.#known.environment, free) !== value) this.values[free] = value;
    return `\${${free}}`;
  }

  #isFree(name: string, value: string): boolean {
    const known = this.values[name] ?? ownProperty(this.#known.environment, name);
    if (known !== undefined) return known === value;
    return !this.#known.mentioned.has(name) && !OWN_VARIABLE.test(name);
  }

  /**
   * Keeps references. The texts between them, and their defaults, stay only if they are plain: `Bearer ${TOKEN:-abc}` has a secret.
   */
  #withoutLiterals(text: string, { isPlain, wanted, keep }: Cleaning): string {
    const parts: string[] = [];
    const literal = (part: string) => {
      const isWhole = part === text;
      if (part !== '') parts.push(isPlain(part) || (!isWhole && JOINT.test(part)) ? part : keep(wanted, part));
    };
    let end = 0;
    for (const { 0: reference, 1: name = '', 2: fallback, index } of text.matchAll(REFERENCE)) {
      literal(text.slice(end, index));
      end = index + reference.length;
      const isKept = fallback === undefined || fallback === '' || (!SECRET_NAME.test(name) && isPlain(fallback));
      const isSet = ownProperty(this.#known.environment, name) !== undefined;
      parts.push(isKept ? reference : isSet ? `\${${name}}` : keep(name, fallback));
    }
    literal(text.slice(end));
    return parts.join('');
  }
}

type IsPlain = (text: string) => boolean;

interface Cleaning {
  readonly isPlain: IsPlain;
  /** The name that a new variable gets, if it is free. */
  readonly wanted: string;
  readonly keep: Keep;
}

/** A name that a variable can have, made from any other name. */
export const variableName = (key: string): string =>
  key
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, '_')
    .replace(/^(?=\d)/, '_');

function isPlainValue(name: string, value: string): boolean {
  if (SECRET_NAME.test(name)) return false;
  if (PLAIN_VALUE.test(value) || HOST.test(value)) return true;
  return PLAIN_NAME.test(name) && !looksSecret(value) && /^[\w.:/-]{1,64}$/.test(value);
}

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
/** Replaces what is not plain in a text. */
type Clean = (text: string, isPlain: IsPlain) => string;

const never = () => false;

/** A scheme stays in the file, so that the variable has the same value as in other programs. */
function headerOf(key: string, value: string, clean: Clean): string {
  if (PLAIN_HEADERS.has(key.toLowerCase())) return value;
  const [, scheme = '', secret = value] = /^((?:Bearer|Basic|Token) +)(\S+)$/i.exec(value) ?? [];
  return `${scheme}${clean(secret, never)}`;
}

function argumentsOf(args: unknown, clean: Clean): unknown {
  if (!Array.isArray(args)) return args;
  const isPlain: IsPlain = (text) => !looksSecret(text);
  return args.map((one: unknown, index) => {
    if (typeof one !== 'string') return one;
    const own = ownReferences(one);
    const before: unknown = args[index - 1];
    const isValue = typeof before === 'string' && SECRET_OPTION.test(before) && !own.startsWith('-');
    if (isValue) return clean(own, never);
    const [, option = '', value = ''] = /^(--?[\w-]+=)(.+)$/s.exec(own) ?? [];
    if (option !== '') return `${option}${clean(value, SECRET_OPTION.test(option.slice(0, -1)) ? never : isPlain)}`;
    const [, headerName = '', header = ''] = /^([A-Za-z][\w-]*: ?)(?!\/\/)(.+)$/s.exec(own) ?? [];
    if (headerName !== '' && looksSecret(own)) return `${headerName}${clean(header, never)}`;
    return clean(own, isPlain);
  });
}

const looksSecret = (text: string): boolean => SECRET_SHAPE.some((shape) => shape.test(text));

type CleanPart = (key: string, value: string, isPlain: IsPlain) => string;

/** Keys of services often stand in the query of an address, and sometimes in its path or before its host. */
function addressOf(url: unknown, clean: CleanPart): unknown {
  if (typeof url !== 'string') return url;
  const own = ownReferences(url);
  const withQuery = own.replaceAll(
    /([?&]([^=&#]+)=)((?:\$\{[^}]*\}|[^&#])+)/g,
    (_, start: string, key: string, value: string) => `${start}${clean(key, value, (part) => isPlainValue(key, part))}`,
  );
  return withQuery
    .replace(/(?<=:\/\/)(?:\$\{[^}]*\}|[^/@\s])+(?=@)/, (user) => clean('USER', user, never))
    .replaceAll(/(?<=[^:/]\/)[^/?#${}]+/g, (part) => clean('PATH', part, (one) => !looksSecret(one)));
}
