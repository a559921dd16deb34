import * as z from 'zod';
import type { Action, Resource, Subject } from '../../../workflows/domain/authzen/evaluation.ts';
import { canonicalJson } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { shownText } from '../../../workflows/domain/submission-input/form-field.ts';
import { formatPath, problemsOf } from '../../shared/config/problems.ts';
import type { Directory } from '../../shared/directory/directory.ts';
import { matches } from '../access-requests/clients.ts';

const MAX_SHOWN = 200;
const MAX_DESCRIPTION = 500;

/** A text that a form shows as it is written: nothing hidden in it, and no address. */
const shown = z
  .string()
  .min(1)
  .refine(
    (text) => shownText(text, MAX_SHOWN) === text,
    `at most ${MAX_SHOWN} characters on one line, without hidden characters and addresses`,
  );
const patterns = z.array(z.string().min(1)).optional();

const item = z.strictObject({
  value: shown,
  label: shown,
  description: z.string().max(MAX_DESCRIPTION).optional(),
  risk_level: z.string().min(1).max(100).optional(),
  owner: z.string().min(1).max(MAX_SHOWN).optional(),
  /** `false` takes it out of use: nobody sees it, and nobody can ask for it. */
  requestable: z.boolean().default(true),
  /** It exists only where every one of these parameters has this value. */
  scope: z.record(z.string().min(1), z.string().min(1)).default({}),
  /** For whom and for what it can be seen, by ids, or their beginnings and then `*`. What is not named is not restricted. */
  visible: z
    .strictObject({
      subjects: patterns,
      groups: z.array(z.string().min(1)).optional(),
      resources: patterns,
      actions: patterns,
    })
    .prefault({}),
});

/** One thing that can be chosen. @see ARAP, Catalog Response */
export type CatalogItem = z.infer<typeof item>;

/** The question that was denied: for it, items are visible or not. */
export interface DeniedQuestion {
  readonly subject: Subject;
  readonly action: Action;
  readonly resource: Resource;
}

/** Where something is looked for in a catalog. */
export interface Look {
  readonly asked: DeniedQuestion;
  /** Value of a scope parameter; undefined while it has none. */
  readonly scope: (parameter: string) => string | undefined;
}

/** Reads a catalog file. Throws `ERR_CONFIG_INVALID`, with everything that is wrong with it. */
export function readItems(text: string, file: string): readonly CatalogItem[] {
  const items = z.array(item).safeParse(parse(text, file));
  if (!items.success) {
    const lines = problemsOf(items.error).map(({ path, message }) => `${file}: ${formatPath(path)}: ${message}`);
    throw invalid(lines.slice(0, 10).join('\n'));
  }
  const known = new Set<string>();
  for (const { value, scope } of items.data) {
    const key = canonicalJson([value, scope]);
    if (known.has(key)) throw invalid(`${file}: ${JSON.stringify(value)} is there twice for one scope; remove one`);
    known.add(key);
  }
  return items.data.sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1));
}

function parse(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw invalid(`${file}: it is no JSON`, cause);
  }
}

const invalid = (message: string, cause?: unknown) => new CountersignError('ERR_CONFIG_INVALID', message, { cause });

/** Where an item stands in the order of its catalog, whatever comes and goes around it. */
export const placeOf = ({ label, value }: CatalogItem): string => `${label}\u0000${value}`;

/**
 * What can be asked for there, by value: the only rule of visibility. What an item names has to hold, and what is not known does not.
 * @see ARAP, ARS Rules (ARAP-CAT-08, ARAP-CAT-09)
 */
export function visibleItems(
  items: readonly CatalogItem[],
  look: Look,
  directory: Directory,
): Map<string, CatalogItem> {
  const found = new Map<string, CatalogItem>();
  for (const one of items) {
    if (!found.has(one.value) && isVisible(one, look, directory)) found.set(one.value, one);
  }
  return found;
}

function isVisible({ requestable, scope, visible }: CatalogItem, look: Look, directory: Directory): boolean {
  const { subject, action, resource } = look.asked;
  return (
    requestable &&
    Object.entries(scope).every(([parameter, value]) => look.scope(parameter) === value) &&
    matches(visible.resources, resource.id) &&
    matches(visible.actions, action.name) &&
    isForSubject(visible, subject.id, directory)
  );
}

function isForSubject({ subjects, groups }: CatalogItem['visible'], subject: string, directory: Directory): boolean {
  if (subjects === undefined && groups === undefined) return true;
  if (subjects !== undefined && matches(subjects, subject)) return true;
  const person = directory.find(subject);
  return person?.isActive === true && (groups ?? []).some((one) => person.groups.has(one));
}
